"""Which Python numbers a dtype can hold: PyTorch refuses the others where a number fills or bounds a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes
from .dtypes import dtype, from_np


def fitting(value: Any, d: dtype) -> Any:
    """A Python number as the array library can store it in dtype `d`; RuntimeError if it does not fit."""
    usual = _USUAL.get((value.__class__, d))
    if usual is not None and usual[0] <= value <= usual[1]:
        return value
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise OverflowError("int too big to convert")
    if d.category == dtypes.BOOL:
        return bool(value)
    if isinstance(value, complex) and d.category != dtypes.COMPLEX:
        if value.imag:
            raise _overflow(d)
        value = value.real
    if d.category == dtypes.INTEGRAL:
        return _whole(value, d)
    largest = _LARGEST.get(d.name)
    if largest is not None:
        for v in (value.real, value.imag) if isinstance(value, complex) else (value,):
            if not (abs(v) <= largest or v in _ENDLESS or v != v):
                raise _overflow(d)
    return float(value) if d.itemsize < 4 else value  # kinds that NumPy lacks take no large int


def storable(value: Any, kind: np.dtype) -> Any:
    """As `fitting`, and quick for usual numbers among floats."""
    if value.__class__ in _QUICK and -_SAFE <= value <= _SAFE and kind.kind in "fcV":
        return value
    return fitting(value, from_np(kind))


def computable(value: Any, kind: np.dtype) -> Any:
    """As `storable`, for a number that is computed with: half precision is computed in float32."""
    if kind.itemsize == 2 and kind.kind in "fV":
        kind = _SINGLE
    return storable(value, kind)


_SINGLE = np.dtype(np.float32)
_LARGEST = {
    "float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": float(np.finfo(np.float32).max), "complex64": float(np.finfo(np.float32).max),
}  # fmt: skip
_SAFE = 65504  # every kind of floats but those of 8 bits reaches that far
_QUICK = (float, int)
_ENDLESS = (float("inf"), -float("inf"))

# Between which numbers of a class everything fits as it is, for the dtypes that most numbers are stored as.
_USUAL = {
    (int, dtypes.int64): (-(2**63), 2**63 - 1), (int, dtypes.float32): (-(2**53), 2**53),
    (float, dtypes.float32): (-_LARGEST["float32"], _LARGEST["float32"]), (float, dtypes.float64): (-_ENDLESS[0], _ENDLESS[0]),
}  # fmt: skip


def _whole(value: Any, d: dtype) -> int:
    """Cut off to an integer of `d`; unsigned types also take negative integers, which wrap around."""
    if value != value or value in _ENDLESS:
        raise _overflow(d)
    info = np.iinfo(d.np)
    low, high = int(info.min), int(info.max)
    if not d.is_signed and not isinstance(value, float):
        low = -high
    if not low <= value <= high:
        raise _overflow(d)
    n = int(value)
    return n % (high + 1) if n < 0 and not d.is_signed else n  # -1 is 255, as in C


def _overflow(d: dtype) -> RuntimeError:
    name = f"{d.name}_t" if d.category == dtypes.INTEGRAL else dtypes.c_name(d)
    return RuntimeError(f"value cannot be converted to type {name} without overflow")
