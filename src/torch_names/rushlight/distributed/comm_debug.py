"""`torch.distributed.tensor.debug`: what DTensors send, and how they lie."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..ops import register
from .groups import group_of

__all__ = ["CommDebugMode", "visualize_sharding"]

# Our names of collectives, and those of PyTorch's functional ones.
_FUNCTIONAL = {
    "all_gather": "all_gather_into_tensor", "reduce_scatter": "reduce_scatter_tensor", "all_to_all": "all_to_all_single",
    "all_reduce": "all_reduce", "broadcast": "broadcast",
}  # fmt: skip


class _Functional:
    """A functional collective's name, as `torch.ops.c10d_functional` has it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"c10d_functional.{self._name}"


_KEYS = {ours: _Functional(name) for ours, name in _FUNCTIONAL.items()}
for _key in _KEYS.values():
    register("c10d_functional", _key._name, _key)


class CommDebugMode:
    """A block in which the collectives of this rank are counted.

    Example:
        >>> from rushlight.distributed.tensor.debug import CommDebugMode
        >>> with CommDebugMode() as counted:
        ...     dist.all_reduce(torch.ones(2))
        >>> counted.get_total_counts(), counted.get_comm_counts()[torch.ops.c10d_functional.all_reduce]
        (1, 1)
    """

    def __init__(self) -> None:
        self.comm_counts: Counter[Any] = Counter()

    def _count(self, name: str) -> None:
        if name in _KEYS:
            self.comm_counts[_KEYS[name]] += 1

    def __enter__(self) -> CommDebugMode:
        self.comm_counts.clear()
        self._world = group_of().world
        self._world.watchers.append(self._count)
        return self

    def __exit__(self, *exc: Any) -> None:
        self._world.watchers.remove(self._count)

    def get_total_counts(self) -> int:
        """How many."""
        return sum(self.comm_counts.values())

    def get_comm_counts(self) -> dict[Any, int]:
        """How many of each, by `torch.ops.c10d_functional`'s names."""
        return self.comm_counts


def visualize_sharding(dtensor: Any, header: str = "", use_rich: bool = False) -> None:
    """Print which rank has which part of a DTensor of one or two dims.

    Args:
        dtensor: the tensor; all ranks call it, rank 0 of the mesh prints.
        header: printed above.
        use_rich: accepted; the table is plain.

    Raises:
        RuntimeError: if it has more dims.

    Example:
        >>> from rushlight.distributed.tensor import Shard, ones
        >>> from rushlight.distributed.tensor.debug import visualize_sharding
        >>> visualize_sharding(ones(4, 2, device_mesh=dist.init_device_mesh("cpu", (1,)), placements=[Shard(0)]))
        [0:4, 0:2] cpu:0
    """
    from .tensor._utils import compute_local_shape_and_global_offset

    mesh = dtensor.device_mesh
    if dtensor.dim() > 2:
        raise RuntimeError("visualize sharding supports only 1D or 2D DTensor")
    if dtensor.numel() == 0 or mesh.get_coordinate() is None or any(mesh.get_coordinate()):
        return
    lines = [header] if header else []
    for where in _coordinates(mesh.shape):
        shape, offset = compute_local_shape_and_global_offset(dtensor.full_shape, mesh, dtensor.placements, where)
        place = ", ".join(f"{o}:{o + n}" for o, n in zip(offset, shape))
        lines.append(f"[{place}] {mesh.device_type}:{int(mesh.mesh[where])}")
    print("\n".join(lines))


def _coordinates(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for n in shape:
        found = [(*where, i) for where in found for i in range(n)]
    return found
