"""Indexing with brackets: reading, assigning, and the gradients of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend.door import Kernel, run
from ..base.shapes import broadcast_shapes
from ..core.inplace import _title as title
from ..core.inplace import adopt_history, bump, check_writable
from ..core.modes import modes
from ..core.op import Op
from ..core.public import public, publish
from ..core.tensor import Tensor, current_edge, tensor_over, wrap
from .casting import move_to
from .memory import fitting
from .scatter_rows import add_at
from .window import Window, select_op, slice_op, window_op

# An index is split in two: a window (ints, ranges, new dims), which is a view, and then at most one
# gathering step with index tensors. PyTorch's order of result dims follows from this split.

_ALL = (None, None, None)
_BAD_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
    "indices (got {})"
)


class _Split:
    """What brackets ask for: `window` first, then index tensors `picks` in the places `slots`."""

    __slots__ = ("window", "slots", "picks", "plain", "last")

    def __init__(self) -> None:
        self.window: list[Any] = []
        self.slots: list[int] = []  # per dim of the window: 1 takes the next pick, 0 the whole dim
        self.picks: list[Tensor] = []
        self.plain = True  # the window is the whole tensor
        self.last: Op | None = None  # the op that names the view's node

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
        self.last = window_op
        if flag is None:
            self.slots.append(0)
        else:
            self.slots.append(1)
            self.picks.append(flag)


def split_index(x: Tensor, index: Any) -> _Split:
    """Read what stands in the brackets; IndexError in PyTorch's words when it does not fit."""
    items = index if index.__class__ is tuple else _items(index)
    items = [_plain(item, x) for item in items]
    shape = x._a.shape
    taken = sum([_dims_taken(item) for item in items])
    if taken > len(shape):
        raise _too_many(items, shape)
    split = _Split()
    dim = 0
    for item in items:
        if item is None:
            split.new_dim()
        elif item is Ellipsis:
            split.whole(len(shape) - taken)
            dim += len(shape) - taken
            taken = len(shape)  # a second ellipsis stands for nothing
        elif item.__class__ is int:
            split.window.append(_position(item, shape[dim], dim))
            split.plain = False
            split.last = select_op
            dim += 1
        elif item.__class__ is slice:
            taken_range = _range(item, shape[dim])
            split.window.append(taken_range)
            split.slots.append(0)
            split.plain = split.plain and taken_range == (0, shape[dim], 1)
            split.last = slice_op
            dim += 1
        else:
            dim += _read_tensor(split, item, shape, dim)
    return split


def _read_tensor(split: _Split, item: Tensor, shape: tuple, dim: int) -> int:
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
    if kind == "b":
        return item
    if kind not in "iu" or item._a.dtype.name not in ("int64", "int32", "uint8"):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if item._a.dtype.kind == "u":  # PyTorch reads bytes as a mask
        return item.bool()
    return item if item._a.ndim else int(item.item())


def _to_tensor(item: Any, x: Tensor) -> Any:
    if isinstance(item, np.ndarray):
        array = item
    elif isinstance(item, (list, tuple, range)):
        array = np.asarray([v.item() if isinstance(v, Tensor) else v for v in item])
        if array.dtype.kind in "fu" or not array.size:
            array = array.astype(np.int64)
        if array.dtype.kind not in "ib":
            raise IndexError(_BAD_INDEX.format(type(item).__name__))
    elif hasattr(item, "__index__"):
        return item.__index__()
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
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert a 0-dim "
            "tensor to a number"
        )
    if not shape and len(items) == 1 and items[0].__class__ is slice:
        return IndexError("slice() cannot be applied to a 0-dim tensor.")
    return IndexError(f"too many indices for tensor of dimension {len(shape)}")


def _position(i: int, size: int, dim: int) -> int:
    if not -size <= i < size:
        raise IndexError(f"index {i} is out of bounds for dimension {dim} with size {size}")
    return i + size if i < 0 else i


def _range(s: slice, size: int) -> tuple[int, int, int]:
    step = 1 if s.step is None else s.step.__index__()
    if step <= 0:
        raise ValueError("step must be greater than zero")
    start, stop, step = s.indices(size)
    return start, max(stop, start), step


# -- the gathering step -------------------------------------------------------------------------


def _place(slots: tuple[int, ...], indices: Sequence[Any]) -> tuple:
    """The index tuple NumPy understands."""
    supply = iter(indices)
    return tuple([next(supply) if taken else slice(None) for taken in slots])


