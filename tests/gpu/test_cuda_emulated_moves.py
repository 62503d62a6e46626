"""The kernels that gather batches, cast many arrays and bring a graph its arguments, compiled for the host and run there."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest

from cuda_on_host import kernels, needs_compiler

pytestmark = needs_compiler
TYPES = {"float": np.float32, "double": np.float64, "bf16_t": ml_dtypes.bfloat16}


def test_places_come_batch_by_batch(tmp_path):
    run = kernels(tmp_path, "rows", ["next_places"], UNIT="u8")
    order, at, n = np.random.default_rng(0).permutation(300), np.zeros((), np.int64), 75
    for batch in range(4):
        out = np.empty(n, np.int64)
        run("next_places", (1,), 64, order, at, out, n)
        np.testing.assert_array_equal(out, order[batch * n : (batch + 1) * n])
        assert at == batch + 1


@pytest.mark.parametrize(("unit", "size"), [("u8", 1), ("u16", 2), ("bytes_8", 8), ("bytes_16", 16)])
def test_rows_are_taken(unit, size, tmp_path):
    table = np.random.default_rng(1).integers(0, 256, (11, 3 * size), np.uint8)
    where = np.array([3, 0, 10, -1, 3, -11])
    out = np.empty((len(where), 3 * size), np.uint8)
    run = kernels(tmp_path, "rows", ["take_rows"], UNIT=unit)
    run("take_rows", (2,), 256, table, where, out, len(where) * 3, 3, len(table))
    np.testing.assert_array_equal(out, table[where])


@pytest.mark.parametrize(("source", "to"), [("float", "bf16_t"), ("bf16_t", "float"), ("double", "float")])
def test_every_number_arrives_once(source, to, tmp_path):
    run = kernels(tmp_path, "casts", ["casts"], NT=to, NA="float", SRC=source, MAXT=16)
    sizes = [1, 3, 4, 1000, 2053, 7]
    given = [np.random.default_rng(n).standard_normal(n + 1).astype(TYPES[source]) for n in sizes]
    given = [a[1:] if i % 2 else a[:-1] for i, a in enumerate(given)]  # some not aligned
    outs = [np.full(n, np.nan, TYPES[to]) for n in sizes]
    group = (ctypes.c_longlong * 48)()
    for k, (a, b) in enumerate(zip(given, outs)):
        group[k], group[16 + k], group[32 + k] = a.ctypes.data, b.ctypes.data, a.size
    run("casts", (2, len(sizes)), 256, group)
    for a, b in zip(given, outs):
        np.testing.assert_array_equal(b.astype(np.float64), a.astype(TYPES[to]).astype(np.float64))


def test_every_byte_arrives_and_no_other_changes(tmp_path):
    run = kernels(tmp_path, "copies", ["copy_four"])
    rng = np.random.default_rng(0)
    for sizes in ([1, 16, 5000, 33], [4096, 0, 7, 64]):
        for shift, other in ((0, 0), (4, 0), (1, 1), (0, 3)):
            given = [rng.integers(0, 256, n + 32, np.uint8) for n in sizes]
            outs = [np.zeros(n + 32, np.uint8) for n in sizes]
            ends = [a[shift:] for a in given], [a[other:] for a in outs]
            run("copy_four", (3, 4), 256, *ends[0], *ends[1], *sizes)
            for n, a, b in zip(sizes, given, outs):
                np.testing.assert_array_equal(b[other : other + n], a[shift : shift + n])
                assert not b[:other].any() and not b[other + n :].any()
