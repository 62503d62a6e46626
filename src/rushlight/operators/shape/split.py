"""Splitting a tensor into views of its parts, all by one recorded op."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from inspect import signature
from typing import Any

from ...base.arrays import Array, ArrayModule
from ...base.shapes import as_size, whole, wrap_dim
from ...core import views
from ...core.op import Op, native
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.spelling import FIRST, axis_for_dim, dim_or_axis
from .join import cat, stack
from .windows import narrow_index, select_op, slice_op

mark_view = views.mark_view if native is None else native.mark_view

_ALL = (None, None, None)

# -- unbind -------------------------------------------------------------------------------------


def _unbind_body(xp: ArrayModule, x: Array, *, dim: int) -> tuple:
    lead = (slice(None),) * dim
    return tuple([x[(*lead, i, ...)] for i in range(x.shape[dim])])


_unbind = Op(
    _unbind_body,
    "unbind",
    view=True,
    facts=Facts(vmap="along", onnx="unbind", sparse="slices", aten="unbind ordered dim overload=int"),
)


@_unbind.backward
def _unbind_backward(gs: list, x_shape: tuple, dim: int) -> tuple:
    shape = x_shape[:dim] + x_shape[dim + 1 :]
    return (stack(_with_zeros(gs, [shape] * len(gs)), dim),)


def _with_zeros(gs: list, shapes: list) -> list[Tensor]:
    """The gradients, with zeros for outputs that were not used."""
    some = next(g for g in gs if g is not None)
    return [some.new_zeros(s) if g is None else g for g, s in zip(gs, shapes)]


@public()
def unbind(input: Tensor, dim: int = FIRST, *, axis: Any = None) -> tuple[Tensor, ...]:  # noqa: A002
    """All slices along a dimension, as a tuple of views without it.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]]).unbind()
        (tensor([1, 2]), tensor([3, 4]))
    """
    if not input._a.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    dim = wrap_dim(dim_or_axis("unbind", dim, axis), input._a.ndim)
    if not input._a.shape[dim]:
        return ()
    outs = _unbind(input, dim=dim)
    lead = (_ALL,) * dim
    for i, out in enumerate(outs):
        mark_view(out, input, select_op, {"index": (*lead, i)}, "many")
    return outs


# -- parts of given lengths ---------------------------------------------------------------------


def _split_body(xp: ArrayModule, x: Array, *, ranges: tuple[tuple[int, int], ...], dim: int) -> tuple:
    if not dim:
        return tuple([x[start : start + length] for start, length in ranges])
    lead = (slice(None),) * dim
    return tuple([x[(*lead, slice(start, start + length))] for start, length in ranges])


def _split_op(name: str, grad_name: str, aten: str | None = None) -> Op:
    """The parts of `x` at `ranges` of (start, length), which follow one another without gaps."""
    op = Op(_split_body, name, view=True, grad_name=grad_name, facts=Facts(vmap="along", aten=aten, onnx="split"))

    def backward(gs: list, x_shape: tuple, ranges: tuple, dim: int) -> tuple:
        shapes = [x_shape[:dim] + (n,) + x_shape[dim + 1 :] for _, n in ranges]
        return (cat(_with_zeros(gs, shapes), dim),)

    op.backward(backward)
    return op


_split = _split_op("split", "SplitBackward0", aten="split split")
_split_sizes = _split_op("split_with_sizes", "SplitWithSizesBackward0", aten="split_with_sizes parted")


def _parts(op: Op, x: Tensor, lengths: Sequence[int], dim: int) -> tuple[Tensor, ...]:
    ranges = []
    start = 0
    for n in lengths:
        ranges.append((start, n))
        start += n
    outs = op(x, ranges=tuple(ranges), dim=dim)
    lead = (_ALL,) * dim
    for out, (start, n) in zip(outs, ranges):
        mark_view(out, x, slice_op, {"index": (*lead, (start, start + n, 1))}, "many")
    return outs


def _checked_dim(x: Tensor, dim: int, name: str) -> int:
    if not x._a.ndim:
        raise RuntimeError(f"{name} expects at least a 1-dimensional tensor")
    return wrap_dim(dim, x._a.ndim)


def _by_size(x: Tensor, step: int, dim: int) -> tuple[Tensor, ...]:
    n = x._a.shape[dim]
    if step == 0 or n == 0:
        return _parts(_split, x, [n], dim)
    lengths = [step] * (n // step)
    if n % step:
        lengths.append(n % step)
    return _parts(_split, x, lengths, dim)


def _by_size_checked(x: Tensor, split_size: int, dim: int) -> tuple[Tensor, ...]:
    dim = _checked_dim(x, dim, "split")
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    if split_size == 0 and x._a.shape[dim]:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {x._a.shape[dim]}"
        )
    return _by_size(x, split_size, dim)


@public("Tensor")
def split(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut into parts along a dimension; the parts are views.

    Args:
        split_size: the size of every part (the last may be smaller), or a list with the size of
            each.

    Raises:
        RuntimeError: if a list of sizes does not add up to the whole.

    Example:
        >>> torch.arange(5).split(2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    if hasattr(split_size, "__index__"):
        return _by_size_checked(self, whole(split_size, "split_size"), dim)
    return split_with_sizes(self, split_size, dim)


@public("torch", name="split")
def _split_function(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut into parts along a dimension; the parts are views.

    Args:
        split_size_or_sections: the size of every part (the last may be smaller), or a list with
            the size of each.

    Raises:
        RuntimeError: if a list of sizes does not add up to the whole.

    Example:
        >>> torch.split(torch.arange(5), [1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    return split(tensor, split_size_or_sections, dim)


@public()
def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:  # noqa: A002
    """Cut into parts of the given sizes; the parts are views.

    Args:
        split_sizes: the size of each part; together the whole.

    Raises:
        RuntimeError: if they do not add up to the whole.

    Example:
        >>> torch.arange(5).split_with_sizes([1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    dim = _checked_dim(input, dim, "split")
    lengths = list(as_size((tuple(split_sizes),)))
    if any(n < 0 for n in lengths):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={lengths}"
        )
    size = input._a.shape[dim]
    if sum(lengths) != size:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={lengths}"
        )
    return _parts(_split_sizes, input, lengths, dim) if lengths else ()


