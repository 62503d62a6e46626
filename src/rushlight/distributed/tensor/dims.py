"""Functions that leave the dims alone along which a DTensor is cut: each rank computes them on its part."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...base.shapes import wrap_dim
from ...core.overriding import DisableTorchFunctionSubclass
from .dtensor import DTensor, local_of, spread
from .placement_types import Partial, Placement, Shard

__all__ = ["DIMS"]


def _on_part(func: Any, input: Any, args: tuple, kwargs: dict, where: Callable[[int], int | None]) -> Any:
    """`func` of the part; `where` says at which dim of the result a dim of the input is, None: it was used up."""
    if not isinstance(input, DTensor):
        return NotImplemented
    kinds, lengths = list[Placement](), dict[int, int]()
    for kind in input.placements:
        if kind.is_partial():
            return NotImplemented
        if isinstance(kind, Shard):
            at = where(kind.dim)
            if at is None:
                return NotImplemented
            lengths[at] = input.full_shape[kind.dim]
            kind = kind if at == kind.dim else _moved(kind, at)
        kinds.append(kind)
    with DisableTorchFunctionSubclass():
        part = func(local_of(input), *args, **kwargs)
    shape = tuple([lengths.get(i, n) for i, n in enumerate(part.shape)])
    return spread(DTensor, part, input.device_mesh, tuple(kinds), shape)


def _moved(kind: Shard, dim: int) -> Shard:
    """The same cut of another dim."""
    factor = getattr(kind, "split_factor", None)
    return Shard(dim) if factor is None else type(kind)(dim, factor)  # type: ignore[call-arg]


def _transpose(func: Any, input: Any, dim0: Any, dim1: Any) -> Any:
    if isinstance(dim0, str):
        return NotImplemented
    a, b = wrap_dim(dim0, input.dim()), wrap_dim(dim1, input.dim())
    return _on_part(func, input, (dim0, dim1), {}, lambda d: b if d == a else a if d == b else d)


def _t(func: Any, input: Any) -> Any:
    return _on_part(func, input, (), {}, lambda d: 1 - d) if input.dim() == 2 else NotImplemented


def _permute(func: Any, input: Any, *dims: Any) -> Any:
    order = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    if len(order) != input.dim():
        return NotImplemented
    new = [wrap_dim(d, input.dim()) for d in order]
    return _on_part(func, input, dims, {}, new.index)


def _unsqueeze(func: Any, input: Any, dim: int) -> Any:
    new = wrap_dim(dim, input.dim() + 1)
    return _on_part(func, input, (dim,), {}, lambda d: d + (d >= new))


def _named(dim: Any, ndim: int) -> list[int] | None:
    """The dims that an argument names; None where it names none."""
    found = dim if isinstance(dim, (tuple, list)) else [dim]
    if not found or not all(type(d) is int for d in found):
        return None
    return [wrap_dim(d, ndim) for d in found]


def _reduced(func: Any, input: Any, dim: Any = None, keepdim: bool = False, **more: Any) -> Any:
    used = _named(dim, input.dim())
    if used is None or type(keepdim) is not bool:
        return NotImplemented

    def where(d: int) -> int | None:
        if d in used:
            return None
        return d if keepdim else d - sum(u < d for u in used)

    return _on_part(func, input, (dim,), {"keepdim": keepdim, **more}, where)


def _along(func: Any, input: Any, dim: Any = None, *rest: Any, **more: Any) -> Any:
    used = _named(dim, input.dim())
    if used is None:
        return NotImplemented
    return _on_part(func, input, (dim, *rest), more, lambda d: None if d in used else d)


def _last(func: Any, input: Any) -> Any:
    """Between pairs of numbers and complex ones: the last dim of pairs is used up."""
    last = input.dim() - 1 if func.__name__ == "view_as_complex" else -1
    return _on_part(func, input, (), {}, lambda d: None if d == last else d)


def _attention(
    func: Any, query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: Any = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """Heads and samples that are cut stay where they are: every rank attends for its own."""
    three = (query, key, value)
    if attn_mask is not None or dropout_p or not all(isinstance(t, DTensor) for t in three):
        return NotImplemented
    if not all(t.placements == query.placements for t in (key, value)):
        return NotImplemented
    if not enable_gqa and not all(t.full_shape[:-2] == query.full_shape[:-2] for t in (key, value)):
        return NotImplemented
    mesh, inner = query.device_mesh, query.dim() - 2
    cut = [(k.dim, mesh.size(i)) for i, k in enumerate(query.placements) if isinstance(k, Shard)]
    if any(d >= inner or any(t.full_shape[d] % ranks for t in three) for d, ranks in cut):
        return NotImplemented
    others = tuple(local_of(t) for t in (key, value))
    options = {"is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa}
    return _on_part(func, query, others, options, lambda d: d)


def _added(func: Any, input: Any, dim: Any = None, keepdim: Any = False, **more: Any) -> Any:
    """Sums, and means, along what is cut are summands of the result: nothing is sent before somebody needs it."""
    every = dim is None and not keepdim
    used = list(range(input.dim())) if every else _named(dim, input.dim())
    cut = [k.dim for k in input.placements if isinstance(k, Shard)]
    mean = func.__name__ == "mean"
    if used is None or type(keepdim) is not bool or any(k.is_partial() for k in input.placements):
        return NotImplemented
    if not set(used) & set(cut) or (mean and not (more.get("dtype") or input.dtype).is_floating_point):
        return NotImplemented if every else _reduced(func, input, dim, keepdim, **more)

    def after(d: int) -> int:
        return d if keepdim else d - sum(u < d for u in used)

    kinds = [
        Partial() if k.dim in used else _moved(k, after(k.dim)) if isinstance(k, Shard) else k for k in input.placements
    ]
    lengths = {after(d): input.full_shape[d] for d in cut if d not in used}
    with DisableTorchFunctionSubclass():
        part = local_of(input).sum(**more) if every else local_of(input).sum(dim, keepdim, **more)
        if mean:
            part = part / math.prod([input.full_shape[d] for d in used])
    shape = tuple([lengths.get(i, n) for i, n in enumerate(part.shape)])
    return spread(DTensor, part, input.device_mesh, tuple(kinds), shape)


DIMS = {
    **dict.fromkeys(("transpose", "swapaxes", "swapdims"), _transpose), "t": _t, "permute": _permute, "unsqueeze": _unsqueeze,
    **dict.fromkeys(("sum", "mean"), _added), **dict.fromkeys(("amax", "amin", "prod", "all", "any", "logsumexp", "argmax", "argmin"), _reduced),
    **dict.fromkeys(("softmax", "log_softmax", "cumsum", "cumprod", "flip"), _along),
    **dict.fromkeys(("view_as_complex", "view_as_real"), _last), "scaled_dot_product_attention": _attention,
}  # fmt: skip
