"""Fourier transforms of the innermost dims on the GPU, by cuFFT, whose plans are found by the arrays of a call."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from ....base.arrays import DeviceArray
from ....base.bounded import Bounded
from ...door import kernel_for
from ..code.held import runnable
from ..code.keyed import keyed
from ..code.launch import empty
from .fills import copied

if TYPE_CHECKING:
    Dims = tuple[int, ...]

_MOST_DIMS = 3
_KINDS = {"R2C": 0x2A, "C2R": 0x2C, "C2C": 0x29, "D2Z": 0x6A, "Z2D": 0x6C, "Z2Z": 0x69}  # cufftType
_BACK, _AHEAD = 1, -1


class _Plan:
    """What graphs hold of a plan; those of the library cannot be held weakly."""

    def __init__(self, *described: Any) -> None:
        from cupy.cuda import cufft  # the library takes a while to load, and need not be there

        self.plan = cufft.PlanNd(*described)


_plans: dict[tuple, _Plan] = Bounded(16)  # each works in memory of its own, as much as it transforms


def _call(x: DeviceArray, dims: Dims, kind: str, sizes: Dims, last: int, dtype: Any, direction: int) -> Any:
    """The transform of `x` over its last dims, which have `sizes`, the last of them `last` in the result; else None.

    Its dims lie in memory in their order, so that those of the result do, too.
    """
    k = len(dims)
    if not 0 < k <= _MOST_DIMS or not x.size or last < 1:
        return None
    if any(a < b for a, b in pairwise(x.strides)):
        return None
    if sorted(d % x.ndim for d in dims) != [*range(x.ndim - k, x.ndim)]:
        return None
    inner, batch = x.shape[-k:], prod(x.shape[:-k])
    made = (*inner[:-1], last)
    shape = (*x.shape[:-1], last)
    if max(prod(inner), prod(made), batch) >= 2**31:
        return None
    # The library overwrites what it makes real numbers of.
    copies = not x._c_contiguous or kind in ("C2R", "Z2D")
    described = (sizes, inner, 1, prod(inner), made, 1, prod(made), _KINDS[kind], batch, "C", x.ndim - 1, last)

    def call(x: DeviceArray) -> Any:
        key = (described, get_ident())
        held = _plans.get(key)
        if held is None:
            held = _plans[key] = runnable(_Plan(*described))
        out = empty(shape, dtype)
        held.plan.fft(copied(x) if copies else x, out, direction)
        return out

    return call


def _complex(x: DeviceArray, dims: Dims, direction: int) -> Any:
    kind = {"F": "C2C", "D": "Z2Z"}.get(x.dtype.char)
    sizes = x.shape[-len(dims) :] if dims else ()
    return kind and _call(x, dims, kind, sizes, x.shape[-1], x.dtype, direction)


def _forward(x: DeviceArray, *, dims: Dims) -> Any:
    return _complex(x, dims, _AHEAD)


def _backward(x: DeviceArray, *, dims: Dims) -> Any:
    return _complex(x, dims, _BACK)


def _real(x: DeviceArray, *, dims: Dims) -> Any:
    kind = {"f": "R2C", "d": "D2Z"}.get(x.dtype.char)
    if kind is None or not dims or dims[-1] % x.ndim != x.ndim - 1:
        return None
    dtype = np.dtype(np.complex64 if kind == "R2C" else np.complex128)
    return _call(x, dims, kind, x.shape[-len(dims) :], x.shape[-1] // 2 + 1, dtype, _AHEAD)


def _to_real(x: DeviceArray, *, dims: Dims, n: int) -> Any:
    kind = {"F": "C2R", "D": "Z2D"}.get(x.dtype.char)
    if kind is None or not dims or dims[-1] % x.ndim != x.ndim - 1 or x.shape[-1] != n // 2 + 1:
        return None
    dtype = np.dtype(np.float32 if kind == "C2R" else np.float64)
    return _call(x, dims, kind, (*x.shape[-len(dims) : -1], n), n, dtype, _BACK)


def _else_generic(x: DeviceArray, **attrs: Any) -> Any:
    return NotImplemented


kernel_for("cuda", "fft_forward")(keyed(_else_generic, _forward))
kernel_for("cuda", "fft_backward")(keyed(_else_generic, _backward))
kernel_for("cuda", "fft_real")(keyed(_else_generic, _real))
kernel_for("cuda", "fft_to_real")(keyed(_else_generic, _to_real))
