"""Sums, extremes and softmax of nested tensors with the jagged layout."""

from __future__ import annotations

from typing import Any

from ...base.shapes import wrap_dim
from ...core.tensor import Tensor
from .nested_tensor import NestedTensor

REDUCTIONS = frozenset(
    "all amax amin any argmax argmin count_nonzero logsumexp max mean min nanmean nansum prod sum".split()
)


def reduced(
    func: Any, name: str, input: NestedTensor, dim: Any = None, keepdim: bool = False, **kwargs: Any
) -> Any:
    """Over all numbers, over dims inside the parts, or over the parts' length."""
    if isinstance(dim, Tensor):
        raise NotImplementedError(
            f"aten.{name}.other: of two nested tensors; use torch.maximum, torch.minimum"
        )
    if input._lengths is not None and (dim is None or input._ragged_idx in _dims(dim, input)):
        raise RuntimeError(f"{name}(): not supported for nested tensors with holes")
    if dim is None:
        return func(input._values, **kwargs)
    dims = _dims(dim, input)
    ragged = input._ragged_idx in dims
    if 0 in dims and not ragged:
        raise RuntimeError(
            f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for "
            "nested tensors"
        )
    inner = [d - 1 for d in dims if d]
    given = inner if isinstance(dim, (list, tuple)) else inner[0]
    if not ragged:
        out = func(input._values, given, keepdim, **kwargs)
        moved = 0 if keepdim else sum(d < input._ragged_idx for d in dims)
        return _each(out, lambda t: input._like(t, input._ragged_idx - moved))
    if 0 in dims:
        out = func(input._values, given, keepdim, **kwargs)
        return _each(out, lambda t: t.unsqueeze(0)) if keepdim else out
    return _stacked([func(part, given, keepdim, **kwargs) for part in input._parts()])


def softmax(
    func: Any, name: str, input: NestedTensor, dim: Any = None, *args: Any, **kwargs: Any
) -> Any:
    """Inside the parts, or along their length."""
    if dim is None:
        raise RuntimeError(f"{name}(): dim must be given for nested tensors")
    at = wrap_dim(dim, input.dim())
    if at == 0:
        raise RuntimeError(
            f"{name}(): not supported when reducing across the batch dimension for NestedTensor"
        )
    if at != input._ragged_idx:
        return input._like(func(input._values, at - 1, *args, **kwargs))
    if name == "log_softmax":
        raise RuntimeError(
            f"{name}(): not supported when reducing along the ragged dimension for NestedTensor"
        )
    if input._lengths is not None:
        raise RuntimeError(f"{name}(): not supported for nested tensors with holes")
    from ...operators.shape.join import cat

    outs = [func(part, at - 1, *args, **kwargs) for part in input._parts()]
    return input._like(cat(outs, at - 1))


def _dims(dim: Any, input: NestedTensor) -> list[int]:
    given = dim if isinstance(dim, (list, tuple)) else [dim]
    return [wrap_dim(d, input.dim()) for d in given]


def _each(out: Any, change: Any) -> Any:
    """A tensor, or the two of `max(dim)`."""
    return change(out) if isinstance(out, Tensor) else type(out)(*[change(t) for t in out])


def _stacked(outs: list[Any]) -> Any:
    from ...operators.shape.join import stack

    if isinstance(outs[0], Tensor):
        return stack(outs)
    return type(outs[0])(*[stack(list(same)) for same in zip(*outs)])
