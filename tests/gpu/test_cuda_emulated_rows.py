"""The kernels that gather batches, compiled for the host and run there."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from cuda_on_host import KERNELS as FOLDER
from cuda_on_host import compiled, needs_compiler

pytestmark = needs_compiler

ENTRY = """
extern "C" void places(unsigned threads, void* order, void* at, void* out, i64 n) {
    launch({1, 1, 1}, threads, [=] { next_places((i64*)order, (i64*)at, (i64*)out, n); });
}
extern "C" void take(unsigned blocks, void* a, void* where, void* out, i64 count, i64 width, i64 rows) {
    launch({blocks, 1, 1}, 256, [=] { take_rows((UNIT*)a, (i64*)where, (UNIT*)out, count, width, rows); });
}"""


def library(folder, unit):
    lines = [f"#define UNIT {unit}"]
    lines += [(FOLDER / "common.cu").read_text(), (FOLDER / "rows.cu").read_text(), ENTRY]
    return compiled(folder, "rows", "\n".join(lines))


def pointer(a):
    return ctypes.c_void_p(a.ctypes.data)


def test_places_come_batch_by_batch(tmp_path):
    lib = library(tmp_path, "u8")
    order, at, n = np.random.default_rng(0).permutation(300), np.zeros((), np.int64), 75
    for batch in range(4):
        out = np.empty(n, np.int64)
        lib.places(64, pointer(order), pointer(at), pointer(out), ctypes.c_longlong(n))
        np.testing.assert_array_equal(out, order[batch * n : (batch + 1) * n])
        assert at == batch + 1


@pytest.mark.parametrize(
    ("unit", "size"), [("u8", 1), ("u16", 2), ("bytes_8", 8), ("bytes_16", 16)]
)
def test_rows_are_taken(unit, size, tmp_path):
    lib = library(tmp_path, unit)
    table = np.random.default_rng(1).integers(0, 256, (11, 3 * size), np.uint8)
    where = np.array([3, 0, 10, -1, 3, -11])
    out = np.empty((len(where), 3 * size), np.uint8)
    numbers = [ctypes.c_longlong(v) for v in (len(where) * 3, 3, len(table))]
    lib.take(2, pointer(table), pointer(where), pointer(out), *numbers)
    np.testing.assert_array_equal(out, table[where])
