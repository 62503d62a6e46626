"""Products, lookups and norms of DTensors where one argument is cut: what tensor parallelism is made of."""

from __future__ import annotations

from typing import Any

from ...core.overriding import DisableTorchFunctionSubclass
from .dtensor import DTensor, local_of, spread
from .moving import rows_of, summed_back
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["PRODUCTS"]

WHOLE = Replicate()


def _linear(func: Any, input: Any, weight: Any, bias: Any = None) -> Any:
    """x W' + b with the rows of W cut (results are cut), its columns (results are summands), or the rows of x."""
    if not all(isinstance(t, DTensor) for t in (input, weight)) or input.dim() < 1:
        return NotImplemented
    if bias is not None and not isinstance(bias, DTensor):
        return NotImplemented
    mesh, last = input.device_mesh, input.dim() - 1
    xs, ws, out, xsum, wsum = [], [], [], [], []
    for i, (px, pw) in enumerate(zip(input.placements, weight.placements)):
        if pw.is_shard(0):
            px, made = WHOLE, Shard(last)
            xsum.append(i)
        elif pw.is_shard(1):
            px, made = Shard(last), Partial()  # type: ignore[assignment]
        elif isinstance(px, Shard) and px.dim < last:
            made, pw = px, WHOLE
            wsum.append(i)
        else:
            px = pw = made = WHOLE  # type: ignore[assignment]
        xs.append(px)
        ws.append(pw)
        out.append(made)
    x = summed_back(local_of(input._as(tuple(xs))), mesh, xsum)
    w = summed_back(local_of(weight._as(tuple(ws))), mesh, wsum)
    shape = (*input.full_shape[:-1], weight.full_shape[0])
    parts = any(k.is_partial() for k in out)
    with DisableTorchFunctionSubclass():
        if bias is None or parts:
            product = func(x, w) if func.__name__ == "linear" else x.matmul(w.t())
        else:
            kinds = tuple([Shard(0) if k.is_shard(last) and ws[i].is_shard(0) else WHOLE for i, k in enumerate(out)])
            product = func(x, w, summed_back(local_of(bias._as(kinds)), mesh, wsum))
    result = spread(DTensor, product, mesh, tuple(out), shape)
    if bias is None or not parts:
        return result
    return result._as(tuple([WHOLE if k.is_partial() else k for k in out])) + bias


def _matmul(func: Any, input: Any, other: Any) -> Any:
    if not isinstance(other, DTensor) or other.dim() != 2 or not isinstance(input, DTensor):
        return NotImplemented
    return _linear(func, input, other.transpose(0, 1))


def _embedding(func: Any, input: Any, weight: Any, padding_idx: Any = None, *rest: Any, **more: Any) -> Any:
    """Rows of a table that is cut by columns, or by rows: then every rank gives what it has and zeros."""
    if not isinstance(weight, DTensor) or not isinstance(input, DTensor) or weight.device_mesh.ndim != 1:
        return NotImplemented
    kind, mesh = weight.placements[0], weight.device_mesh
    if padding_idx is not None or rest or any(more.values()) or not kind.is_shard():
        return NotImplemented
    ids = local_of(input._as((WHOLE,)))
    shape = (*input.full_shape, weight.full_shape[1])
    with DisableTorchFunctionSubclass():
        if kind.is_shard(1):
            made: Placement = Shard(len(shape) - 1)
            found = func(ids, local_of(weight))
        else:
            made = Partial()
            first, last = rows_of(weight.full_shape[0], mesh.size(), mesh.get_local_rank())
            here = (ids >= first) & (ids < last)
            if last == first:
                return NotImplemented
            found = func((ids - first).masked_fill(~here, 0), local_of(weight))
            found = found * here.unsqueeze(-1).to(found.dtype)
    return spread(DTensor, found, mesh, (made,), shape)


def _norm(func: Any, input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, *rest: Any, **more: Any) -> Any:  # fmt: skip
    """A norm over the last dims of what is cut along others."""
    sizes = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    kinds = input.placements if isinstance(input, DTensor) else ()
    free = len(input.shape) - len(sizes)
    if not kinds or not all(k.is_replicate() or (isinstance(k, Shard) and k.dim < free) for k in kinds):
        return NotImplemented
    mesh = input.device_mesh
    cut = [i for i, k in enumerate(kinds) if k.is_shard()]

    def own(t: Any) -> Any:
        if not isinstance(t, DTensor):
            return t
        return summed_back(local_of(t._as((WHOLE,) * mesh.ndim)), mesh, cut)

    with DisableTorchFunctionSubclass():
        out = func(local_of(input), normalized_shape, own(weight), own(bias), *rest, **more)
    return spread(DTensor, out, mesh, kinds, input.full_shape)


PRODUCTS = {
    "linear": _linear, "matmul": _matmul, "mm": _matmul, "__matmul__": _matmul,
    "embedding": _embedding, "layer_norm": _norm,
}  # fmt: skip
