"""The norm of gradients some of which are spread over ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...operators.create.filled import zeros
from ..collectives import all_reduce
from ..reduce_op import ReduceOp
from .dtensor import DTensor, local_of, spread
from .placement_types import Replicate

__all__ = ["norm_over_ranks"]


def norm_over_ranks(tensors: list[Any], norm_type: float, norm: Callable[..., Tensor]) -> Tensor:
    """The norm of all tensors together; a number that every rank has. All ranks call it."""
    kinds: dict[Any, list[DTensor]] = {}
    plain = []
    for t in tensors:
        if isinstance(t, DTensor):
            t = t._as(tuple([Replicate() if k.is_partial() else k for k in t.placements]))
            kinds.setdefault((t.device_mesh, t.placements), []).append(t)
        else:
            plain.append(t)
    with no_grad():
        totals = [_of_parts(parts, norm_type, norm) for parts in kinds.values()]
        total = norm([*totals, *[norm([t], norm_type) for t in plain]], norm_type)
    mesh = next(iter(kinds))[0]
    return spread(DTensor, total, mesh, (Replicate(),) * mesh.ndim, tuple(total.shape))


def _of_parts(parts: list[DTensor], norm_type: float, norm: Callable[..., Tensor]) -> Tensor:
    """The norm of tensors that are spread alike: each rank's, and then that of all ranks."""
    first = parts[0]
    local = [local_of(t).detach() for t in parts if t._a.size]
    mine = norm(local, norm_type) if local else zeros((), dtype=first.dtype)
    mine = mine.to(first.device)
    largest = norm_type == float("inf")
    if norm_type == float("-inf") and not local:
        mine = mine + float("inf")
    power = norm_type if norm_type and abs(norm_type) != float("inf") else None
    part = mine.clone() if power is None else mine**power
    op = ReduceOp.MAX if largest else ReduceOp.MIN if norm_type == float("-inf") else ReduceOp.SUM
    for i, kind in enumerate(first.placements):
        if kind.is_shard():
            all_reduce(part, op, first.device_mesh.get_group(i))
    return part if power is None else part ** (1.0 / power)
