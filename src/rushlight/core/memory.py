"""Whose memory a raw array shows: its address, its owner, and whether it may be taken over."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..runtime import devices


def data_pointer(a: Any) -> int:
    """The address of the first element."""
    if a.__class__ is np.ndarray:
        return a.__array_interface__["data"][0]
    pointer = getattr(a, "data", None)
    return getattr(pointer, "ptr", 0)


def root_array(a: Any) -> Any:
    """The array that owns the memory `a` views."""
    cls = a.__class__
    base = a.base
    while base is not None:
        if base.__class__ is cls:
            a = base
        base = getattr(base, "base", None)  # NumPy puts an object of its own behind as_strided
    return a


def owns_plainly(g: Any, like: Any) -> bool:
    """Whether a gradient's array can become `.grad`: own memory, the leaf's dtype and memory order."""
    owners = sys.getrefcount(g)  # the tensor, this frame and the argument are three
    if owners > 3:
        keeps = devices.keepers.get(g.__class__)
        if owners > 4 or keeps is None or not keeps(g):
            return False
    return (
        g.base is None
        and g.__class__ is like.__class__
        and g.dtype == like.dtype
        and (g.strides == like.strides or (g.flags.c_contiguous and memory_order(like) is None))
    )


def memory_order(a: Any) -> list[int] | None:
    """The dims of a gapless array from the outermost to the innermost; None if row-major or with gaps."""
    if a.flags.c_contiguous:
        return None
    order = sorted(range(a.ndim), key=lambda dim: -a.strides[dim])
    return order if a.transpose(order).flags.c_contiguous else None
