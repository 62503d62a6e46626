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
        >>> mesh = torch.distributed.DeviceMesh("cpu", [[0]], mesh_dim_names=("data", "model"))
        >>> mesh.shape, mesh["data"].size()
        ((1, 1), 1)
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        _groups: list[Any] | None = None,
        _root: tuple[DeviceMesh, tuple[int, ...]] | None = None,
    ) -> None:
        ranks = mesh.numpy() if isinstance(mesh, Tensor) else np.asarray(mesh)
        self.device_type = device_type
        self._ranks = np.asarray(ranks, np.int64)
        self.mesh_dim_names = tuple(mesh_dim_names) if mesh_dim_names else None
        _check_names(self.mesh_dim_names, self._ranks.ndim)
        if not lifecycle.is_initialized():
            lifecycle.init_process_group()
        # The mesh that this one is a part of, and which of its dims are here; a mesh is its own root.
        self._root, self._root_dims = _root or (self, tuple(range(self._ranks.ndim)))
        self._flattened: dict[str, DeviceMesh] = {}  # of a root: dims that were joined, by name
        self._made: list[Any] | None = _groups if _groups is not None else self._make_groups()

    @classmethod
    def _from_file(cls, device_type: str, ranks: Any, names: tuple[str, ...] | None) -> DeviceMesh:
        """A mesh as a file describes it; its groups are looked for when somebody asks, and made where there are none."""
        made = cls.__new__(cls)
        made.device_type, made.mesh_dim_names = device_type, names
        made._ranks = np.asarray(ranks, np.int64)
        made._root, made._root_dims = made, tuple(range(made._ranks.ndim))
        made._flattened, made._made = {}, None
        return made

    @property
    def _groups(self) -> list[Any]:
        if self._made is None:
            self._made = self._found_groups() or self._make_groups()
        return self._made

    def _found_groups(self) -> list[Any]:
        """The groups of this rank's lines, if they exist already."""
        here = self.get_coordinate() or ()
        groups = []
        for dim in range(len(here)):
            index = tuple(slice(None) if d == dim else at for d, at in enumerate(here))
            line = self._ranks[index].tolist()
            same = [g for g in group_of().world.groups.values() if g.ranks == line]
            groups += same[:1]
        return groups if len(groups) == self.ndim else []

    def _make_groups(self) -> list[Any]:
        """One group for each line of ranks along each dim; every rank makes all, in one order."""
        world = group_of()
        if self._ranks.size > world.size():
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {world.size()}, but found {self._ranks.size} ranks!"
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
    def from_group(cls, group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: Any = None) -> DeviceMesh:
        """A mesh over groups that exist."""
        if isinstance(group, ProcessGroup):
            return cls(device_type, group.ranks, mesh_dim_names=mesh_dim_names, _groups=[group])
        if mesh is None:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        return cls(device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=list(group))

    @property
    def mesh(self) -> Tensor:
        """The ranks as a tensor."""
        return from_numpy(self._ranks.astype(np.int32))

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
                raise KeyError(
                    f"Mesh dimension '{dim}' does not exist.",
                    f"Available mesh dimensions are: mesh_dim_names={self.mesh_dim_names}",
                )
            return self.mesh_dim_names.index(dim)
        return int(dim)

    def get_group(self, mesh_dim: Any = None) -> ProcessGroup:
        """The group along a dim; a mesh of one dim needs none."""
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions",
                "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                "If you want to get the list of all the ProcessGroups in the DeviceMesh,"
                "please use `get_all_groups()` instead.",
            )
        if isinstance(mesh_dim, str) and mesh_dim in self._root._flattened:
            return self._root._flattened[mesh_dim].get_group()
        return self._groups[0 if mesh_dim is None else self._dim(mesh_dim)]

    def get_all_groups(self) -> list[ProcessGroup]:
        """This rank's groups, one for each dimension."""
        return list(self._groups)

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Where this rank is in the mesh, or None."""
        found = np.argwhere(self._ranks == group_of().world.rank)
        return tuple([int(i) for i in found[0]]) if len(found) else None

    def get_local_rank(self, mesh_dim: Any = None) -> int:
        """This rank's place along a dimension."""
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions",
                "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
            )
        return self.get_group(mesh_dim).rank()

    def get_rank(self) -> int:
        """This rank's number in the world."""
        return group_of().rank()

    def __getitem__(self, names: Any) -> DeviceMesh:
        """The mesh along some dims, through this rank; or one that `_flatten` made."""
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        wanted = (names,) if isinstance(names, str) else tuple(names)
        if wanted == self.mesh_dim_names:
            return self
        joined = self._flattened if self._root is self else {}
        if len(wanted) == 1 and wanted[0] in joined:
            return joined[wanted[0]]
        if any(n not in self.mesh_dim_names for n in wanted):
            valid = [*self.mesh_dim_names, *joined]
            raise KeyError(f"Invalid mesh_dim_names {wanted} specified. Valid mesh_dim_names are {valid}.")
        dims = [self._dim(n) for n in wanted]
        if dims != sorted(dims):
            raise KeyError(f"Invalid mesh_dim_names {wanted} specified. Mesh dim indices should be in ascending order.")
        here = self.get_coordinate() or (0,) * self.ndim
        index = tuple(slice(None) if d in dims else here[d] for d in range(self.ndim))
        return DeviceMesh(
            self.device_type, self._ranks[index], mesh_dim_names=wanted,
            _groups=[self._groups[d] for d in dims],
            _root=(self._root, tuple(self._root_dims[d] for d in dims)),
        )  # fmt: skip

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """All dims as one, under a name that the root mesh then knows; every rank calls it."""
        root = self._root
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ())
        if self.ndim == 1 and (self.mesh_dim_names or ("",))[0] == name:
            return self
        if root.mesh_dim_names and name in root.mesh_dim_names:
            raise ValueError(
                f"{name} already exists for submesh of the {root}. Please specify another valid mesh_dim_name."
            )
        if name in root._flattened:
            return root._flattened[name]
        turned = np.moveaxis(root._ranks, self._root_dims, range(-self.ndim, 0))
        lines = turned.reshape(-1, self.size())
        mine, _ = lifecycle.new_subgroups_by_enumeration([line.tolist() for line in lines])
        made = DeviceMesh(
            self.device_type, self._ranks.reshape(-1), mesh_dim_names=(name,), _groups=[mine],
            _root=(root, self._root_dims),
        )  # fmt: skip
        root._flattened[name] = made
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and self.device_type == other.device_type and (
            self._ranks.tolist() == other._ranks.tolist() and self.mesh_dim_names == other.mesh_dim_names
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.device_type, tuple(tree_leaves(self._ranks.tolist()))))

    def __deepcopy__(self, memo: Any) -> DeviceMesh:
        return self  # a copied model lies on the same ranks

    def __reduce__(self) -> Any:
        return rebuilt_mesh, (self.device_type, self._ranks.tolist(), self.mesh_dim_names)

    def __repr__(self) -> str:
        sizes: Any = self.shape
        if self.mesh_dim_names:
            pairs = zip(self.mesh_dim_names, self.shape)
            sizes = f"({', '.join([f'{n}={size}' for n, size in pairs])})"
        return f"DeviceMesh({sizes}, '{self.device_type}', stride={self._strides()})"

    def _strides(self) -> tuple[Any, ...]:
        """How far apart the ranks are along each dim; `()` along a dim of one."""
        found: list[Any] = []
        for dim, size in enumerate(self.shape):
            line = np.moveaxis(self._ranks, dim, -1).reshape(-1, size)[0]
            found.append(int(line[1] - line[0]) if size > 1 else ())
        return tuple(found)


