"""What functions answer when an argument is a NestedTensor: most ask the values, some each part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.shapes import wrap_dim
from ...core.op import is_pointwise
from ...core.tensor import Tensor
from .gradients import grad_of_standing
from .jagged_shape import SHAPES
from .names import OF_VALUES, plain_name
from .nested_tensor import NestedTensor, jagged_from_list
from .standing import of_values

REDUCTIONS = frozenset(
    "all amax amin any argmax argmin count_nonzero logsumexp max mean min nanmean nansum prod sum".split()
)


def reduced(func: Any, name: str, input: NestedTensor, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
    """Over all numbers, over dims inside the parts, or over the parts' length."""
    if isinstance(dim, Tensor):
        raise NotImplementedError(f"aten.{name}.other: of two nested tensors; use torch.maximum, torch.minimum")
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


def softmax(func: Any, name: str, input: NestedTensor, dim: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Inside the parts, or along their length."""
    if dim is None:
        raise RuntimeError(f"{name}(): dim must be given for nested tensors")
    at = wrap_dim(dim, input.dim())
    if at == 0:
        raise RuntimeError(f"{name}(): not supported when reducing across the batch dimension for NestedTensor")
    if at != input._ragged_idx:
        return input._like(func(input._values, at - 1, *args, **kwargs))
    if name == "log_softmax":
        raise RuntimeError(f"{name}(): not supported when reducing along the ragged dimension for NestedTensor")
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


def answer(func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The one way in: `func` was called with these arguments, one of which is nested."""
    name = plain_name(func)
    if is_pointwise(name):
        return pointwise(func, name, args, kwargs)
    if name in OF_VALUES:
        return of_values(NestedTensor, func, args, kwargs)
    if name in REDUCTIONS:
        return reduced(func, name, *args, **kwargs)
    if name in ("softmax", "log_softmax"):
        return softmax(func, name, *args, **kwargs)
    if name in _LAST_DIM:
        return last_dim(func, name, *args, **kwargs)
    handler = SHAPES.get(name) or _OTHERS.get(name)
    if handler is None:
        what = getattr(getattr(func, "__self__", None), "fget", None)
        raise NotImplementedError(
            f"aten.{name if what is None else what.__name__}.default: nested tensors of layout jagged do not "
            "have it. nt.unbind() gives the parts, nt.to_padded_tensor(0.0) pads them."
        )
    return handler(*args, **kwargs)


# -- number by number ------------------------------------------------------------------------------


def pointwise(func: Any, name: str, args: tuple, kwargs: dict) -> Any:
    """Nested tensors of one shape, dense ones that broadcast to it, and numbers."""
    values = (*args, *kwargs.values())
    nested = [v for v in values if isinstance(v, NestedTensor)]
    first = max(nested, key=lambda t: t.dim())
    for other in nested:
        if not _same_lengths(first, other):
            raise RuntimeError(
                f"cannot call binary pointwise function {name}.Tensor with inputs of shapes "
                f"{tuple(nested[0].shape)} and {tuple(other.shape)}"
            )

    def plain(value: Any) -> Any:
        if isinstance(value, NestedTensor):
            return value._values
        return spread(value, first) if isinstance(value, Tensor) else value

    out = func(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
    if name.endswith("_"):
        return args[0]
    return first._like(out)


def _same_lengths(a: NestedTensor, b: NestedTensor) -> bool:
    return a._ragged == b._ragged and a.dim() - a._ragged_idx == b.dim() - b._ragged_idx


def spread(dense: Tensor, like: NestedTensor) -> Tensor:
    """A dense tensor of the shape (batch, ..., 1 or the longest, ...) as it stands beside the values."""
    at = like._ragged_idx
    missing = like.dim() - dense.dim()
    if missing > 0:
        if missing <= at and dense.shape[at - missing] != 1:
            raise _no_broadcast(dense, like)
        return dense
    if missing < 0:
        raise _no_broadcast(dense, like)
    if dense.shape[0] == 1:
        dense = dense.expand(len(like), *dense.shape[1:])
    if dense.shape[0] != len(like) or dense.shape[at] not in (1, like._max_seqlen):
        raise _no_broadcast(dense, like)
    counts = [n for _, n in like._spans]
    if dense.shape[at] == 1:
        rows = [row.expand(*row.shape[: at - 1], n, *row.shape[at:]) for row, n in zip(dense, counts)]
    else:
        rows = [row.narrow(at - 1, 0, n) for row, n in zip(dense, counts)]
    from ...operators.shape.join import cat

    return cat(rows, at - 1)


def _no_broadcast(dense: Tensor, like: NestedTensor) -> RuntimeError:
    return RuntimeError(
        f"cannot call binary pointwise function with inputs of shapes {tuple(like.shape)} and {tuple(dense.shape)}"
    )


# -- layers ----------------------------------------------------------------------------------------

_LAST_DIM = {"linear": 1, "layer_norm": None, "rms_norm": None}


def last_dim(func: Any, name: str, input: Any, *args: Any, **kwargs: Any) -> Any:
    """Layers that work along the last dims."""
    if not isinstance(input, NestedTensor):
        raise RuntimeError(f"{name}(): the weight is nested; only the input can be")
    used = _LAST_DIM[name]
    if used is None:
        used = len(args[0] if args else kwargs["normalized_shape"])
    if input._ragged_idx >= input.dim() - used:
        what = "normalizing over" if name != "linear" else "applied to"
        raise RuntimeError(f"{name}(): {what} ragged dim not supported for nested tensors")
    return input._like(func(input._values, *args, **kwargs))


def _embedding(input: NestedTensor, weight: Tensor, *args: Any, **kwargs: Any) -> NestedTensor:
    from ...operators.layers.embedding import embedding

    return input._like(embedding(input._values, weight, *args, **kwargs))


def _matmul(input: Any, other: Any) -> Any:
    if isinstance(input, NestedTensor) and isinstance(other, Tensor) and other.dim() == 2:
        if not isinstance(other, NestedTensor) and input._ragged_idx < input.dim() - 1:
            return input._like(input._values @ other)
    pairs = list(zip(_split(input), _split(other)))
    products = [a @ b for a, b in pairs]
    if len({p.shape for p in products}) == 1 and not _is_ragged(input, other):
        from ...operators.shape.join import stack

        return stack(products)
    if _is_ragged(input, other) > 1:
        shapes = f"{tuple(input.shape)} and {other.shape}"
        raise RuntimeError(f"matmul(): not supported between inputs of shapes {shapes}")
    whole = input if isinstance(input, NestedTensor) else other
    return jagged_from_list(products, whole._offsets if whole._lengths is None else None)


def _split(t: Tensor) -> tuple[Tensor, ...]:
    return t._parts() if isinstance(t, NestedTensor) else t.unbind(0)


def _is_ragged(a: Tensor, b: Tensor) -> int:
    """How many dims of a product's result are ragged."""
    left = isinstance(a, NestedTensor) and a._ragged_idx != a.dim() - 1
    right = isinstance(b, NestedTensor) and b._ragged_idx != b.dim() - 2
    return left + right


def _attention(
    query: NestedTensor, key: NestedTensor, value: NestedTensor, attn_mask: Any = None, *args: Any, **kwargs: Any
) -> NestedTensor:
    from ...operators.layers.attention.attention import scaled_dot_product_attention
    from ...operators.shape.join import cat

    if attn_mask is not None:
        raise RuntimeError("Masks are not yet supported!")
    parts = zip(_split(query), _split(key), _split(value))
    outs = [scaled_dot_product_attention(q, k, v, None, *args, **kwargs) for q, k, v in parts]
    if query._lengths is not None:
        return jagged_from_list(outs)
    return query._like(cat(outs, query._ragged_idx - 1))


def _copy_(self: NestedTensor, src: Any, non_blocking: bool = False) -> NestedTensor:
    given = src._values if isinstance(src, NestedTensor) else spread(src, self)
    self._values.copy_(given)
    return self


def _is_same_size(input: Any, other: Any) -> bool:
    return tuple(input.shape) == tuple(other.shape)


def to_padded(input: NestedTensor, padding: float, output_size: Any = None) -> Tensor:
    """The parts in one dense tensor, with `padding` behind them."""
    from ...operators.image.padding import pad
    from ...operators.shape.join import stack

    if input._lengths is not None:
        raise RuntimeError("to_padded_tensor(): not supported for nested tensors with holes")
    at = input._ragged_idx - 1
    length = input._max_seqlen if output_size is None else output_size[input._ragged_idx]
    behind = input._values.dim() - 1 - at
    rows = []
    for part in input._parts():
        kept = part.narrow(at, 0, min(part.shape[at], length))
        rows.append(pad(kept, [0, 0] * behind + [0, length - kept.shape[at]], value=padding))
    return stack(rows)


_OTHERS: dict[str, Callable[..., Any]] = {
    "embedding": _embedding, "matmul": _matmul, "bmm": _matmul, "rmatmul": lambda a, b: _matmul(b, a),
    "scaled_dot_product_attention": _attention, "copy_": _copy_, "grad": grad_of_standing,
    "is_same_size": _is_same_size, "to_padded_tensor": to_padded,
}  # fmt: skip


def _torch_function(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    return answer(func, args, kwargs or {})


NestedTensor.__torch_function__ = classmethod(_torch_function)  # type: ignore[attr-defined]
NestedTensor.to_padded_tensor = to_padded  # type: ignore[attr-defined]
