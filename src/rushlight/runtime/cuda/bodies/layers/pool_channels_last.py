"""Pooling of arrays whose channels lie innermost: results stay in that order, as PyTorch's do."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .....base.arrays import DeviceArray
from ...code.launch import Result, empty
from ...code.sources import blocks_for, load
from ..fills import copy_to


def lies_last(a: DeviceArray) -> bool:
    """Whether channels lie innermost, in memory without gaps."""
    if a._c_contiguous or a.ndim < 4:
        return False
    return bool(a.transpose((0, *range(2, a.ndim), 1))._c_contiguous)


def strides(shape: tuple, itemsize: int) -> tuple[int, ...]:
    """Those of a dense array with its channels innermost."""
    steps, step = [itemsize], itemsize * shape[1]
    inner: list[int] = []
    for n in reversed(shape[2:]):
        inner.append(step)
        step *= n
    return (step, *steps, *reversed(inner))


def result(at: int, shape: tuple, dtype: np.typing.DTypeLike) -> Result:
    """A result whose channels lie innermost."""
    return Result(at, shape, dtype, strides(shape, np.dtype(dtype).itemsize))


def as_last(a: DeviceArray) -> Any:
    """`a` with its channels innermost, copied where they are not."""
    if lies_last(a):
        return a
    out = empty(a.shape, a.dtype, strides(a.shape, a.itemsize))
    copy_to(out, a)
    return out


def prepared(name: str, x: DeviceArray, results: tuple, count: int, numbers: tuple) -> Any:
    """The launch over `count` numbers, several of which a thread takes at a time."""
    widest = 1 if x.data.ptr & 15 else 16 // x.itemsize
    width = next(v for v in (widest, 4, 2, 1) if v <= widest and x.shape[1] % v == 0)
    launch = load("pool_last.cu", name, x.dtype.char, VW=width)
    return launch.prepared(
        blocks_for(count // width), 256, results, count // width, x.shape[1], *numbers
    )


def max_pool(x: DeviceArray, shape: tuple, window: tuple) -> Any:
    """Maxima and their places, for windows described by `window` with results of a shape."""
    results = (result(1, shape, x.dtype), result(2, shape, np.int64))
    return prepared("max_pool_last", x, results, prod(shape), window)