def _index_meta(x: Any, *indices: Any, slots: tuple) -> tuple:
    if any(i.dtype.kind == "b" for i in indices):
        raise RuntimeError(
            "indexing with a mask has a shape that depends on values, which a meta tensor lacks"
        )
    picked = broadcast_shapes(*[i.shape for i in indices])
    at = [d for d, taken in enumerate(slots) if taken]
    kept = [s for d, s in enumerate(x.shape) if d not in at]
    together = at[-1] - at[0] == len(at) - 1
    lead = at[0] if together else 0
    return (*kept[:lead], *picked, *kept[lead:]), x.dtype


index_op = Op(
    lambda xp, x, *indices, slots: x[_place(slots, indices)],
    "index",
    moves_only=True,
    meta=_index_meta,
)


def _index_grad_body(xp: Any, g: Any, *indices: Any, slots: tuple, shape: tuple) -> Any:
    out = xp.zeros(shape, g.dtype)
    if all([i.dtype.kind == "b" for i in indices]) and len(indices) == 1:
        out[_place(slots, indices)] = g  # a mask names every element once
    else:
        add_at(xp, out, _place(slots, indices), g)
    return out


index_grad = Op(
    _index_grad_body,
    "index_grad",
    grad_name="IndexBackward0",
    meta=lambda g, *indices, slots, shape: (shape, g.dtype),
)
index_op.derivative(
    x=lambda g, x_shape, indices, slots: index_grad(g, *indices, slots=slots, shape=x_shape)
)
index_grad.derivative(g=lambda g, indices, slots: index_op(g, *indices, slots=slots))


def gather_at(x: Tensor, slots: tuple[int, ...], picks: Sequence[Tensor]) -> Tensor:
    """`x` at index tensors, with PyTorch's words when they do not fit."""
    try:
        return index_op(x, *picks, slots=slots)
    except IndexError as error:
        raise _index_error(error, picks) from None


def _index_error(error: IndexError, picks: Sequence[Tensor]) -> IndexError:
    text = str(error)
    if "could not be broadcast" in text:
        shapes = ", ".join([str(list(_picked_shape(p))) for p in picks])
        return IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes " + shapes
        )
    return IndexError(text.replace("axis", "dimension"))


def _picked_shape(pick: Tensor) -> tuple:
    return (int(pick._a.sum()),) if pick._a.dtype.kind == "b" else pick._a.shape


@public("Tensor")
def __getitem__(self: Tensor, index: Any) -> Tensor:
    """`self[index]`: a view for ints, ranges, None and ...; a copy for index tensors and masks."""
    if index.__class__ is int and self._a.ndim:  # the commonest cases by the shortest way
        return select_op(self, index=(_position(index, self._a.shape[0], 0),))
    split = split_index(self, index)
    if not split.picks:
        if split.last is None:
            return _alias(self)
        return split.last(self, index=tuple(split.window))
    return gather_at(_windowed(self, split), tuple(split.slots), split.picks)


def _windowed(x: Tensor, split: _Split) -> Tensor:
    """The part of `x` that the window shows; x itself when that is all of it."""
    if split.plain or split.last is None:
        return x
    return split.last(x, index=tuple(split.window))


_alias = Op(lambda xp, x: x[...], "alias", view=True)
_alias.derivative(x=lambda g: g)


# -- assignment ---------------------------------------------------------------------------------


def _put(xp: Any, dst: Any, values: Any, indices: Any, slots: tuple, accumulate: bool) -> Any:
    at = _place(slots, indices)
    if accumulate:
        if not hasattr(values, "dtype"):
            values = xp.asarray(values, dst.dtype)
        add_at(xp, dst, at, values)
    else:
        dst[at] = values
    return dst


_PUT_INTO = Kernel(
    "index_put_into",
    mutates=(0,),
    generic=lambda xp, dst, values, *indices, slots, accumulate: _put(
        xp, dst, values, indices, slots, accumulate
    ),
    meta=lambda dst, *rest, **attrs: (dst.shape, dst.dtype),
)

_index_put = Op(
    lambda xp, x, values, *indices, slots, accumulate: _put(
        xp, x.copy(), values, indices, slots, accumulate
    ),
    "index_put",
    meta=lambda x, *rest, **attrs: (x.shape, x.dtype),
)


def _put_dx(g: Tensor, indices: list, slots: tuple, accumulate: bool) -> Tensor:
    if accumulate:
        return g
    return _index_put(g, 0, *indices, slots=slots, accumulate=False)


def _put_dvalues(g: Tensor, values_shape: tuple, indices: list, slots: tuple) -> Tensor:
    return index_op(g, *indices, slots=slots).sum_to_size(values_shape)


_index_put.derivative(x=_put_dx, values=_put_dvalues)


