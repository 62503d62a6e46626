"""Other shapes of DTensors whose cuts stay where they are: each rank looks at its part in another way."""

from __future__ import annotations

import math
from typing import Any

from ...core.overriding import DisableTorchFunctionSubclass
from .dtensor import DTensor, local_of, spread
from .placement_types import Placement, Shard

__all__ = ["SHAPES"]


def _kept(before: tuple[int, ...], after: tuple[int, ...], dim: int, ranks: int) -> int | None:
    """The dim of another shape that is cut as `dim` is: the same one, or one it leads and divides evenly."""
    front = math.prod(before[:dim])
    for j, size in enumerate(after):
        if math.prod(after[:j]) != front or size == 1 != before[dim]:
            continue
        if size == before[dim]:
            return j
        even = before[dim] % ranks == 0 == size % ranks
        if even and (size % before[dim] == 0 or before[dim] % size == 0):
            return j
    return None


def _viewed(func: Any, input: Any, after: tuple[int, ...]) -> Any:
    """The parts in the shape that they have in a tensor of shape `after`."""
    before, mesh = input.full_shape, input.device_mesh
    local, kinds = list(after), list[Placement]()
    dims = [k.dim for k in input.placements if isinstance(k, Shard)]
    if 0 in before or len(set(dims)) < len(dims) or any(k.is_partial() for k in input.placements):
        return NotImplemented
    for i, kind in enumerate(input.placements):
        made: Placement = kind
        if isinstance(kind, Shard):
            j = _kept(before, after, kind.dim, mesh.size(i))
            if j is None or j in [k.dim for k in kinds if isinstance(k, Shard)]:
                return NotImplemented
            local[j] = after[j] * input._a.shape[kind.dim] // before[kind.dim]
            made = Shard(j)
        kinds.append(made)
    with DisableTorchFunctionSubclass():
        part = local_of(input).reshape(tuple(local))
    return spread(DTensor, part, mesh, tuple(kinds), after)


def _flatten(func: Any, input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    shape, ndim = input.full_shape, input.dim()
    if not ndim or isinstance(start_dim, str):
        return NotImplemented
    first, last = start_dim % ndim, end_dim % ndim
    if first > last:
        return NotImplemented
    joined = math.prod(shape[first : last + 1])
    return _viewed(func, input, (*shape[:first], joined, *shape[last + 1 :]))


def _reshape(func: Any, input: Any, *shape: Any, **more: Any) -> Any:
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    if more or not sizes or any(type(n) is not int for n in sizes) or sizes.count(-1) > 1:
        return NotImplemented  # among others another dtype, which `view` takes as well
    total, known = math.prod(input.full_shape), math.prod([n for n in sizes if n != -1])
    if known <= 0 or total % known or (-1 not in sizes and known != total):
        return NotImplemented  # the function itself has the right words for it
    return _viewed(func, input, tuple([total // known if n == -1 else n for n in sizes]))


SHAPES = {"flatten": _flatten, "reshape": _reshape, "view": _reshape}
