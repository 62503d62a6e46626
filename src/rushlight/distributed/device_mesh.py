"""`torch.distributed.device_mesh`: ranks in rows and columns, with a group along each dim."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.trees import tree_leaves
from ..core.tensor import Tensor
from ..operators.create.from_data import from_numpy
from . import lifecycle
from .groups import ProcessGroup, group_of

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """An array of ranks; `get_group(dim)` are those that differ from this one along a dim only.

    Args:
        device_type: "cpu" or "cuda".
        mesh: ranks, as nested lists or a tensor.
        mesh_dim_names: a name for each dimension.

    Raises:
        RuntimeError: if there are more ranks in the mesh than in the world.

    Example:
        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
        >>> mesh = torch.distributed.DeviceMesh("cpu", [[0]], mesh_dim_names=("data", "model"))
        >>> mesh.shape, mesh["data"].size()
        ((1, 1), 1)
        >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        _groups: list[Any] | None = None,
    ) -> None:
        ranks = mesh.numpy() if isinstance(mesh, Tensor) else np.asarray(mesh)
        self.device_type = device_type
        self._ranks = np.asarray(ranks, np.int64)
        self.mesh_dim_names = tuple(mesh_dim_names) if mesh_dim_names else None
        if self.mesh_dim_names and len(self.mesh_dim_names) != self._ranks.ndim:
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! Found "
                f"len(mesh_dim_names): {len(self.mesh_dim_names)} and len(mesh_shape):{self._ranks.ndim}."
            )
        if not lifecycle.is_initialized():
            lifecycle.init_process_group()
        self._groups = _groups if _groups is not None else self._make_groups()

    def _make_groups(self) -> list[Any]:
        """One group for each line of ranks along each dim; every rank makes all, in one order."""
        world = group_of()
        if self._ranks.size > world.size():
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {world.size()}, but found "
                f"{self._ranks.size} ranks!"
            )
        if self._ranks.ndim == 1 and list(self._ranks) == world.ranks:
            return [world]
        groups = []
        for dim in range(self._ranks.ndim):
            lines = np.moveaxis(self._ranks, dim, -1).reshape(-1, self._ranks.shape[dim])
            mine, _ = lifecycle.new_subgroups_by_enumeration([line.tolist() for line in lines])
            groups.append(mine)
        return groups

    @classmethod
    def from_group(
        cls, group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: Any = None
    ) -> DeviceMesh:
        """A mesh over groups that exist."""
        if isinstance(group, ProcessGroup):
            return cls(device_type, group.ranks, mesh_dim_names=mesh_dim_names, _groups=[group])
        if mesh is None:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        return cls(device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=list(group))

    @property
    def mesh(self) -> Tensor:
        """The ranks as a tensor."""
        return from_numpy(self._ranks.copy())

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return self._ranks.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """Its size along each dimension."""
        return tuple(self._ranks.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many ranks there are, in all or along `mesh_dim`."""
        return self._ranks.size if mesh_dim is None else self._ranks.shape[mesh_dim]

    def _dim(self, dim: Any) -> int:
        if isinstance(dim, str):
            if self.mesh_dim_names is None or dim not in self.mesh_dim_names:
                raise KeyError(f"Mesh dimension '{dim}' does not exist. Available mesh dimensions are: {self.mesh_dim_names}")  # fmt: skip
            return self.mesh_dim_names.index(dim)
        return int(dim)

    def get_group(self, mesh_dim: Any = None) -> ProcessGroup:
        """The group along a dim; a mesh of one dim needs none."""
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions Optional kwarg `mesh_dim` needs to be "
                "specified when device_mesh.ndim > 1."
            )
        return self._groups[0 if mesh_dim is None else self._dim(mesh_dim)]

    def get_all_groups(self) -> list[ProcessGroup]:
        """This rank's groups, one for each dimension."""
        return list(self._groups)

    def get_coordinate(self) -> list[int] | None:
        """Where this rank is in the mesh, or None."""
        found = np.argwhere(self._ranks == group_of().world.rank)
        return [int(i) for i in found[0]] if len(found) else None

    def get_local_rank(self, mesh_dim: Any = None) -> int:
        """This rank's place along a dimension."""
        return self.get_group(mesh_dim).rank()

    def get_rank(self) -> int:
        """This rank's number in the world."""
        return group_of().rank()

    def __getitem__(self, names: Any) -> DeviceMesh:
        """The mesh along some dims, through this rank."""
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        wanted = (names,) if isinstance(names, str) else tuple(names)
        dims = [self._dim(n) for n in wanted]
        here = self.get_coordinate() or [0] * self.ndim
        index = tuple(slice(None) if d in dims else here[d] for d in range(self.ndim))
        part = np.transpose(self._ranks[index], [sorted(dims).index(d) for d in dims])
        groups = [self._groups[d] for d in dims]
        return DeviceMesh(self.device_type, part, mesh_dim_names=wanted, _groups=groups)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and self.device_type == other.device_type and (
            self._ranks.tolist() == other._ranks.tolist() and self.mesh_dim_names == other.mesh_dim_names
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.device_type, tuple(tree_leaves(self._ranks.tolist()))))

    def __repr__(self) -> str:
        names = f", mesh_dim_names={self.mesh_dim_names}" if self.mesh_dim_names else ""
        return f"DeviceMesh('{self.device_type}', {self._ranks.tolist()}{names})"


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """All ranks as an array of `mesh_shape`, row by row.

    Args:
        device_type: "cpu" or "cuda".
        mesh_shape: sizes; their product is at most the number of ranks.
        mesh_dim_names: a name for each dimension.
        backend_override: accepted and not needed.

    Raises:
        RuntimeError: if there are too few ranks, or two dimensions have one name.

    Example:
        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
        >>> torch.distributed.init_device_mesh("cpu", (1, 1), mesh_dim_names=("data", "model"))
        DeviceMesh('cpu', [[0]], mesh_dim_names=('data', 'model'))
        >>> dist.destroy_process_group()
    """
    if mesh_dim_names is not None and len(set(mesh_dim_names)) != len(mesh_dim_names):
        raise RuntimeError(f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}")  # fmt: skip
    if not lifecycle.is_initialized():
        lifecycle.init_process_group()
    size = int(np.prod(mesh_shape))
    if size > group_of().size():
        raise RuntimeError(
            f"Mesh should not be bigger than default world size {group_of().size()}, but found {size} ranks!"
        )
    ranks = np.arange(size).reshape(mesh_shape)
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)