def rebuilt_mesh(device_type: Any, ranks: Any, names: Any) -> DeviceMesh:
    """A mesh that was pickled, in this run or another one.

    Raises:
        ValueError: if the three do not describe a mesh.
    """
    sound = type(device_type) is str and type(ranks) is list and (names is None or type(names) is tuple)
    array = np.asarray(ranks if sound else None)  # lists of different lengths raise a ValueError
    if array.dtype.kind != "i" or array.size == 0 or array.ndim > 32 or np.unique(array).size != array.size:
        raise ValueError("this does not describe a mesh of ranks")
    if names is not None and (len(names) != array.ndim or any(type(n) is not str for n in names)):
        raise ValueError("this does not describe the names of a mesh's dims")
    return DeviceMesh._from_file(device_type, array, names)


def _check_names(names: tuple[str, ...] | None, ndim: int) -> None:
    if names and len(names) != ndim:
        raise RuntimeError(
            "mesh_shape and mesh_dim_names should have same length! Found "
            f"len(mesh_dim_names): {len(names)} and len(mesh_shape):{ndim}."
        )


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
        >>> torch.distributed.init_device_mesh("cpu", (1, 1), mesh_dim_names=("data", "model"))
        DeviceMesh((data=1, model=1), 'cpu', stride=((), ()))
    """
    if mesh_dim_names is not None and len(set(mesh_dim_names)) != len(mesh_dim_names):
        raise RuntimeError(f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}")  # fmt: skip
    if not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    if not lifecycle.is_initialized():
        lifecycle.init_process_group()
    _check_names(mesh_dim_names, len(mesh_shape))
    size = int(np.prod(mesh_shape))
    if size > group_of().size():
        raise RuntimeError(
            f"Mesh should not be bigger than default world size {group_of().size()}, but found {size} ranks!"
        )
    ranks = np.arange(size).reshape(mesh_shape)
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)
