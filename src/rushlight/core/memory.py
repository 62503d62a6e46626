"""The memory of a raw array: its address, its owner, and whether it may be reused as it is."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np

from ..runtime import devices
from ..runtime.thread import TRACED, here, settle
from .references import least


def data_pointer(a: Any) -> int:
    """The address of the first element; kernels that were waiting are computed first."""
    settle()
    if a.__class__ is np.ndarray:
        return a.__array_interface__["data"][0]
    pointer = getattr(a, "data", None)
    return getattr(pointer, "ptr", 0)


class Replaced:
    """Lies behind the version of a tensor whose `.data` was set: the array that it had, and the tensor that has another one."""

    __slots__ = ("array", "tensor")

    def __init__(self, array: Any, tensor: Any) -> None:
        self.array, self.tensor = array, tensor

    def __call__(self) -> Replaced:
        return self  # nodes that wait behind a version are asked for by a call


def read_later(a: Any, cell: list) -> tuple[Any, list]:
    """What a node that kept an input's array reads, and under which version: after `x.data = y`, as in PyTorch, what `x` has."""
    for other in cell[1:]:
        if other.__class__ is Replaced and other.array is a:
            return other.tensor._a, other.tensor._ver
    return a, cell


def root_array(a: Any) -> Any:
    """The array that owns the memory `a` views."""
    cls = a.__class__
    base = a.base
    while base is not None:
        if base.__class__ is cls:
            a = base
        base = getattr(base, "base", None)  # NumPy puts an object of its own behind as_strided
    return a


def _dense_span(a: Any) -> tuple[int, int] | None:
    """From where to where an array lies in memory, if nothing else lies between its elements."""
    span = sum([(n - 1) * step for n, step in zip(a.shape, a.strides)]) + a.itemsize
    if span != a.size * a.itemsize or min(a.strides, default=1) < 0:
        return None
    start = a.__array_interface__["data"][0] if a.__class__ is np.ndarray else getattr(a.data, "ptr", 0)
    return start, start + span


def _steps(a: Any) -> list[int]:
    """The strides that lead anywhere."""
    return [step for n, step in zip(a.shape, a.strides) if n > 1]


def partly_same(a: Any, b: Any, wholly: bool = False) -> bool:
    """Whether PyTorch would see that two arrays share some places of their memory, but not each with the same element.

    It looks at dense arrays alone; with `wholly` arrays that share all of it are told as well.
    """
    if a.__class__ is np.ndarray is b.__class__:
        if not np.may_share_memory(a, b):
            return False
    elif a.__class__ is not b.__class__ or not hasattr(a, "base") or root_array(a) is not root_array(b):
        return False
    mine, other = _dense_span(a), _dense_span(b)
    if mine is None or other is None or mine[0] >= other[1] or other[0] >= mine[1]:
        return False
    return wholly or mine != other or a.ndim != b.ndim or _steps(a) != _steps(b)


def copy_as_it_lies(a: Any) -> Any:
    """A copy with the strides of the source, gaps and repetitions included."""
    made = a.copy(order="K")
    if made.strides == a.strides or not a.size or not isinstance(a, np.ndarray):
        return made
    low = -sum([(n - 1) * s for n, s in zip(a.shape, a.strides) if s < 0])
    high = sum([(n - 1) * s for n, s in zip(a.shape, a.strides) if s > 0]) + a.itemsize
    memory = np.empty((low + high) // a.itemsize, a.dtype)
    window = np.ndarray(a.shape, a.dtype, memory, low, a.strides)
    window[...] = a
    return window


def in_memory_order(root: Any) -> Any:
    """The elements of an array that owns its memory, in one dim and in the order in which they lie there."""
    order = memory_order(root)
    return (root if order is None else root.transpose(order)).reshape(-1)


def memory_as(root: Any, dtype: Any) -> Any:
    """The same as elements of a dtype: views of other numbers, as `real` and `view(dtype)`, have not that of their memory."""
    flat = in_memory_order(root)
    if flat.dtype == dtype:
        return flat
    return flat.view(np.uint8)[: flat.nbytes // dtype.itemsize * dtype.itemsize].view(dtype)


def shown_strides(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """The strides that PyTorch shows where NumPy has 0: for a new dim of size 1, and where there are no elements."""
    empty = 0 in shape and not any(strides)
    shown: list[int] = []
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if stride or (size != 1 and not empty):
            step = stride
        shown.append(step)
        step *= max(size, 1)
    return tuple(reversed(shown))


def owns_plainly(g: Any, like: Any) -> bool:
    """Whether a gradient's array can become `.grad`: own memory, the leaf's dtype and memory order."""
    owners = getrefcount(g)
    if here.state & TRACED:
        owners -= here.tracer.references(g)
    if owners > _ALONE:
        keeps = devices.known.keepers.get(g.__class__)
        if owners > _ALONE + 1 or keeps is None or not keeps(g):
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


class _StandIn:
    """A stand-in for the tensor while references are counted."""

    __slots__ = ("_a",)

    _a: Any


def _is_taken(count: int) -> bool:
    global _ALONE
    _ALONE = count
    owner = _StandIn()
    owner._a = np.empty(1)
    return owns_plainly(owner._a, np.empty(1))


_ALONE = 0  # references to an array that only its tensor holds, as `owns_plainly` counts them
_ALONE = least(_is_taken)
