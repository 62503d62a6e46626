"""Which Python numbers a dtype can hold: PyTorch refuses the others where a number fills or bounds a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes
from .dtypes import dtype


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
    if d.name in ("float32", "complex64") and not _small_enough(value):
        raise _overflow(d)
    return value


def _small_enough(value: Any) -> bool:
    parts = (value.real, value.imag) if isinstance(value, complex) else (value,)
    return all(abs(v) <= _LARGEST or v in _ENDLESS or v != v for v in parts)


_LARGEST = float(np.finfo(np.float32).max)
_ENDLESS = (float("inf"), -float("inf"))

# Between which numbers of a class everything fits as it is, for the dtypes that most numbers are stored as.
_USUAL = {
    (int, dtypes.int64): (-(2**63), 2**63 - 1), (int, dtypes.float32): (-(2**53), 2**53),
    (float, dtypes.float32): (-_LARGEST, _LARGEST), (float, dtypes.float64): (-_ENDLESS[0], _ENDLESS[0]),
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
