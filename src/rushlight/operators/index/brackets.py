"""Reading what stands in the brackets of `x[...]`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base.config import settings
from ...core.op import Op, native
from ...core.tensor import Tensor, wrap
from ..memory.casting import move_to
from ..shape.windows import select_op, slice_op, window_op

# An index is split in two: a window (ints, ranges, new dims), which is a view, and then at most one
# gathering step with index tensors. PyTorch's order of result dims follows from this split.

_ALL = (None, None, None)
_BAD_INDEX = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})"


def is_position(d: Any) -> bool:
    """Whether an array dtype is int64 or int32 (a dtype's name costs 3 us to ask for)."""
    return d.kind == "i" and d.itemsize >= 4


class Split(NamedTuple):
    """What brackets ask for: `window` first, then index tensors `picks` in the places `slots`."""

    last: int  # which of SHOWN names the view's node; 0 where nothing was asked for
    plain: bool  # the window is the whole tensor
    window: tuple[Any, ...]
    slots: tuple[int, ...]  # per dim of the window: 1 takes the next pick, 0 the whole dim
    picks: list[Tensor]


SHOWN: tuple[Op | None, ...] = (None, select_op, slice_op, window_op)
_SELECT, _SLICE, _WINDOW = 1, 2, 3


class _Reading:
    """A split that is still being read."""

    __slots__ = ("last", "picks", "plain", "slots", "window")

    def __init__(self) -> None:
        self.window: list[Any] = []
        self.slots: list[int] = []
        self.picks: list[Tensor] = []
        self.plain = True
        self.last = 0

    def whole(self, n: int = 1) -> None:
        self.window.extend([_ALL] * n)
        self.slots.extend([0] * n)

    def pick(self, index: Tensor, dims: int = 1) -> None:
        self.window.extend([_ALL] * dims)
        self.slots.append(1)
        self.picks.append(index)

    def new_dim(self, flag: Tensor | None = None) -> None:
        self.window.append(None)
        self.plain = False
        self.last = _WINDOW
        if flag is None:
            self.slots.append(0)
        else:
            self.slots.append(1)
            self.picks.append(flag)


def split_index(x: Tensor, index: Any) -> Split:
    """Read what stands in the brackets; IndexError in PyTorch's words when it does not fit.

    What is usual is read in C (core/native/brackets.c), which answers None for the rest.
    """
    return (None if native is None else native.split_brackets(x, index)) or _read(x, index)


def _read(x: Tensor, index: Any) -> Split:
    items = index if index.__class__ is tuple else _items(index)
    items = [_plain(item, x) for item in items]
    shape = x._a.shape
    taken = sum([_dims_taken(item) for item in items])
    if taken > len(shape):
        raise _too_many(items, shape)
    split = _Reading()
    dim = 0
    for item in items:
        if item is None:
            split.new_dim()
        elif item is Ellipsis:
            split.whole(len(shape) - taken)
            dim += len(shape) - taken
            taken = len(shape)  # a second ellipsis stands for nothing
        elif item.__class__ is int:
            split.window.append(position(item, shape[dim], dim))
            split.plain = False
            split.last = _SELECT
            dim += 1
        elif item.__class__ is slice:
            taken_range = _range(item, shape[dim])
            split.window.append(taken_range)
            split.slots.append(0)
            split.plain = split.plain and taken_range == (0, shape[dim], 1)
            split.last = _SLICE
            dim += 1
        else:
            dim += _read_tensor(split, item, shape, dim)
    return Split(split.last, split.plain, tuple(split.window), tuple(split.slots), split.picks)


def _read_tensor(split: _Reading, item: Tensor, shape: tuple, dim: int) -> int:
    """Add an index tensor; answer how many dims it takes."""
    if item._a.dtype.kind != "b":
        split.pick(item)
        return 1
    n = item._a.ndim
    if n == 0:
        split.new_dim(item.reshape(1))
        return 0
    for i in range(n):
        if item._a.shape[i] != shape[dim + i]:
            raise IndexError(
                f"The shape of the mask {list(item._a.shape)} at index {i} does not match the shape "
                f"of the indexed tensor {list(shape)} at index {dim + i}"
            )
    split.pick(item, n)
    return n


def _items(index: Any) -> Sequence[Any]:
    """The entries of an index that is not a tuple; a list of more than numbers stands for one."""
    if isinstance(index, list) and len(index) < 32:
        for item in index:
            if item is None or item is Ellipsis or isinstance(item, (Tensor, slice, list, tuple)):
                return index
    return (index,)


def _plain(item: Any, x: Tensor) -> Any:
    """One entry as None, Ellipsis, int, slice, or an index tensor of integers or bools."""
    if item is None or item is Ellipsis or item.__class__ in (int, slice):
        return item
    if item.__class__ is bool:
        return _like(np.asarray(item), x)
    if not isinstance(item, Tensor):
        item = _to_tensor(item, x)
        if item.__class__ is int:
            return item
    kind = item._a.dtype.kind
    if item._a.__class__ is not x._a.__class__ and item._a.ndim:
        item = move_to(item, x.device)  # PyTorch takes indices from the host too
    if kind == "b":
        return item
    if kind == "u" and item._a.itemsize == 1:  # PyTorch reads bytes as a mask
        warnings.warn(
            f"indexing with dtype {settings.module}.uint8 is now deprecated, please use a dtype {settings.module}.bool instead.",
            stacklevel=6,
        )
        return item.bool()
    if not is_position(item._a.dtype):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return item if item._a.ndim else int(item.item())


def _to_tensor(item: Any, x: Tensor) -> Any:
    if isinstance(item, np.ndarray):
        array = item
    elif isinstance(item, (list, tuple, range)):
        array = np.asarray([v.item() if isinstance(v, Tensor) else v for v in item])
        if array.dtype.kind in "fu" or not array.size:
            array = array.astype(np.int64)
        if array.dtype.kind in "SU":
            raise TypeError(f"new(): invalid data type '{type(item[0]).__name__}'")
        if array.dtype.kind not in "ib":
            raise IndexError(_BAD_INDEX.format(type(item).__name__))
    elif hasattr(item, "__index__"):
        return item.__index__()
    elif isinstance(item, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(item).__name__}'")
    else:
        raise IndexError(_BAD_INDEX.format(type(item).__name__))
    return _like(array, x)


def _like(array: np.ndarray, x: Tensor) -> Tensor:
    return move_to(wrap(array), x.device)


def _dims_taken(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    if item.__class__ in (int, slice):
        return 1
    return item._a.ndim if item._a.dtype.kind == "b" else 1


def _too_many(items: list, shape: tuple) -> IndexError:
    if not shape and len(items) == 1 and items[0].__class__ is int:
        return IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert a 0-dim tensor to a number"
        )
    if not shape and len(items) == 1 and items[0].__class__ is slice:
        return IndexError("slice() cannot be applied to a 0-dim tensor.")
    return IndexError(f"too many indices for tensor of dimension {len(shape)}")


def position(i: int, size: int, dim: int) -> int:
    if not -size <= i < size:
        raise IndexError(f"index {i} is out of bounds for dimension {dim} with size {size}")
    return i + size if i < 0 else i


def _range(s: slice, size: int) -> tuple[int, int, int]:
    step = 1 if s.step is None else s.step.__index__()
    if step <= 0:
        raise ValueError("step must be greater than zero")
    start, stop, step = s.indices(size)
    return start, max(stop, start), step
