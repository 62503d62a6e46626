"""Choosing elements by flat position, by mask, or by not being zero."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...base import formats
from ...base.arrays import Array, ArrayModule
from ...base.dtypes import int64 as _INT64
from ...base.dtypes import title
from ...base.shapes import as_size, broadcast_shapes, whole
from ...core.explain import not_a_tensor
from ...core.inplace import change, check_apart
from ...core.op import Op
from ...core.public import check_out, into, into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.checks import check_values
from .indexing import index_op
from .indexing import put as _put_at

# -- flat positions -----------------------------------------------------------------------------


def _check_flat(x: Tensor, index: Tensor, name: str) -> None:
    if index._a.dtype != np.int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {title(index.dtype)}")
    n = x._a.size
    if not n and index._a.size:
        raise IndexError(f"{name}(): tried to {name.rstrip('_')} from an empty tensor")
    check_values(_inside, index, n)


def _inside(index: Array, n: int) -> None:
    if not index.size:
        return
    low, high = int(index.min()), int(index.max())
    if low < -n or high >= n:
        wrong = low if low < -n else high
        raise IndexError(f"out of range: tried to access index {wrong} on a tensor of {n} elements.")


@public()
def take(input: Tensor, index: Tensor, *, out: Any = None) -> Tensor:  # noqa: A002
    """The elements at positions in the flattened tensor.

    Args:
        index: integers of any shape, which is the result's.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]]).take(torch.tensor([0, 3]))
        tensor([1, 4])
    """
    _check_flat(input, index, "take")
    check_out(out, input, index)
    if not input._a.size:
        return into_same(out, input.reshape(-1)[:0].reshape(index._a.shape))
    return into_same(out, index_op(input.reshape(-1), index, slots=(1,)))


@public()
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:  # noqa: A002
    """A copy with values at positions in the flattened tensor.

    Args:
        index: the positions.
        source: as many values.
        accumulate: add to what is there.

    Example:
        >>> torch.zeros(2, 2).put(torch.tensor([0, 3]), torch.tensor([5.0, 6.0]))
        tensor([[5., 0.],
                [0., 6.]])
    """
    if index._a.size != source._a.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source._a.size}, index.numel() = {index._a.size}"
        )
    if source._a.dtype != input._a.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{title(input.dtype)} and source.dtype = {title(source.dtype)}"
        )
    _check_flat(input, index, "put_")
    flat = input.clone().reshape(-1)
    written = _put_at(flat, (1,), [index.reshape(-1)], source.reshape(-1), accumulate)
    return written.reshape(input._a.shape)


@public("Tensor")
def put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """In-place version of `put`."""
    check_apart(self, index, source, wholly=True)
    return change(self, put, index, source, accumulate)


@public("torch")
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Positions in a flattened tensor as one position for each dimension.

    Args:
        indices: the positions.
        shape: the shape of the tensor.

    Raises:
        TypeError: for positions that are no integers, and shapes that are no sequence of them.
        ValueError: for negative positions and shapes.

    Example:
        >>> torch.unravel_index(torch.tensor([1, 5]), (2, 3))
        (tensor([0, 1]), tensor([1, 2]))
    """
    if indices._a.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, list, tuple)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    for n in () if isinstance(shape, int) else shape:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    sizes = as_size((shape,))
    if min(sizes, default=0) < 0:
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    whole(prod(sizes), "shape")
    found: list[Tensor] = []
    rest = indices
    for n in reversed(sizes):
        found.insert(0, rest % n)
        rest = rest.div(n, rounding_mode="floor")
    return tuple(found)


# -- masks --------------------------------------------------------------------------------------


@public()
def masked_select(input: Tensor, mask: Tensor, *, out: Any = None) -> Tensor:  # noqa: A002
    """The elements where a mask is true, as a vector.

    Args:
        mask: truth values; shapes broadcast.

    Example:
        >>> x = torch.tensor([1, 5, 3])
        >>> x.masked_select(x > 2)
        tensor([5, 3])
    """
    if mask._a.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    check_out(out, input, mask)
    shape = broadcast_shapes(input._a.shape, mask._a.shape)
    x, where = input.expand(shape), mask.expand(shape)
    if not shape:
        x, where = x.reshape(1), where.reshape(1)
    return into_same(out, _masked_select(x, where))


