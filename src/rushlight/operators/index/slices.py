"""Whole slices at a vector of positions along one dim: index_select, index_add, index_copy, index_fill."""

from __future__ import annotations

from typing import Any

from ...base import dtypes
from ...base.dtypes import title
from ...base.fits import storable
from ...base.shapes import wrap_dim
from ...core.op import Op
from ...core.public import check_out, into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts, Rows
from ...runtime.wrapped import WrappedArray
from ..made_of.spelling import axis_for_dim
from .brackets import is_position
from .gather import check_bounds, size_along
from .indexing import index_grad, put

_index_select = Op(
    lambda xp, x, index, *, dim: xp.take(x, index, axis=dim),
    "index_select",
    moves_only=True,
    meta=lambda x, index, *, dim: (x.shape[:dim] + index.shape + x.shape[dim + 1 :], x.dtype),
    facts=Facts(positions=Rows(dim="dim"), vmap="index_select", onnx="index_select", sparse="picked"),
)
_index_select.derivative(x=lambda g, index, x_shape, dim: index_grad(g, index, slots=slots_at(dim), shape=x_shape))


def slots_at(dim: int) -> tuple[int, ...]:
    return (0,) * dim + (1,)


@public()
@axis_for_dim
def index_select(input: Tensor, dim: int, index: Tensor, *, out: Any = None) -> Tensor:  # noqa: A002
    """The slices at some positions of a dimension, as a copy.

    Args:
        index: a vector of integers; positions may repeat.

    Raises:
        IndexError: if a position is out of range.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]]).index_select(1, torch.tensor([1, 0]))
        tensor([[2, 1],
                [4, 3]])
    """
    dim = wrap_dim(dim, input._a.ndim)
    if index._a.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if WrappedArray in (input._a.__class__, index._a.__class__):  # its class says what values are
        return into_same(out, _index_select(input, index, dim=dim))
    if not is_position(index._a.dtype):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    check_out(out, input, index)
    try:
        check_bounds(index, size_along(input, dim), dim, IndexError)
    except IndexError as error:
        raise IndexError(f"index out of range in self: {error}") from None
    if not input._a.ndim:
        if index._a.size != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index._a.size} value(s)")
        return into_same(out, input.clone())
    at = index if index._a.ndim else index.reshape(1)
    return into_same(out, _index_select(input, at, dim=dim))


def _vector(index: Tensor, name: str) -> Tensor:
    if index._a.ndim > 1:
        raise IndexError(f"{name}(): Index should have dimension 1 or 0 (got {index._a.ndim})")
    if not is_position(index._a.dtype):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    return index if index._a.ndim else index.reshape(-1)


def _lifted(x: Tensor) -> Tensor:
    return x if x._a.ndim else x.view(1)


@public("Tensor")
def index_add_(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:  # noqa: A002
    """Add slices to those at some positions; repeated positions add up. Returns the tensor itself.

    Args:
        index: a vector of positions.
        source: the slices, one for each position.
        alpha: a number that multiplies `source` first.

    Example:
        >>> torch.zeros(3).index_add_(0, torch.tensor([0, 0, 2]), torch.ones(3))
        tensor([2., 0., 1.])
    """
    dim = wrap_dim(dim, input._a.ndim)
    at = _vector(index, "index_add_")
    if source._a.dtype != input._a.dtype:
        raise RuntimeError(
            f"index_add_(): self ({title(input.dtype)}) and source ({title(source.dtype)}) must "
            "have the same scalar type"
        )
    _check_added(input, dim, at, source)
    check_bounds(at, size_along(input, dim), dim, IndexError if input._a.ndim < 2 else RuntimeError)
    if alpha != 1:
        source = source * alpha
    put(_lifted(input), slots_at(dim), [at], _lifted(source), True)
    return input


def _check_added(x: Tensor, dim: int, at: Tensor, source: Tensor) -> None:
    if dim >= max(source._a.ndim, 1):
        raise RuntimeError(
            f"index_add_(): Indexing dim {dim} is out of bounds of the source tensor with dim {source._a.ndim}"
        )
    if size_along(source, dim) != at._a.size:
        raise RuntimeError(
            f"index_add_(): Number of indices ({at._a.size}) should be equal to source.size(dim): "
            f"({size_along(source, dim)}), for dim: {dim}"
        )
    if x._a.ndim != source._a.ndim or _slice_shape(x, dim) != _slice_shape(source, dim):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got "
            f"self.shape = {list(x._a.shape)} source.shape = {list(source._a.shape)}"
        )


