"""Gradients of slices, casts and rows side by side on the emulated GPU, beside NumPy."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from emulated_capture import copied, on_gpu

import rushlight as rl
from rushlight.runtime.cuda.bodies.fills import row_major
from rushlight.runtime.cuda.bodies.products import _side_by_side
from rushlight.runtime.devices import overrides
from rushlight.runtime.door import KERNELS, run

random = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return random.standard_normal(shape).astype(np.float32)


def unwindowed() -> None:
    whole = (None, None, None)
    for index, shape in (
        ((whole, (2, 5, 1)), (3, 7)), ((whole, (1, None, 2), 3), (2, 7, 5)), ((4,), (6, 3)),
        ((None, (0, 3, 1)), (3, 4)), (((2, 2, 1),), (4, 2)), ((), (3, 4)),
    ):  # fmt: skip
        part = np.zeros(shape)[(*[slice(*e) if isinstance(e, tuple) else e for e in index], ...)]
        g = floats(*part.shape)
        expected = run(KERNELS["unwindow"], np.ndarray, (g,), {"index": index, "shape": shape})
        there = overrides("cuda")["unwindow"](on_gpu(g), index=index, shape=shape)
        np.testing.assert_array_equal(copied(there), expected)


def side_by_side() -> None:
    x = floats(4, 5, 6, 8)
    there = on_gpu(x)
    for turn in ((0, 1, 2, 3), (1, 0, 2, 3), (2, 0, 1, 3), (0, 1, 3, 2)):
        for last in (1, 2):
            got = _side_by_side(there.transpose(turn), last)
            expected = x.transpose(turn)
            expected = expected.reshape(-1, *expected.shape[4 - last :])
            np.testing.assert_array_equal(copied(row_major(got)), expected)
    joined = _side_by_side(there[:, :, :, :4], 1)  # rows with gaps between them stay where they are
    assert joined.data.ptr == there.data.ptr and joined.strides == (32, 4)
    assert row_major(None) is None and row_major(there) is there


def embedded() -> None:
    g, index = floats(3, 7, 5), random.integers(0, 9, (7, 3))
    how = {"rows": 9, "padding_idx": 2, "scale_by_freq": False}
    g = np.ascontiguousarray(g.transpose(1, 0, 2))
    there = on_gpu(np.ascontiguousarray(g.transpose(1, 0, 2))).transpose(1, 0, 2)
    expected = run(KERNELS["embedding_grad"], np.ndarray, (g, index), how)
    found = overrides("cuda")["embedding_grad"](there, on_gpu(index), **how)
    np.testing.assert_allclose(copied(found), expected, rtol=1e-5, atol=1e-5)
    # rows of no place, of one, of more than a block puts in order; a width that no warp fills, one of two warps, packs
    module = import_module("rushlight.runtime.cuda.bodies.layers.embedding")
    few, module._OFTEN = module._LEAST, 0
    for rows, width, places in ((5, 3, 700), (300, 40, 650), (2, 33, 66_000)):
        index = random.integers(0, rows, places) ** 2 // rows
        g = floats(places, width)
        for by_count, least in ((False, few), (True, few), (False, 1 << 30), (True, 1 << 30)):
            module._LEAST = least  # whether small tables lie in shared memory
            how = {"rows": rows, "padding_idx": 1, "scale_by_freq": by_count}
            expected = run(KERNELS["embedding_grad"], np.ndarray, (g.astype(np.float64), index), how)
            found = overrides("cuda")["embedding_grad"](on_gpu(g), on_gpu(index), **how)
            np.testing.assert_allclose(copied(found), expected, rtol=1e-4, atol=1e-3)


def short_sums() -> None:
    """Many results of few terms each; from an odd address, too."""
    module = import_module("rushlight.runtime.cuda.bodies.reduce")
    module._MANY = 0
    for kind, dtype in (("sum", np.float32), ("max", np.int32)):
        for shape in ((8, 3, 12), (3, 1100), (1, 40), (6, 64)):
            x = (floats(*shape) * 9).astype(dtype)
            expected = x.sum(0) if kind == "sum" else x.max(0)
            for there in (on_gpu(x), on_gpu(np.concatenate([x.reshape(-1)[:1], x.reshape(-1)]))):
                there = there if there.ndim > 1 else there[1:].reshape(shape)
                found = module.reduce(kind, there, (0,), False)
                np.testing.assert_allclose(copied(found), expected, rtol=1e-5, atol=1e-5)


def cast() -> None:
    """The short way for contiguous memory, and what must leave it: other orders, odd addresses, nothing."""
    body = overrides("cuda")["cast"]
    x = floats(7, 12) * 9
    for kind in (np.float32, np.float64, np.int32, np.bool_):
        there = on_gpu(x.astype(kind))
        for to in (rl.float32, rl.float64, rl.int64):
            for a, b in (
                (there, x.astype(kind)), (there.T, x.astype(kind).T),
                (there.reshape(-1)[3:], x.astype(kind).reshape(-1)[3:]),
                (there[:0], x.astype(kind)[:0]),
            ):  # fmt: skip
                for _ in range(2):
                    got = body(a, to=to, source=None)
                    assert got.dtype == to.np and got.shape == b.shape
                    np.testing.assert_array_equal(copied(got), b.astype(to.np))


unwindowed()
cast()
side_by_side()
embedded()
short_sums()
print("equal")
