"""`torch.distributed.tensor._utils`: which part of a spread tensor a process has."""

from __future__ import annotations

from typing import Any

from .moving import rows_of
from .placement_types import cutting_order

__all__ = ["compute_local_shape_and_global_offset"]


def compute_local_shape_and_global_offset(
    global_shape: Any, mesh: Any, placements: Any, where: Any = None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of this rank's part, or of the rank's at `where`, and where it begins in the whole tensor."""
    shape, offset = list(global_shape), [0] * len(global_shape)
    where = where or mesh.get_coordinate()
    for dim in cutting_order(placements):
        placement = placements[dim]
        if placement.is_shard():
            first, last = rows_of(shape[placement.dim], mesh.size(dim), where[dim])
            shape[placement.dim] = last - first
            offset[placement.dim] += first
    return tuple(shape), tuple(offset)
