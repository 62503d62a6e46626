"""Masks and running sums on the emulated GPU, beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from emulated_capture import copied, on_gpu

from rushlight.runtime.cuda.bodies import scans, selection
from rushlight.runtime.devices import overrides

random = np.random.default_rng(0)
CUDA = overrides("cuda")
SHAPES: tuple = (((9, 128), 0, 1), ((7, 6), 0, 2), ((5,), 0, 1), ((3, 6, 8), 1, 1), ((2, 4, 3), 1, 2),
                 ((3, 700, 2), 0, 2), ((9000,), 0, 1), ((1, 6), 0, 1))  # fmt: skip


def numbers(shape: tuple, kind: Any) -> np.ndarray:
    return (random.standard_normal(shape) * 50).astype(kind)


def masked(shape: tuple, lead: int, dims: int, share: float) -> None:
    """Read, written with one value and with many, and differentiated."""
    mask = random.random(shape[lead : lead + dims]) < share
    at = (*(slice(None),) * lead, mask)
    slots = (0,) * lead + (1,)
    for kind in (np.float32, np.uint8):
        x = numbers(shape, kind)
        taken = CUDA["index"](on_gpu(x), on_gpu(mask), slots=slots)
        np.testing.assert_array_equal(copied(taken), x[at])
        turned = on_gpu(np.ascontiguousarray(x.T)).T
        np.testing.assert_array_equal(copied(CUDA["index"](turned, on_gpu(mask), slots=slots)), x[at])
        how = {"slots": slots, "accumulate": False}
        for value in (3, numbers((), kind), numbers(x[at].shape, kind)):
            expected = x.copy()
            expected[at] = value
            given = value if isinstance(value, int) else on_gpu(value)
            there = CUDA["index_put_into"](on_gpu(x), given, on_gpu(mask), **how)
            np.testing.assert_array_equal(copied(there), expected)
        g = numbers(x[at].shape, kind)
        expected = np.zeros(shape, kind)
        expected[at] = g
        there = CUDA["index_grad"](on_gpu(g), on_gpu(mask), slots=slots, shape=shape)
        np.testing.assert_array_equal(copied(there), expected)


def selected(shape: tuple, share: float) -> None:
    x, mask = numbers(shape, np.float32), random.random(shape) < share
    there = CUDA["masked_select"](on_gpu(x), on_gpu(mask))
    np.testing.assert_array_equal(copied(there), x[mask])
    back = CUDA["masked_select_grad"](there, on_gpu(mask))
    np.testing.assert_array_equal(copied(back), np.where(mask, x, 0))
    for found in (mask, np.where(mask, x, 0)):
        places = CUDA["nonzero"](on_gpu(found))
        np.testing.assert_array_equal(copied(places), np.stack(np.nonzero(found), 1))


def not_aligned() -> None:
    """A mask that begins in the middle of a word."""
    mask = random.random(5001) < 0.3
    there = on_gpu(mask)[1:]
    np.testing.assert_array_equal(copied(selection.places(there)), np.flatnonzero(mask[1:]))


def shared_memory() -> None:
    """What is read lies in the memory that is written."""
    x = np.arange(12.0, dtype=np.float32).reshape(6, 2)
    there = on_gpu(x)
    mask = on_gpu(np.array([True] * 5 + [False]))
    how = {"slots": (1,), "accumulate": False}
    CUDA["index_put_into"](there, there[1:], mask, **how)
    np.testing.assert_array_equal(copied(there), np.concatenate([x[1:], x[-1:]]))


def summed(shape: tuple, dim: int) -> None:
    for kind in (np.float32, np.uint8):
        x = numbers(shape, kind)
        wide = np.int64 if x.dtype.kind in "biu" else np.float64
        for reverse in (False, True):
            turned = np.flip(x, dim) if reverse else x
            for name, of in (("cumsum", np.cumsum), ("cumprod", np.cumprod)):
                turned = turned if name == "cumsum" else np.sign(turned.astype(wide)) + 1
                expected = of(turned, axis=dim, dtype=wide)
                expected = np.flip(expected, dim) if reverse else expected
                given = np.flip(turned, dim) if reverse else turned
                there = CUDA[name](on_gpu(given.astype(kind)), dim=dim, reverse=reverse)
                out = expected.astype(kind if wide is np.float64 else wide)
                assert there.dtype == out.dtype
                np.testing.assert_allclose(copied(there), out, rtol=1e-5, atol=1e-3)


for shape, lead, dims in SHAPES:
    for share in (0.0, 0.3):
        masked(shape, lead, dims, share)
        selected(shape, share)
not_aligned()
shared_memory()
for shape, dim in (((5, 7), 1), ((5, 7), 0), ((3, 1000), 1), ((30000,), 0), ((2, 9000), 1), ((2, 300, 2), 1)):
    summed(shape, dim)
assert scans._PER == 9
print("equal")
