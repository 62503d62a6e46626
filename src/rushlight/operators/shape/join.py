"""Joining tensors along a dim: cat, stack and their named forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base import dtypes
from ...base.shapes import wrap_dim
from ...core.op import Op
from ...core.public import check_out, into, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.spelling import FIRST, dim_or_axis
from ..memory.casting import cast_to
from .windows import narrow_index, select_op, slice_op


def _cat_meta(*xs: Any, dim: int) -> tuple:
    first = xs[0]
    total = sum(x.shape[dim] for x in xs)
    return first.shape[:dim] + (total,) + first.shape[dim + 1 :], first.dtype


cat_op = Op(
    lambda xp, *xs, dim: xp.concatenate(xs, axis=dim),
    "cat",
    moves_only=True,
    meta=_cat_meta,
    facts=Facts(vmap="cat", layout="images", autocast="widest", onnx="cat", aten="cat listed", sparse="joined"),
)


@cat_op.backward
def _cat_backward(g: Tensor, xs_shape: list, needs: list[bool], dim: int) -> tuple:
    grads = []
    start = 0
    for shape, wanted in zip(xs_shape, needs):
        length = shape[dim]
        index = narrow_index(dim, start, length)
        grads.append(slice_op(g, index=index) if wanted else None)
        start += length
    return tuple(grads)


def tensor_list(tensors: Any, name: str) -> list[Tensor]:
    """The sequence argument of a joining function, checked."""
    if isinstance(tensors, Tensor) or not isinstance(tensors, Sequence):
        if not isinstance(tensors, Tensor) and hasattr(tensors, "__iter__"):
            tensors = list(tensors)
        else:
            raise TypeError(
                f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
            )
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    return list(tensors)


def same_dtype(tensors: list[Tensor]) -> list[Tensor]:
    """All in the dtype they promote to."""
    first = tensors[0]._a.dtype
    if all(t._a.dtype == first for t in tensors):
        return tensors
    from ..made_of.promotion import result_dtype

    d: dtypes.dtype = result_dtype(*tensors)
    return [cast_to(t, d) for t in tensors]


def _joined(out: Any, result: Tensor, read: list[Tensor]) -> Tensor:
    if out is not None and not dtypes.can_cast(result.dtype, out.dtype):
        raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {dtypes.title(out.dtype)}")
    check_out(out, *read)
    return into(out, result)


@public("torch", aliases=("concat", "concatenate"))
def cat(tensors: Any, dim: int = FIRST, *, out: Any = None, axis: Any = None) -> Tensor:
    """Tensors put one after the other along a dimension they have.

    Args:
        tensors: a list of tensors whose other dimensions are equal.

    Raises:
        RuntimeError: if the shapes do not fit, or the list is empty.

    Example:
        >>> x = torch.tensor([[1, 2]])
        >>> torch.cat([x, x]), torch.cat([x, x], dim=1)
        (tensor([[1, 2],
                [1, 2]]), tensor([[1, 2, 1, 2]]))
    """
    dim = dim_or_axis("cat", dim, axis)
    xs = tensor_list(tensors, "cat")
    if not xs:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    at = _place_of_all(xs, dim)
    if at is not None:
        return _joined(out, cat_op(*xs, dim=at), xs)  # the commonest case needs no further checks
    for i, x in enumerate(xs):
        if x._a.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    xs = same_dtype(xs)
    # PyTorch lets an empty 1-d tensor stand for "nothing yet", whatever the others' rank.
    kept = [x for x in xs if x._a.shape != (0,)] or xs[:1]
    shape = kept[0]._a.shape
    dim = wrap_dim(dim, len(shape))
    for i, x in enumerate(kept):
        _check_joinable(shape, x._a.shape, dim, i)
    if len(kept) < len(xs) and any(x.requires_grad for x in xs):
        none = (*shape[:dim], 0, *shape[dim + 1 :])  # so that their gradients are empty, too
        kept = [x.reshape(none) if x._a.shape == (0,) else x for x in xs]
    return _joined(out, cat_op(*kept, dim=dim), kept)


def _place_of_all(xs: list[Tensor], dim: Any) -> int | None:
    """`dim` counted from the first one, where all have one dtype and fit along it; None where it has to be looked at."""
    first = xs[0]._a
    shape, kind = first.shape, first.dtype
    rank = len(shape)
    if dim.__class__ is not int or not -rank <= dim < rank:
        return None
    at = dim + rank if dim < 0 else dim
    lead, rest = shape[:at], shape[at + 1 :]
    for x in xs:
        a = x._a
        found = a.shape
        if found != shape and (len(found) != rank or found[:at] != lead or found[at + 1 :] != rest):
            return None
        if a.dtype != kind:
            return None
    return at


def _check_joinable(first: tuple, shape: tuple, dim: int, i: int) -> None:
    if len(shape) != len(first):
        raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {len(shape)}")
    for d, (want, have) in enumerate(zip(first, shape)):
        if d != dim and want != have:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected size {want} but "
                f"got size {have} for tensor number {i} in the list."
            )


def _stack_meta(*xs: Any, dim: int) -> tuple:
    shape = xs[0].shape
    return shape[:dim] + (len(xs),) + shape[dim:], xs[0].dtype


_stack = Op(
    lambda xp, *xs, dim: xp.stack(xs, axis=dim),
    "stack",
    moves_only=True,
    meta=_stack_meta,
    facts=Facts(vmap="stack", layout="plain", autocast="widest", onnx="stack", aten="stack listed", sparse="stacked"),
)


@_stack.backward
def _stack_backward(g: Tensor, needs: list[bool], dim: int) -> tuple:
    lead = ((None, None, None),) * dim
    return tuple(select_op(g, index=(*lead, i)) if n else None for i, n in enumerate(needs))


@public("torch")
def stack(tensors: Any, dim: int = FIRST, *, out: Any = None, axis: Any = None) -> Tensor:
    """Tensors of one shape put one after the other along a new dimension.

    Args:
        tensors: a list of tensors of equal shape.
        dim: the place of the new dimension.

    Raises:
        RuntimeError: if the shapes differ, or the list is empty.

    Example:
        >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])
    """
    dim = dim_or_axis("stack", dim, axis)
    xs = tensor_list(tensors, "stack")
    if not xs:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape = xs[0]._a.shape
    for i, x in enumerate(xs):
        if x._a.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(x._a.shape)} at entry {i}"
            )
    return _joined(out, _stack(*same_dtype(xs), dim=wrap_dim(dim, len(shape) + 1)), xs)


# -- named forms --------------------------------------------------------------------------------


def _lifted(x: Tensor, ndim: int) -> Tensor:
    """`x` as numpy.atleast_*d shows it."""
    shape = x._a.shape
    if len(shape) >= ndim:
        return x
    if ndim == 3:
        shape = {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}[len(shape)]
    else:
        shape = (1,) * (ndim - len(shape)) + shape
    return x.reshape(shape)


def _atleast(ndim: int) -> None:
    def at_least(*tensors: Tensor) -> Any:
        if len(tensors) == 1:
            only = tensors[0]
            if isinstance(only, Tensor):
                return _lifted(only, ndim)
            tensors = tuple(only)
        return tuple(_lifted(x, ndim) for x in tensors)

    at_least.__name__ = at_least.__qualname__ = f"atleast_{ndim}d"
    shape = (1,) * ndim
    at_least.__doc__ = f"""Dimensions of size 1 added until there are {ndim}; larger tensors stay as they are.

    Args:
        tensors: one tensor, or several (or a list of them), for which a tuple is returned.

    Example:
        >>> torch.atleast_{ndim}d(torch.tensor(5)).shape
        torch.Size({list(shape)})
    """
    public("torch")(at_least)


for _ndim in (1, 2, 3):
    _atleast(_ndim)


def _stacks(name: str, ndim: int, dim: int, what: str, example: str, **published: Any) -> None:
    """`hstack`, `vstack` or `dstack`: tensors of at least `ndim` dimensions along `dim`, vectors along their own."""

    def stack(tensors: Any, *, out: Any = None) -> Tensor:
        xs = [_lifted(x, ndim) for x in tensor_list(tensors, name)]
        if not xs:
            raise RuntimeError(f"{name} expects a non-empty TensorList")
        return cat(xs, 0 if xs[0]._a.ndim == 1 else dim, out=out)

    stack.__name__ = stack.__qualname__ = name
    stack.__doc__ = f"""{what}

    Args:
        tensors: a list of tensors.

    Example:
        >>> torch.{example}
    """
    public("torch", **published)(stack)


_stacks(
    "hstack", 1, 1, "Tensors side by side: along dimension 1, or along dimension 0 for vectors.",
    "hstack([torch.tensor([1, 2]), torch.tensor([3])])\n        tensor([1, 2, 3])",
)  # fmt: skip
_stacks(
    "vstack", 2, 0, "Tensors one above the other: along dimension 0, with vectors as rows.",
    """vstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[1, 2],
                [3, 4]])""", aliases=("row_stack",),
)  # fmt: skip
_stacks(
    "dstack", 3, 2, "Tensors one behind the other: along dimension 2, which is added where it is missing.",
    """dstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[[1, 3],
                 [2, 4]]])""",
)  # fmt: skip


@public("torch")
def column_stack(tensors: Any, *, out: Any = None) -> Tensor:
    """Tensors side by side, with vectors as columns.

    Args:
        tensors: a list of tensors.

    Example:
        >>> torch.column_stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
        tensor([[1, 3],
                [2, 4]])
    """
    xs = tensor_list(tensors, "column_stack")
    if not xs:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    return cat([x.reshape(x._a.size, 1) if x._a.ndim < 2 else x for x in xs], 1, out=out)


@public("torch")
def _chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int, *, out: Tensor | None = None) -> Tensor:
    """Cut each tensor into equal parts, the last filled up with zeros, and lay the parts of one number side by side."""
    _check_chunks(tensors, dim, num_chunks)
    rows = []
    dim %= tensors[0]._a.ndim if dim < 0 else dim + 1
    for t in tensors:
        shape = t._a.shape
        missing = -shape[dim] % num_chunks
        if missing:
            t = cat([t, t.new_zeros((*shape[:dim], missing, *shape[dim + 1 :]))], dim)
        rows.append(t.reshape(*shape[:dim], num_chunks, -1))
    return cat(rows, -1, out=out)


def _check_chunks(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> None:
    def need(fine: bool, words: str) -> None:
        if not fine:
            raise RuntimeError("_chunk_cat expects " + words)

    if dim < 0:
        words = "non-negative dim when input tensors have different ndims"
        need(len({t._a.ndim for t in tensors}) < 2, words)
    need(num_chunks >= 1, "positive num_chunks")
    need(len(tensors) > 0, "a non-empty input tensor list")
    first = tensors[0]
    for t in tensors:
        need(t._a.size > 0, "non-empty tensor")
        need(t.dtype is first.dtype, "all input tensors with the same dtype")
        need(-t._a.ndim <= dim < t._a.ndim, "dim < ndim for all input tensors")
        lead = dim % t._a.ndim
        same = t._a.shape[:lead] == first._a.shape[:lead]
        need(same, "same sizes of 0,...,dim-1 dimensions for all tensors")