@public()
def chunk(input: Tensor, chunks: int, dim: int = FIRST, *, axis: Any = None) -> tuple[Tensor, ...]:  # noqa: A002
    """Cut into a number of parts of equal size; the last may be smaller, and there may be fewer of them.

    Args:
        chunks: how many.

    Example:
        >>> torch.arange(5).chunk(2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
    dim = _checked_dim(input, dim_or_axis("chunk", dim, axis), "chunk")
    if whole(chunks, "chunks") <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = input._a.shape[dim]
    if size == 0:
        return _parts(_split_sizes, input, [0] * chunks, dim)
    return _by_size(input, -(-size // chunks), dim)


def _unsafe(cut: Any) -> None:
    def parts(input: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:  # noqa: A002
        outs = cut(input, *args, **kwargs)
        for out in outs:
            out._ext.base = out._ext.spec = out._ext.made = out._ver = None
        return outs

    name = parts.__name__ = parts.__qualname__ = f"unsafe_{cut.__name__}"
    parts.__doc__ = f"""As `{cut.__name__}`, but for the graph each part is a tensor of its own: writes to it are not seen through the others.

    Args:
        args: those of `{cut.__name__}`.

    Example:
        >>> torch.{name}(torch.arange(4), {"[2, 2]" if cut is split_with_sizes else 2})
        (tensor([0, 1]), tensor([2, 3]))
    """
    parts.__signature__ = signature(cut)  # type: ignore[attr-defined]
    public()(parts)


for _cut in (split, split_with_sizes, chunk):
    _unsafe(_cut)


@public()
@axis_for_dim
def tensor_split(
    input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> tuple[Tensor, ...]:  # noqa: A002
    """Cut into parts at positions, or into a number of nearly equal parts; the parts are views.

    Args:
        indices_or_sections: a list of positions to cut at, or how many parts.
        indices: the positions, by their name.
        sections: the number of parts, by its name.

    Example:
        >>> torch.arange(5).tensor_split(2)
        (tensor([0, 1, 2]), tensor([3, 4]))
        >>> torch.arange(5).tensor_split([1, 3])
        (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    where = next(v for v in (indices_or_sections, indices, sections) if v is not None)
    if not input._a.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap_dim(dim, input._a.ndim)
    size = input._a.shape[dim]
    if isinstance(where, Tensor):
        if where._a.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                f"one-dimensional tensor, but got a tensor with {where._a.ndim} dims"
            )
        where = where.tolist()
    if not isinstance(where, int):
        return _cut_at(input, list(as_size((tuple(where),))), dim)
    if whole(where, "sections") <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {where}")
    short, longer = divmod(size, where)
    lengths = [short + 1] * longer + [short] * (where - longer)
    return _cut_at(input, list(itertools.accumulate(lengths[:-1])), dim)


def _cut_at(x: Tensor, cuts: list[int], dim: int) -> tuple[Tensor, ...]:
    """Slices between the positions; these need not ascend, as in Python's slices."""
    size = x._a.shape[dim]
    edges = [0, *cuts, size]
    outs = []
    for start, stop in itertools.pairwise(edges):
        start, stop, _ = slice(start, stop).indices(size)
        outs.append(slice_op(x, index=narrow_index(dim, start, max(stop - start, 0))))
    return tuple(outs)


def _named_split(name: str, least: int, dim: int, example: str) -> None:
    def method(input: Tensor, indices_or_sections: Any, *more: Any) -> tuple[Tensor, ...]:  # noqa: A002
        ndim = input._a.ndim
        if ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor "
                f"with {ndim} dimensions!"
            )
        at = 0 if name == "hsplit" and ndim == 1 else dim
        where = (indices_or_sections, *more) if more else indices_or_sections
        if isinstance(where, str):
            raise TypeError(
                f"{name}() received an invalid combination of arguments - got (Tensor, str), but expected one of:\n"
                " * (Tensor input, int sections)\n * (Tensor input, tuple of ints indices)"
            )
        if isinstance(where, int) and (where <= 0 or input._a.shape[at] % where):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {at}, but the size of the "
                f"dimension {input._a.shape[at]} is not divisible by the split_size {where}!"
            )
        return tensor_split(input, where, at)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"""Parts along dimension {dim}: as `tensor_split`, but parts by number are equal.

    Args:
        indices_or_sections: how many parts, or the positions to cut at.
        more: further positions, if they are given one by one.

    Raises:
        RuntimeError: if the size is not divisible by the number of parts.

    Example:
        >>> [part.shape for part in torch.{name}({example}, 2)]
        [torch.Size([2, 2, 2]), torch.Size([2, 2, 2])]
    """
    public()(method)


_named_split("hsplit", 1, 1, "torch.zeros(2, 4, 2)")
_named_split("vsplit", 2, 0, "torch.zeros(4, 2, 2)")
_named_split("dsplit", 3, 2, "torch.zeros(2, 2, 4)")
