"""Shapes of nested tensors with the jagged layout: what moves dims, splits, joins and picks parts."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ...base.shapes import wrap_dim
from ...core.tensor import Tensor
from .nested_int import RaggedSize
from .nested_tensor import NestedTensor, jagged_from_list


def _inside(x: NestedTensor, dim: int, name: str) -> int:
    """A dim that is neither that of the parts nor the ragged one."""
    at = wrap_dim(dim, x.dim())
    if at == 0:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    if at == x._ragged_idx:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    return at


def _transpose(input: NestedTensor, dim0: int, dim1: int) -> NestedTensor:
    a, b = wrap_dim(dim0, input.dim()), wrap_dim(dim1, input.dim())
    if a == b:
        return input
    if 0 in (a, b):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    at = {a: b, b: a}.get(input._ragged_idx, input._ragged_idx)
    return input._like(input._values.transpose(a - 1, b - 1), at)


def _permute(input: NestedTensor, *dims: Any) -> NestedTensor:
    given = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    order = [wrap_dim(d, input.dim()) for d in given]
    if order[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    values = input._values.permute([d - 1 for d in order[1:]])
    return input._like(values, order.index(input._ragged_idx))


def _unsqueeze(input: NestedTensor, dim: int) -> NestedTensor:
    at = wrap_dim(dim, input.dim() + 1)
    if at == 0:
        raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0")
    return input._like(input._values.unsqueeze(at - 1), input._ragged_idx + (at <= input._ragged_idx))


def _squeeze(input: NestedTensor, dim: Any = None) -> NestedTensor:
    if dim is None:
        raise RuntimeError("squeeze(): a dim must be given for NestedTensor")
    for at in sorted({_inside(input, d, "squeeze") for d in ([dim] if isinstance(dim, int) else dim)})[::-1]:
        if input._values.shape[at - 1] == 1:
            input = input._like(input._values.squeeze(at - 1), input._ragged_idx - (at < input._ragged_idx))
    return input


def _unflatten(input: NestedTensor, dim: int, sizes: Any) -> NestedTensor:
    at = _inside(input, dim, "unflatten")
    moved = (len(sizes) - 1) * (at < input._ragged_idx)
    return input._like(input._values.unflatten(at - 1, sizes), input._ragged_idx + moved)


def _flatten(input: NestedTensor, start_dim: int = 0, end_dim: int = -1) -> NestedTensor:
    first, last = wrap_dim(start_dim, input.dim()), wrap_dim(end_dim, input.dim())
    if first == last:
        return input
    if first <= input._ragged_idx <= last:
        raise RuntimeError("flatten(): not supported for NestedTensor on ragged dim")
    if first == 0:
        raise RuntimeError("flatten(): not supported for NestedTensor on dim=0")
    moved = (last - first) * (last < input._ragged_idx)
    return input._like(input._values.flatten(first - 1, last - 1), input._ragged_idx - moved)


def _reshaped(how: str) -> Callable[..., NestedTensor]:
    def reshape(input: NestedTensor, *shape: Any) -> NestedTensor:
        sizes = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], (int, RaggedSize)) else shape)
        at, values = input._ragged_idx, input._values
        places = [i for i, n in enumerate(sizes) if isinstance(n, RaggedSize)]
        new_at = places[0] if places else at
        fits = new_at < len(sizes) and (bool(places) or sizes[new_at] == -1)
        if not fits or sizes[0] not in (-1, len(input)):
            raise _cannot(how, input, sizes)
        inner = sizes[1:]
        inner[new_at - 1] = values.shape[at - 1]
        before, now = prod(values.shape[: at - 1]), prod(inner[: new_at - 1])
        if now >= 0 and before != now:
            raise _cannot(how, input, sizes)
        return input._like(getattr(values, how)(inner), new_at)

    return reshape


def _cannot(how: str, input: NestedTensor, sizes: list[Any]) -> RuntimeError:
    return RuntimeError(f"{how}(): cannot view shape {tuple(input.shape)} as {sizes}")


def _expand(input: NestedTensor, *shape: Any) -> NestedTensor:
    sizes = list(shape[0] if len(shape) == 1 and not isinstance(shape[0], (int, RaggedSize)) else shape)
    at = input._ragged_idx
    if len(sizes) != input.dim() or sizes[0] not in (-1, len(input)):
        raise RuntimeError(f"expand(): cannot expand shape {tuple(input.shape)} -> {sizes}")
    if sizes[at] not in (-1, input._ragged):
        raise RuntimeError(f"expand(): cannot expand shape {tuple(input.shape)} -> {sizes}")
    sizes[at] = -1
    return input._like(input._values.expand(sizes[1:]))


# -- parts -----------------------------------------------------------------------------------------


def _unbind(input: NestedTensor, dim: int = 0) -> tuple[Tensor, ...]:
    if wrap_dim(dim, input.dim()) != 0:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    return input._parts()


def _select(input: NestedTensor, dim: int, index: int) -> Any:
    if wrap_dim(dim, input.dim()) == 0:
        return input._parts()[index]
    at = _inside(input, dim, "select")
    return input._like(input._values.select(at - 1, index), input._ragged_idx - (at < input._ragged_idx))


def _split(input: NestedTensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    at = _inside(input, dim, "split")
    return tuple([input._like(v) for v in input._values.split(split_size_or_sections, at - 1)])


def _chunk(input: NestedTensor, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    if wrap_dim(dim, input.dim()) == 0:
        parts = input._parts()
        size = -(-len(parts) // chunks)
        return tuple([jagged_from_list(parts[i : i + size]) for i in range(0, len(parts), size)])
    at = _inside(input, dim, "chunk")
    return tuple([input._like(v) for v in input._values.chunk(chunks, at - 1)])


def _cat(tensors: Any, dim: int = 0) -> NestedTensor:
    from ...operators.shape.join import cat

    first = next(t for t in tensors if isinstance(t, NestedTensor))
    at = _inside(first, dim, "cat")
    for t in tensors:
        if not isinstance(t, NestedTensor) or t._ragged != first._ragged:
            raise RuntimeError("cat(): the nested tensors must all have the same lengths")
    return first._like(cat([t._values for t in tensors], at - 1))


def _stack(tensors: Any, dim: int = 0) -> NestedTensor:
    first = next(t for t in tensors if isinstance(t, NestedTensor))
    at = wrap_dim(dim, first.dim() + 1)
    if at == 0:
        raise RuntimeError("stack(): not supported for NestedTensor on dim=0")
    return _cat([_unsqueeze(t, at) for t in tensors], at)


def _getitem(input: NestedTensor, index: Any) -> Any:
    """A part by its number, or dims inside the parts behind whole slices."""
    places = list(index) if isinstance(index, tuple) else [index]
    if Ellipsis in [p for p in places if not isinstance(p, Tensor)]:
        i = next(i for i, p in enumerate(places) if p is Ellipsis)
        places[i : i + 1] = [slice(None)] * (input.dim() - len(places) + 1)
    if isinstance(places[0], int):
        part = input._parts()[places[0]]
        return part[tuple(places[1:])] if len(places) > 1 else part
    for d in (0, input._ragged_idx):
        if d < len(places) and places[d] != slice(None):
            where = "dim=0" if d == 0 else "ragged dim"
            raise RuntimeError(f"slice(): not supported for NestedTensor on {where}")
    gone = sum(isinstance(p, int) for p in places[: input._ragged_idx])
    return input._like(input._values[tuple(places[1:])], input._ragged_idx - gone)


def _contiguous(input: NestedTensor, memory_format: Any = None) -> NestedTensor:
    if input._lengths is not None:
        return jagged_from_list(input._parts())
    return input if input._values.is_contiguous() else input._like(input._values.contiguous())


SHAPES: dict[str, Callable[..., Any]] = {
    "transpose": _transpose, "swapaxes": _transpose, "swapdims": _transpose, "permute": _permute, "unsqueeze": _unsqueeze,
    "squeeze": _squeeze, "unflatten": _unflatten, "flatten": _flatten, "reshape": _reshaped("reshape"),
    "view": _reshaped("view"), "expand": _expand, "unbind": _unbind, "select": _select, "split": _split, "chunk": _chunk,
    "cat": _cat, "concat": _cat, "concatenate": _cat, "stack": _stack, "getitem": _getitem, "contiguous": _contiguous,
}  # fmt: skip
