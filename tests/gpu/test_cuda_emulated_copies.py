"""The kernels that bring a graph its arguments, compiled for the host and run there."""

from __future__ import annotations

import ctypes

import numpy as np

from cuda_on_host import KERNELS as FOLDER
from cuda_on_host import compiled, needs_compiler

pytestmark = needs_compiler

ENTRY = """
extern "C" void four(unsigned blocks, unsigned count, u8** from, u8** to, i64* n) {
    launch({blocks, count, 1}, 256, [=] {
        copy_four(from[0], from[1], from[2], from[3], to[0], to[1], to[2], to[3], n[0], n[1], n[2], n[3]);
    });
}"""


def test_every_byte_arrives_and_no_other_changes(tmp_path):
    lines = [(FOLDER / "common.cu").read_text(), (FOLDER / "copies.cu").read_text(), ENTRY]
    library = compiled(tmp_path, "copies", "\n".join(lines))
    rng = np.random.default_rng(0)
    for sizes in ([1, 16, 5000, 33], [4096, 0, 7, 64]):
        for shift, other in ((0, 0), (4, 0), (1, 1), (0, 3)):
            given = [rng.integers(0, 256, n + 32, np.uint8) for n in sizes]
            outs = [np.zeros(n + 32, np.uint8) for n in sizes]
            address = ctypes.c_void_p * 4
            library.four(
                3, 4, address(*[a.ctypes.data + shift for a in given]),
                address(*[a.ctypes.data + other for a in outs]), (ctypes.c_longlong * 4)(*sizes),
            )  # fmt: skip
            for n, a, b in zip(sizes, given, outs):
                np.testing.assert_array_equal(b[other : other + n], a[shift : shift + n])
                assert not b[:other].any() and not b[other + n :].any()
