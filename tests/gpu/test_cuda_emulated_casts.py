"""The kernel of many casts, compiled for the host and run there."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest

from cuda_on_host import KERNELS as FOLDER
from cuda_on_host import compiled, needs_compiler

pytestmark = needs_compiler

ENTRY = """extern "C" void run(unsigned x, unsigned y, void** from, void** to, i64* sizes) {
    Group g;
    for (unsigned k = 0; k < y; k++) g.from[k] = (SRC*)from[k], g.to[k] = (T*)to[k], g.size[k] = sizes[k];
    launch({x, y, 1}, 256, [=] { casts(g); });
}"""
TYPES = {"float": np.float32, "double": np.float64, "bf16_t": ml_dtypes.bfloat16}


@pytest.mark.parametrize(
    ("source", "to"), [("float", "bf16_t"), ("bf16_t", "float"), ("double", "float")]
)
def test_every_number_arrives_once(source, to, tmp_path):
    macros = {"NT": to, "NA": "float", "SRC": source, "MAXT": 16}
    lines = [f"#define {k} {v}" for k, v in macros.items()]
    lines += [(FOLDER / "common.cu").read_text(), (FOLDER / "casts.cu").read_text(), ENTRY]
    library = compiled(tmp_path, "casts", "\n".join(lines))
    rng = np.random.default_rng(0)
    sizes = [1, 3, 4, 1000, 2053, 7]
    given = [rng.standard_normal(n + 1).astype(TYPES[source]) for n in sizes]
    given = [a[1:] if i % 2 else a[:-1] for i, a in enumerate(given)]  # some not aligned
    outs = [np.full(n, np.nan, TYPES[to]) for n in sizes]
    address = ctypes.c_void_p * len(sizes)
    library.run(
        2, len(sizes), address(*[a.ctypes.data for a in given]),
        address(*[a.ctypes.data for a in outs]), (ctypes.c_longlong * len(sizes))(*sizes),
    )  # fmt: skip
    for a, b in zip(given, outs):
        np.testing.assert_array_equal(b.astype(np.float64), a.astype(TYPES[to]).astype(np.float64))