def put(t: Tensor, slots: tuple, picks: Sequence[Tensor], values: Any, accumulate: bool) -> Tensor:
    """Write `values` where the index tensors say, in place, without copying the rest."""
    check_writable(t)
    attrs = {"slots": slots, "accumulate": accumulate}
    raw = _fitted_values(t, values)
    arrays = (t._a, raw, *[p._a for p in picks])
    if isinstance(values, Tensor) and np.may_share_memory(_host_array(t), _host_array(values)):
        arrays = (t._a, raw.copy(), *arrays[2:])
    try:
        run(_PUT_INTO, t._a.__class__, arrays, attrs)
    except IndexError as error:
        raise _index_error(error, picks) from None
    except ValueError:
        raise _values_error(t, slots, picks, values) from None
    bump(t)
    if modes.grad:
        _record_put(t, values, picks, attrs)
    return t


def _host_array(t: Tensor) -> Any:
    return t._a if t.is_cpu else np.empty(0)


def _fitted_values(t: Tensor, values: Any) -> Any:
    if not isinstance(values, Tensor):
        return fitting(values, t.dtype)
    return values._a


def _record_put(t: Tensor, values: Any, picks: Sequence[Tensor], attrs: dict) -> None:
    mask = 1 if current_edge(t) is not None else 0
    if isinstance(values, Tensor) and current_edge(values) is not None:
        mask |= 2
    if mask:
        out = tensor_over(t._a, t._a.__class__)
        edges = [t._edge, values._edge if mask & 2 else None, *[None] * len(picks)]
        _index_put.record(mask, (t, values, *picks), attrs, (out,), edges)
        adopt_history(t, out)


def _values_error(t: Tensor, slots: tuple, picks: Sequence[Tensor], values: Any) -> RuntimeError:
    place = t._a[_place(slots, [p._a for p in picks])].shape
    shape = values._a.shape if isinstance(values, Tensor) else ()
    return RuntimeError(
        f"shape mismatch: value tensor of shape {list(shape)} cannot be broadcast to indexing "
        f"result of shape {list(place)}"
    )


@public("Tensor")
def __setitem__(self: Tensor, index: Any, value: Any) -> None:
    """`self[index] = value`."""
    if not isinstance(value, (Tensor, bool, int, float, complex, np.generic)):
        name = type(value).__name__
        if type(value).__module__ not in ("builtins", "__main__"):
            name = f"{type(value).__module__}.{name}"
        raise TypeError(
            f"can't assign a {name} to a {self.type()}; make a tensor of it first, for example with "
            "tensor(...) or as_tensor(...)"
        )
    if isinstance(value, np.generic):
        value = value.item()
    if index is False:  # names nothing
        return
    split = split_index(self, index)
    place = _windowed(self, split)
    if isinstance(value, Tensor):
        value = _without_leading_ones(value)
    if split.picks:
        put(place, tuple(split.slots), split.picks, _put_value(place, value), False)
    elif not isinstance(value, Tensor):
        place.fill_(value)
    elif value._a.shape == place._a.shape:
        place.copy_(value)
    else:
        place.copy_(value.expand(place._a.shape))


def _without_leading_ones(value: Tensor) -> Tensor:
    """PyTorch lets an assigned value have more dims of size 1 than the place it goes to."""
    shape = value._a.shape
    while shape and shape[0] == 1:
        shape = shape[1:]
    return value if len(shape) == value._a.ndim else value.reshape(shape)


def _put_value(place: Tensor, value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    if value._a.dtype != place._a.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{title(place.dtype)} for the destination and {title(value.dtype)} for the source."
        )
    return move_to(value, place.device) if not value._a.ndim else value


# -- the same by name ---------------------------------------------------------------------------


def _named_indices(x: Tensor, indices: Any) -> tuple[tuple[int, ...], list[Tensor]]:
    for i, index in enumerate(indices):
        if not isinstance(index, Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {type(index).__name__}"
            )
    # A 0-d index tensor is an index here, not an int, so that the write stays one step.
    lifted = [i if i._a.ndim or i._a.dtype.kind == "b" else i.reshape(1) for i in indices]
    split = split_index(x, tuple(lifted))
    return tuple(split.slots), split.picks


@public()
def index_put_(
    input: Tensor,
    indices: Any,
    values: Tensor,
    accumulate: bool = False,  # noqa: A002
) -> Tensor:
    """Write `values` at the index tensors; with `accumulate` add them, duplicates included."""
    slots, picks = _named_indices(input, indices)
    return put(input, slots, picks, _put_value(input, values), accumulate)


@public()
def index_put(
    input: Tensor,
    indices: Any,
    values: Tensor,
    accumulate: bool = False,  # noqa: A002
) -> Tensor:
    """A copy of `input` with `values` at the index tensors."""
    return index_put_(input.clone(), indices, values, accumulate)


publish("Tensor", "__delitem__", lambda self, index: _no_delete())


def _no_delete() -> None:
    raise TypeError("Tensor does not support deleting items")