_masked_select = Op(lambda xp, x, mask: x[mask], "masked_select", moves_only=True, facts=Facts(shape_by_values=True))
_masked_select_grad = Op(
    lambda xp, g, mask: _fill_mask(xp, g, mask),
    "masked_select_grad",
    moves_only=True,
    grad_name="MaskedSelectBackward0",
    meta=lambda g, mask: (mask.shape, g.dtype),
    facts=Facts(refuses="checked"),
)
_masked_select.derivative(x=lambda g, mask: _masked_select_grad(g, mask))
_masked_select_grad.derivative(g=lambda g, mask: _masked_select(g, mask))


def _fill_mask(xp: ArrayModule, g: Array, mask: Array) -> Any:
    out = xp.zeros(mask.shape, g.dtype)
    out[mask] = g
    return out


@public(inplace=True)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:  # noqa: A002
    """A copy with the elements where a mask is true taken from another tensor, in order.

    Args:
        mask: truth values; it broadcasts to `input`.
        source: at least as many elements as the mask has true ones.

    Example:
        >>> torch.zeros(3).masked_scatter(torch.tensor([True, False, True]), torch.tensor([1.0, 2.0]))
        tensor([1., 0., 2.])
    """
    if source._a.dtype != input._a.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got"
            f"{title(input.dtype)} and {title(source.dtype)}"
        )
    if mask._a.dtype.kind != "b":
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {title(mask.dtype)}")
    if input._a.shape != mask._a.shape:
        shape = broadcast_shapes(input._a.shape, mask._a.shape)
        input, mask = input.expand(shape), mask.expand(shape)
    # Where every element could be taken nobody has to count.
    if mask._a.size > source._a.size and int(mask.sum()) > source._a.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    return _masked_scatter(input, mask, source)


def _scatter_body(xp: ArrayModule, x: Array, mask: Array, source: Array) -> Any:
    out = x.copy(order="C")
    out[mask] = source.reshape(-1)[: int(mask.sum())]
    return out


def _gather_body(xp: ArrayModule, g: Array, mask: Array, *, shape: tuple) -> Any:
    out, chosen = xp.zeros(shape, g.dtype), g[mask]
    out.reshape(-1)[: chosen.size] = chosen
    return out


_masked_scatter = Op(
    _scatter_body,
    "masked_scatter",
    moves_only=True,
    grad_name="MaskedScatterBackward0",
    meta=lambda x, mask, source: (x.shape, x.dtype),
    facts=Facts(refuses="checked"),
)
_masked_scatter_grad = Op(
    _gather_body,
    "masked_scatter_grad",
    moves_only=True,
    meta=lambda g, mask, *, shape: (shape, g.dtype),
    facts=Facts(refuses="checked"),
)
_masked_scatter.derivative(
    x=lambda g, mask: g.masked_fill(mask, 0.0),
    source=lambda g, mask, source_shape: _masked_scatter_grad(g, mask, shape=source_shape),
)
_masked_scatter_grad.derivative(g=lambda g, mask: _masked_scatter(g.new_zeros(mask._a.shape).detach(), mask, g))


# -- where it is not zero -----------------------------------------------------------------------

_nonzero = Op(
    lambda xp, x: xp.stack(xp.nonzero(x)).astype("int64").T,
    "nonzero",
    moves_only=True,
    facts=Facts(shape_by_values=True),
)


def _positions(x: Tensor) -> Tensor:
    if x._a.ndim:
        return _nonzero(x)
    return x.new_empty((int(bool(x)), 0), dtype=_INT64)


