"""Sort, topk and kthvalue on the emulated GPU, beside NumPy.

All dtypes, NaN, equal elements, any dim, rows of one block and of several.
"""

from __future__ import annotations

from typing import Any

import emulated_capture
import ml_dtypes
import numpy as np

import rushlight as rl
from rushlight.runtime.cuda.bodies import sorting
from rushlight.runtime.devices import overrides
from rushlight.runtime.door import KERNELS

random = np.random.default_rng(0)
SHAPES = (((7,), 0), ((1, 1), 1), ((5, 4), 1), ((3, 7, 5), 1), ((2, 300), 1), ((70, 3), 0),
          ((20, 9), 1), ((0, 4), 1), ((3, 32), 1))  # fmt: skip
KINDS = (np.float32, np.float64, np.int64, np.int16, np.uint8, np.bool_, np.float16,
         ml_dtypes.bfloat16)  # fmt: skip


def on_gpu(a: np.ndarray) -> Any:
    return rl.tensor(a).to("cuda")._a


def on_host(a: Any) -> np.ndarray:
    return emulated_capture.on_host(a).copy()  # while `a` is alive


def numbers(shape: tuple, kind: Any) -> np.ndarray:
    """With equal ones, and infinities, zeros of both signs and NaN where there are any."""
    x = random.integers(-9, 9, shape).astype(np.float32)
    if np.dtype(kind).kind in "fV" and x.size > 3:
        flat = x.reshape(-1)
        at = random.permutation(flat.size)
        for value, place in zip((np.nan, -np.inf, np.inf, -0.0, 0.0, -np.nan), at):
            flat[place] = value
    return (np.abs(x) if np.dtype(kind).kind == "u" else x).astype(kind)


def same(there: tuple, here: tuple, places: bool = True) -> None:
    for a, b in list(zip(there, here))[: 2 if places else 1]:
        assert a.dtype == b.dtype and a.shape == b.shape
        a, b = on_host(a), b
        if b.dtype.kind == "V":
            a, b = a.astype(np.float32), b.astype(np.float32)
        np.testing.assert_array_equal(a, b)


def sorts(x: np.ndarray, dim: int) -> None:
    array, n = on_gpu(x), x.shape[dim]
    for descending in (False, True):
        how = {"dim": dim, "descending": descending}
        same(overrides("cuda")["sort"](array, **how), KERNELS["sort"].generic(np, x, **how))
        for k in sorted({0, 1, min(n, 2), n // 2, n}):
            how = {"k": k, "dim": dim, "largest": descending}
            same(overrides("cuda")["topk"](array, **how), sorted_first(x, **how))
    for k in sorted({1, n // 2, n} - {0}) if x.size else ():
        how = {"k": k, "dim": dim, "keepdim": True}
        there = overrides("cuda")["kthvalue"](array, **how)
        same(there, KERNELS["kthvalue"].generic(np, x, **how), places=False)
        np.testing.assert_array_equal(
            as_float(np.take_along_axis(x, on_host(there[1]), dim)), as_float(on_host(there[0]))
        )


def as_float(a: np.ndarray) -> np.ndarray:
    return a.astype(np.float32) if a.dtype.kind == "V" else a


def sorted_first(x: np.ndarray, *, k: int, dim: int, largest: bool) -> tuple:
    values, places = KERNELS["sort"].generic(np, x, dim=dim, descending=largest)
    cut = (slice(None),) * dim + (slice(0, k),)
    return values[cut], places[cut]


def longer_rows() -> None:
    """Rows beyond what a block holds: by chunks of which few are kept, and by digits in tiles of 512 elements."""
    sizes = sorting._HELD, sorting._STAGED, sorting._TILE
    sorting._HELD, sorting._STAGED, sorting._TILE = 512, 4096, 256  # 64 items, or 32
    for kind in KINDS:
        shapes = (((2, 200), 1), ((1, 1030), 1), ((2, 512, 2), 1), ((511,), 0), ((513,), 0))
        for shape, dim in shapes if kind in (np.float32, np.int64) else shapes[1:2]:
            sorts(numbers(shape, kind), dim)
    wide = random.integers(-(2**62), 2**62, 700)
    sorts(wide, 0)
    sorts(wide.view(np.float64), 0)
    sorts(wide[:520].astype(np.int32), 0)
    sorts(np.full(1025, 3, np.int64), 0)  # no digit differs
    sorts(np.where(np.arange(1025) % 7, 5, 3 << 40), 0)  # one in the middle does
    sorting._HELD, sorting._STAGED, sorting._TILE = sizes


def other_layouts() -> None:
    x = numbers((6, 8), np.float32)
    array = on_gpu(x)
    same(
        overrides("cuda")["topk"](array.T, k=3, dim=0, largest=True),
        sorted_first(x.T, k=3, dim=0, largest=True),
    )
    same(
        overrides("cuda")["sort"](array[:, 1::2], dim=1, descending=False),
        KERNELS["sort"].generic(np, x[:, 1::2], dim=1, descending=False),
    )


def places_in_rows() -> None:
    """searchsorted: in rows of their own, in one row for all, NaN among the values."""
    for kind, narrow in ((np.float32, False), (np.int64, True)):
        for shape, count in (((3, 9), (3, 7)), ((9,), (2, 5)), ((0,), (4,))):
            sequence = np.sort((random.standard_normal(shape) * 4).astype(kind), -1)
            values = (random.standard_normal(count) * 5).astype(kind)
            values.reshape(-1)[0] = sequence.reshape(-1)[0] if sequence.size else 0
            if kind is np.float32:
                values.reshape(-1)[-1] = np.nan
            for right in (False, True):
                how = {"right": right, "narrow": narrow}
                want = KERNELS["searchsorted"].generic(np, sequence, values, **how)
                arrays = [on_gpu(a) for a in (sequence, values)]
                found = overrides("cuda")["searchsorted"](*arrays, **how)
                assert found.dtype == want.dtype
                np.testing.assert_array_equal(on_host(found), want)


for kind in KINDS:
    for shape, dim in SHAPES if kind is np.float32 else SHAPES[:4]:
        sorts(numbers(shape, kind), dim)
longer_rows()
other_layouts()
places_in_rows()
print("equal")