def _slice_shape(x: Tensor, dim: int) -> list[int]:
    return list(x._a.shape[:dim] + x._a.shape[dim + 1 :])


def _check_copied(x: Tensor, dim: int, at: Tensor, source: Tensor) -> None:
    if source._a.ndim and x._a.ndim and source._a.ndim != x._a.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must "
            f"match. Source dimensionality ({source._a.ndim}), destination dimensionality "
            f"({x._a.ndim})"
        )
    if _slice_shape(x, dim) != _slice_shape(source, dim):
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice "
            f"shape: {_slice_shape(x, dim)} at dimension {dim} and source slice shape: "
            f"{_slice_shape(source, dim)} at dimension 0."
        )
    if size_along(source, dim) != at._a.size:
        raise IndexError(
            f"index_copy_(): Number of indices ({at._a.size}) should be equal to source.size(dim) "
            f"({size_along(source, dim)})"
        )


@public("Tensor")
def index_copy_(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:  # noqa: A002
    """As `index_add_`, but what was there is replaced."""
    dim = wrap_dim(dim, input._a.ndim)
    at = _vector(index, "index_copy_")
    if source._a.dtype != input._a.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{title(input.dtype)} and (source) {title(source.dtype)}"
        )
    _check_copied(input, dim, at, source)
    try:
        check_bounds(at, size_along(input, dim), dim, IndexError)
    except IndexError as error:
        raise IndexError(f"index_copy_(): {error}") from None
    put(_lifted(input), slots_at(dim), [at], _lifted(source), False)
    return input


@public("Tensor")
def index_fill_(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:  # noqa: A002
    """Write one value into the slices at some positions; returns the tensor itself.

    Args:
        index: a vector of positions.
        value: a number, or a tensor without dimensions.

    Example:
        >>> torch.zeros(3).index_fill_(0, torch.tensor([0, 2]), 7)
        tensor([7., 0., 7.])
    """
    dim = wrap_dim(dim, input._a.ndim)
    if index._a.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if isinstance(value, Tensor):
        if value._a.ndim:
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value._a.ndim} dimension(s)."
            )
        # By a mask: a position that is named twice is filled once, and has one part of the gradient.
        at, size = _vector(index, "index_fill_"), size_along(input, dim)
        filled = Tensor.new_zeros(input, (size,), dtype=dtypes.bool_).index_fill_(0, at, True)
        shape = [size if d == dim else 1 for d in range(input._a.ndim)]
        return input.masked_fill_(filled.reshape(shape), value.to(input.device, input.dtype))
    if isinstance(value, complex) and input._a.dtype.kind != "c":
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    value = storable(value, input._a.dtype)
    put(_lifted(input), slots_at(dim), [_vector(index, "index_fill_")], value, False)
    return input


def _out_of_place(name: str, inplace: Any) -> None:
    def copy(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Tensor:  # noqa: A002
        return into_same(out, inplace(input.clone(), *args, **kwargs))

    copy.__name__ = copy.__qualname__ = name
    copy.__doc__ = f"As `{name}_`, but in a copy: `input` stays as it is."
    public()(copy)


for _name, _fn in (("index_add", index_add_), ("index_copy", index_copy_), ("index_fill", index_fill_)):
    _out_of_place(_name, _fn)
