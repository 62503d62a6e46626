"""Pooling of arrays whose channels lie innermost: results stay in that order, as PyTorch's do."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np
from cupy.cuda import runtime

from .....base.bounded import Bounded
from ...code.launch import Result
from ...code.sources import NUMBERS, blocks_for, computed, device, load
from ...memory.streams import current
from ..fills import copy_to
from ..pointwise import cast

if TYPE_CHECKING:
    from .....base.protocols import DeviceArray


def takes(x: DeviceArray) -> bool:
    """Whether these kernels are for x (N, C, ...)."""
    return x.dtype.char in NUMBERS and x.size > 0 and lies_last(x)


def lies_last(a: DeviceArray) -> bool:
    """Whether channels lie innermost, in memory without gaps."""
    if a._c_contiguous or a.ndim < 4:
        return False
    return bool(a.transpose((0, *range(2, a.ndim), 1))._c_contiguous)


def _strides(shape: tuple, itemsize: int) -> tuple[int, ...]:
    steps, step = [itemsize], itemsize * shape[1]
    inner: list[int] = []
    for n in reversed(shape[2:]):
        inner.append(step)
        step *= n
    return (step, *steps, *reversed(inner))


def _result(at: int, shape: tuple, dtype: np.typing.DTypeLike) -> Result:
    return Result(at, shape, dtype, _strides(shape, np.dtype(dtype).itemsize))


def _as_last(a: DeviceArray) -> Any:
    """`a` with its channels innermost, copied where they are not."""
    if takes(a):
        return a
    out = cupy.ndarray(a.shape, a.dtype, cupy.cuda.alloc(a.nbytes), _strides(a.shape, a.itemsize))
    copy_to(out, a)
    return out


def _width(x: DeviceArray) -> int:
    """Channels that a thread takes."""
    widest = 1 if x.data.ptr & 15 else 16 // x.itemsize
    return next(v for v in (widest, 4, 2, 1) if v <= widest and x.shape[1] % v == 0)


_calls: dict[tuple, Any] = Bounded(1024)


def _call(
    name: str, x: DeviceArray, results: tuple, count: int, window: tuple, *numbers: int
) -> Any:
    """The launch over `count` numbers, taken _width(x) at a time."""
    vw = _width(x)
    shapes = tuple([r.shape for r in results])
    key = (name, x.shape, x.dtype.char, vw, shapes, window, numbers, device())
    found = _calls.get(key)
    if found is None:
        launch = load("pool_last.cu", name, x.dtype.char, VW=vw)
        threads = count // vw
        found = _calls[key] = launch.prepared(
            blocks_for(threads), 256, results, threads, x.shape[1], *window, *numbers
        )
    return found


def max_pool(x: DeviceArray, shape: tuple, window: tuple) -> Any:
    """Maxima and their places, for windows described by `window` with results of a shape."""
    results = (_result(1, shape, x.dtype), _result(2, shape, np.int64))
    return _call("max_pool_last", x, results, prod(shape), window)(x)


def max_pool_grad(gy: DeviceArray, index: DeviceArray, x_shape: tuple, meeting: bool) -> Any:
    """Gradients at the places of the maxima; where places may meet they are added in float."""
    gy, char = _as_last(gy), gy.dtype.char
    wide = computed(gy.dtype) if meeting else gy.dtype
    size = prod(x_shape) * wide.itemsize
    gx = cupy.ndarray(x_shape, wide, cupy.cuda.alloc(size), _strides(x_shape, wide.itemsize))
    runtime.memsetAsync(gx.data.ptr, 0, size, current.ptr)
    name = "max_pool_grad_last_meeting" if meeting else "max_pool_grad_last"
    load("pool_last.cu", name, char, VW=1)(
        blocks_for(gy.size), 256, gy, index, gx, gy.size, x_shape[1], prod(x_shape[2:]),
        prod(gy.shape[2:]),
    )  # fmt: skip
    return gx if gx.dtype == gy.dtype else cast(gx, gy.dtype.name)


def avg_pool(x: DeviceArray, shape: tuple, window: tuple, include: int, divisor: int) -> Any:
    """Means of windows."""
    results = (_result(1, shape, x.dtype),)
    return _call("avg_pool_last", x, results, prod(shape), window, include, divisor)(x)


def avg_pool_grad(
    gy: DeviceArray, x_shape: tuple, window: tuple, include: int, divisor: int
) -> Any:
    """What every input place gave to the windows it lies in."""
    results = (_result(1, x_shape, gy.dtype),)
    return _call("avg_pool_grad_last", gy, results, prod(x_shape), window, include, divisor)(gy)
