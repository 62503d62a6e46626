"""Indexing with brackets: reading, assigning, and the gradients of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import dtypes
from ...base.arrays import Array, ArrayModule, Shaped
from ...base.dtypes import title
from ...base.shapes import broadcast_shapes
from ...core.gradients.mapped import note_shared
from ...core.inplace import adopt_history, bump, check_apart, check_writable
from ...core.op import Op
from ...core.public import public, publish
from ...core.tensor import Tensor, tensor_over
from ...core.views import current_edge
from ...runtime.batch.arrays import BatchedArray, class_of
from ...runtime.door import Kernel, run
from ...runtime.facts import Facts, Slots
from ...runtime.thread import here, settle
from ..made_of.promotion import rounded
from ..memory.casting import cast_to, move_to
from ..memory.copies import fitting
from .brackets import SHOWN, split_index
from .scatter_kernels import add_at

# -- the gathering step -------------------------------------------------------------------------


def _place(slots: tuple[int, ...], indices: Sequence[Any]) -> tuple:
    """The index tuple NumPy understands."""
    supply = iter(indices)
    return tuple([next(supply) if taken else slice(None) for taken in slots])


def _index_meta(x: Shaped, *indices: Shaped, slots: tuple) -> tuple:
    if any(i.dtype.kind == "b" for i in indices):
        raise RuntimeError("indexing with a mask has a shape that depends on values, which a meta tensor lacks")
    picked = broadcast_shapes(*[i.shape for i in indices])
    at = [d for d, taken in enumerate(slots) if taken]
    kept = [s for d, s in enumerate(x.shape) if d not in at]
    together = at[-1] - at[0] == len(at) - 1
    lead = at[0] if together else 0
    return (*kept[:lead], *picked, *kept[lead:]), x.dtype


def _has_mask(arrays: Sequence[Any]) -> bool:
    """A mask picks as many elements as are true in it."""
    return any(getattr(a, "dtype", None) is not None and a.dtype.kind == "b" for a in arrays[1:])


index_op = Op(
    lambda xp, x, *indices, slots: x[_place(slots, indices)],
    "index",
    moves_only=True,
    meta=_index_meta,
    facts=Facts(
        positions=Slots(), shape_by_values=_has_mask, vmap="index", layout="plain", onnx="index", aten="index index"
    ),
)


def _index_grad_body(xp: ArrayModule, g: Array, *indices: Array, slots: tuple, shape: tuple) -> Any:
    out = xp.zeros(shape, g.dtype)
    if all(i.dtype.kind == "b" for i in indices) and len(indices) == 1:
        out[_place(slots, indices)] = g  # a mask names every element once
    else:
        add_at(xp, out, _place(slots, indices), g)
    return out


index_grad = Op(
    _index_grad_body,
    "index_grad",
    grad_name="IndexBackward0",
    meta=lambda g, *indices, slots, shape: (shape, g.dtype),
    facts=Facts(positions=Slots(of="shape"), vmap="index"),
)
index_op.derivative(x=lambda g, x_shape, indices, slots: index_grad(g, *indices, slots=slots, shape=x_shape))
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
        return IndexError("shape mismatch: indexing tensors could not be broadcast together with shapes " + shapes)
    return IndexError(text.replace("axis", "dimension"))


def _picked_shape(pick: Tensor) -> tuple:
    settle()  # a mask may still wait to be computed
    return (int(pick._a.sum()),) if pick._a.dtype.kind == "b" else pick._a.shape


@public("Tensor", name="__getitem__")
def getitem(self: Tensor, index: Any) -> Tensor:
    """`self[index]`: a view for ints, ranges, None and ...; a copy for index tensors and masks."""
    last, plain, window, slots, picks = split_index(self, index)
    if not picks:
        shown = SHOWN[last]
        return alias(self) if shown is None else shown(self, index=window)
    return gather_at(_windowed(self, last, plain, window), slots, picks)


def _windowed(x: Tensor, last: int, plain: bool, window: tuple) -> Tensor:
    """The part of `x` that the window shows; x itself when that is all of it."""
    shown = SHOWN[last]
    return x if plain or shown is None else shown(x, index=window)


alias = Op(lambda xp, x: x[...], "alias", view=True, facts=Facts(vmap="pointwise", onnx="unary Identity"))
alias.derivative(x=lambda g: g)


# -- assignment ---------------------------------------------------------------------------------


def _put(xp: ArrayModule, dst: Array, values: Any, indices: Any, slots: tuple, accumulate: bool) -> Any:
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
    generic=lambda xp, dst, values, *indices, slots, accumulate: _put(xp, dst, values, indices, slots, accumulate),
    meta=lambda dst, *rest, **attrs: (dst.shape, dst.dtype),
    facts=Facts(positions=Slots(at=2), aten="index_put_ put"),
)

_index_put = Op(
    lambda xp, x, values, *indices, slots, accumulate: _put(xp, x.copy(), values, indices, slots, accumulate),
    "index_put",
    meta=lambda x, *rest, **attrs: (x.shape, x.dtype),
    facts=Facts(positions=Slots(at=2), autocast={"cuda": "widest"}, aten="index_put put"),
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
    # One value for all that a mask marks is read before anything is written.
    is_one = not accumulate and isinstance(values, Tensor) and values._a.size == 1
    is_filled = is_one and len(picks) == 1 and picks[0]._a.dtype.kind == "b"
    check_apart(t, *(() if is_filled else (values,)), *picks, wholly=True)
    attrs = {"slots": slots, "accumulate": accumulate}
    raw = _fitted_values(t, values)
    arrays = (t._a, raw, *[p._a for p in picks])
    on_host = isinstance(values, Tensor) and t.is_cpu and values.is_cpu
    if on_host and np.may_share_memory(t._a, values._a):
        settle()  # what is copied may still wait to be computed
        arrays = (t._a, raw.copy(), *arrays[2:])
    try:
        run(_PUT_INTO, class_of(arrays), arrays, attrs)
    except IndexError as error:
        raise _index_error(error, picks) from None
    except ValueError:
        raise _values_error(t, slots, picks, values) from None
    bump(t)
    if here.grad:
        _record_put(t, values, picks, attrs)
    return t


def _fitted_values(t: Tensor, values: Any) -> Any:
    if not isinstance(values, Tensor):
        return _assigned(values, t.dtype)
    return values._a


def _assigned(value: Any, d: dtypes.dtype) -> Any:
    """A number as an assignment writes it: half precision gets the infinity that `fill_` refuses."""
    if d.itemsize == 2 and d.category == dtypes.FLOATING and isinstance(value, (int, float)):
        return rounded(value, d)
    return fitting(value, d)


def _record_put(t: Tensor, values: Any, picks: Sequence[Tensor], attrs: dict) -> None:
    mask = 1 if current_edge(t) is not None else 0
    if isinstance(values, Tensor) and current_edge(values) is not None:
        mask |= 2
    if mask:
        out = tensor_over(t._a, t._a.__class__)
        edges = [t._edge, values._edge if mask & 2 else None, *[None] * len(picks)]
        _index_put.record(mask, (t, values, *picks), attrs, (out,), edges)
        if t._a.__class__ is BatchedArray:
            note_shared((t, values, *picks), edges, (out,))
        adopt_history(t, out)


def _values_error(t: Tensor, slots: tuple, picks: Sequence[Tensor], values: Any) -> RuntimeError:
    settle()  # masks may still wait to be computed
    place = t._a[_place(slots, [p._a for p in picks])].shape
    shape = values._a.shape if isinstance(values, Tensor) else ()
    return RuntimeError(
        f"shape mismatch: value tensor of shape {list(shape)} cannot be broadcast to indexing "
        f"result of shape {list(place)}"
    )


@public("Tensor", name="__setitem__")
def setitem(self: Tensor, index: Any, value: Any) -> None:
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
    if value.__class__ is int and not -(2**63) <= value < 2**63:
        raise ValueError("Overflow when unpacking long long")
    if index is False:  # names nothing
        return
    last, plain, window, slots, picks = split_index(self, index)
    place = _windowed(self, last, plain, window)
    if isinstance(value, Tensor):
        value = _without_leading_ones(value)
    if picks:
        put(place, slots, picks, _put_value(place, value, picks), False)
    elif not isinstance(value, Tensor):
        if 0 in place._a.strides:
            check_writable(place)
        place.fill_(_assigned(value, place.dtype))
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


def _put_value(place: Tensor, value: Any, picks: Sequence[Tensor]) -> Any:
    if not isinstance(value, Tensor):
        return value
    if value._a.size == 1 and len(picks) == 1 and picks[0]._a.dtype.kind == "b":
        value = cast_to(value, place.dtype)  # one value where a mask is true: a fill
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
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(index).__name__}")
    # A 0-d index tensor is an index here, not an int, so that the write stays one step.
    lifted = [i if i._a.ndim or i._a.dtype.kind == "b" else i.reshape(1) for i in indices]
    _, _, _, slots, picks = split_index(x, tuple(lifted))
    return slots, picks


@public()
def index_put_(
    input: Tensor,
    indices: Any,
    values: Tensor,
    accumulate: bool = False,  # noqa: A002
) -> Tensor:
    """Write values at the positions that index tensors name; returns the tensor itself.

    Args:
        indices: a tuple of index tensors, one for each leading dimension.
        values: what to write; it broadcasts.
        accumulate: add to what is there, repeated positions included.

    Example:
        >>> torch.zeros(3).index_put_((torch.tensor([0, 0]),), torch.tensor(1.0), accumulate=True)
        tensor([2., 0., 0.])
    """
    slots, picks = _named_indices(input, indices)
    value = _put_value(input, values, () if accumulate else picks)
    if isinstance(value, Tensor) and value._a.ndim:
        value = _no_wider(input, slots, picks, value, accumulate)
    return put(input, slots, picks, value, accumulate)


def _no_wider(x: Tensor, slots: tuple, picks: Sequence[Tensor], value: Tensor, accumulate: bool) -> Tensor:
    """A value that has at most as many dims as what the indices name; brackets drop its leading ones, this does not."""
    masks = [p._a.dtype.kind == "b" for p in picks]
    if value._a.size == 1 and masks == [True] and not accumulate:
        return value.reshape(())
    used = sum([p._a.ndim if mask else 1 for p, mask in zip(picks, masks)])
    spread = max([1 if mask else p._a.ndim for p, mask in zip(picks, masks)], default=0)
    if value._a.ndim > spread + x._a.ndim - used:
        raise _values_error(x, slots, picks, value)
    return value


@public()
def index_put(
    input: Tensor,
    indices: Any,
    values: Tensor,
    accumulate: bool = False,  # noqa: A002
) -> Tensor:
    """As `index_put_`, into a copy."""
    return index_put_(input.clone(), indices, values, accumulate)


publish("Tensor", "__delitem__", lambda self, index: _no_delete())


def _no_delete() -> None:
    raise TypeError("Tensor does not support deleting items")
