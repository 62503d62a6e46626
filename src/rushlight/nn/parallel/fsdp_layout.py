"""From a strategy and groups, or a mesh, to which ranks cut parameters and which copy them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...base.config import launcher
from ...distributed import lifecycle
from ...distributed.device_mesh import DeviceMesh, init_device_mesh
from ...distributed.groups import group_of
from .fsdp_options import ShardingStrategy
from .shard_places import Layout

__all__ = ["layout_for"]

HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)


def layout_for(
    module: Any, group: Any, mesh: Any, strategy: ShardingStrategy | None, offload: Any, device_id: Any
) -> tuple[Layout, ShardingStrategy]:  # fmt: skip
    """Where the parameters of a model lie, and the strategy that is meant."""
    strategy = strategy or ShardingStrategy.FULL_SHARD
    away = bool(offload is not None and offload.offload_params)
    device = _device_type(module, device_id, away)
    if mesh is not None and group is not None:
        raise ValueError("Cannot pass both process_group and device_mesh at the same time. Please just pass only one of them.")  # fmt: skip
    if strategy in HYBRID:
        return Layout(_hybrid(group, mesh, device), away), strategy
    if mesh is not None and mesh.ndim != 1:
        raise ValueError(f"Expected device_mesh to have ndim=1 but got {mesh.ndim}")
    one = group_of(group if mesh is None else mesh)
    if one.size() == 1 and strategy is not ShardingStrategy.NO_SHARD:
        warnings.warn(f"FSDP is switching to use `NO_SHARD` instead of {strategy} since the world size is 1.", stacklevel=4)  # fmt: skip
        strategy = ShardingStrategy.NO_SHARD
    if strategy is ShardingStrategy.NO_SHARD:
        alone = lifecycle.new_group([one.world.rank], use_local_synchronization=True)
        ranks = np.array(one.ranks).reshape(-1, 1)
        return Layout(DeviceMesh(device, ranks, _groups=[one, alone]), away), strategy
    made = mesh or DeviceMesh.from_group(one, device)
    return Layout(made, away), strategy


def _device_type(module: Any, device_id: Any, away: bool) -> str:
    """Where the parameters are computed with."""
    from ...runtime.cuda import why_not

    if device_id is not None:
        return "cuda" if isinstance(device_id, int) else str(device_id).partition(":")[0]
    if any(p.is_cuda for p in module.parameters()):
        return "cuda"
    return "cuda" if away and why_not() is None else "cpu"


def _hybrid(group: Any, mesh: Any, device: str) -> Any:
    """The first dim copies, the second cuts."""
    if mesh is not None:
        if mesh.ndim != 2:
            raise ValueError(f"Expected device_mesh to have ndim=2 but got {mesh.ndim}")
        return mesh
    if group is None:
        world = group_of().size()
        inside = int(launcher("LOCAL_WORLD_SIZE") or world)
        return init_device_mesh(device, (world // inside, inside))
    if not isinstance(group, tuple) or len(group) != 2:
        raise ValueError(
            "Expected process_group to be passed in as either None or a tuple of (shard group, replicate group) "
            f"for hybrid strategies, got {group!r}"
        )
    cut, copies = group
    ranks = np.full((copies.size(), cut.size()), -1)
    ranks[copies.rank(), :] = cut.ranks
    ranks[:, cut.rank()] = copies.ranks
    return DeviceMesh(device, ranks, _groups=[copies, cut])