@public()
def nonzero(input: Tensor, *, out: Any = None, as_tuple: bool = False) -> Any:  # noqa: A002
    """The positions of the elements that are not zero.

    Args:
        as_tuple: one vector per dimension, as an index, instead of one row per element.

    Example:
        >>> x = torch.tensor([[0, 1], [2, 0]])
        >>> x.nonzero()
        tensor([[0, 1],
                [1, 0]])
        >>> x[x.nonzero(as_tuple=True)]
        tensor([1, 2])
    """
    if out is not None and not isinstance(out, Tensor):
        raise not_a_tensor("nonzero", "out", 2, out)
    if as_tuple and out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    if as_tuple:
        return _positions(input if input._a.ndim else input.reshape(1)).unbind(1)
    if out is not None and out.dtype is not _INT64:
        raise RuntimeError(
            f"nonzero: Expected out tensor to have scalar type Long but got scalar type{title(out.dtype)}"
        )
    return into(out, _positions(input))


@public()
def argwhere(input: Tensor) -> Tensor:  # noqa: A002
    """The positions of the elements that are not zero, one row per element.

    Example:
        >>> torch.tensor([0, 3, 5]).argwhere()
        tensor([[1],
                [2]])
    """
    return _positions(input)


@public()
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Any = None) -> Tensor:  # noqa: A002
    """As `nonzero` with exactly `size` rows: cut off, or filled up."""
    found = _positions(input)
    if whole(size, "size") < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    missing = size - found._a.shape[0]
    whole(fill_value, "fill_value")
    if missing > 0:
        from ..shape.join import cat

        found = cat([found, found.new_full((missing, found._a.shape[1]), fill_value)])
    return into_same(out, found[:size].clone(memory_format=formats.contiguous_format))


# -- one_hot ------------------------------------------------------------------------------------

_one_hot = Op(
    lambda xp, x, *, classes: (x[..., None] == xp.arange(classes)).astype("int64"),
    "one_hot",
    moves_only=True,
    meta=lambda x, *, classes: ((*x.shape, classes), np.dtype("int64")),
    facts=Facts(refuses=True, vmap="as_it_is", layout="plain", onnx="one_hot"),
)


def _are_classes(a: Array, num_classes: int) -> None:
    if a.size and int(a.min()) < 0:
        raise RuntimeError("Class values must be non-negative.")
    if a.size and num_classes != -1 and num_classes <= int(a.max()):
        raise RuntimeError("Class values must be smaller than num_classes.")


@public("functional")
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Turn class numbers into vectors that are 1 at the class and 0 elsewhere.

    Args:
        tensor: whole numbers, any shape.
        num_classes: length of the vectors; the largest class + 1 if -1.

    Returns:
        the tensor's shape with the classes at the end, int64.

    Raises:
        RuntimeError: if a class is negative or too large.

    Example:
        >>> F.one_hot(torch.tensor([0, 2]), 3)
        tensor([[1, 0, 0],
                [0, 0, 1]])
    """
    if tensor._a.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not tensor._a.size and whole(num_classes, "num_classes") <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    check_values(_are_classes, tensor, whole(num_classes, "num_classes"))
    if num_classes < 0:
        num_classes = int(tensor.max().item()) + 1
    return _one_hot(tensor, classes=num_classes)


# -- by positions that a mask makes valid -------------------------------------------------------


def _placed_inside(x: Tensor, indices: Any) -> tuple:
    """An index whose positions lie in `x` also where the mask says that nobody looks."""
    sizes = x._a.shape
    return tuple(slice(None) if i is None else i.clamp(min=-sizes[d], max=sizes[d] - 1) for d, i in enumerate(indices))


@public("torch")
def _unsafe_masked_index(input: Tensor, mask: Tensor, indices: Any, fill: Any) -> Tensor:  # noqa: A002
    """`input[indices]` where the mask is set, `fill` elsewhere, at whatever positions."""
    if not input._a.size:
        return input[tuple(slice(None) if i is None else i for i in indices)]
    return input[_placed_inside(input, indices)].masked_fill(~mask, fill)


@public("torch")
def _unsafe_masked_index_put_accumulate(
    input: Tensor,  # noqa: A002
    mask: Tensor,
    indices: Any,
    values: Tensor,
) -> Tensor:
    """`input` with `values` added at `indices` where the mask is set."""
    if not input._a.size:
        return input.clone()
    given = [None if i.__class__ is slice else i for i in _placed_inside(input, indices)]
    return input.index_put(given, values.masked_fill(~mask, 0), accumulate=True)


masked_scatter.may_overlap = True  # type: ignore[attr-defined]
