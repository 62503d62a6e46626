"""One sharded parameter: this rank's rows of it, the whole while it is used, and where both lie."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.device import as_device
from ...core.tensor import Tensor
from ...distributed.tensor.dtensor import DTensor, local_of, rows_of, spread
from ...distributed.tensor.placement_types import Replicate, Shard, _StridedShard
from ...operators.create.filled import empty
from ..parameter import Parameter

__all__ = ["Layout", "ShardedParameter", "in_front"]


class ShardedParameter:
    """One parameter of a group: where it is registered, and its part of the flat arrays."""

    def __init__(self, owners: list[tuple[Any, str]], param: Any, layout: Layout, dim: int) -> None:
        self.owners, self.layout, self.dim = owners, layout, dim
        own = local_of(param) if isinstance(param, DTensor) else param  # what tensor parallelism left
        self.shape = tuple(own.shape)
        self.scalar = not self.shape
        turned = (1,) if self.scalar else in_front(self.shape, dim)
        self.rows, self.rest = turned[0], turned[1:]
        self.each = -(-self.rows // layout.group.size())
        per_row = int(np.prod(self.rest, dtype=np.int64)) if self.rest else 1
        self.length = self.each * per_row
        first, last = rows_of(self.rows, layout.group.size(), layout.group.rank())
        whole = own.detach().reshape(1) if self.scalar else own.detach()
        self.cut_shape = tuple(whole.shape)
        local = whole.narrow(dim, first, last - first).clone()
        if layout.offload:
            local = layout.to_host(local)
        empty_one = whole.narrow(dim, 0, 0).clone()
        if isinstance(param, DTensor):
            mesh, kinds = layout.around(param, dim)
            self.sharded: Any = spread(DTensor, local, mesh, kinds, param.full_shape)
            self.full: Any = spread(DTensor, empty_one, param.device_mesh, param.placements, param.full_shape)
            self.full._is_param = True
            self.full.requires_grad_(param.requires_grad)
        else:
            self.sharded = spread(DTensor, local, layout.mesh, layout.placements(dim), self.cut_shape)
            self.full = Parameter(empty_one, requires_grad=param.requires_grad)
        self.sharded._is_param = True
        self.sharded.requires_grad_(param.requires_grad)
        self.hooked = False
        self.kept: Tensor | None = None  # gradients of passes without an exchange, in reduce_dtype
        self.held: Tensor | None = None  # gradients that wait for the all-reduce between replicas
        self.hide()

    def hide(self) -> None:
        """Free the memory of the whole parameter; its shape stays."""
        device = self.layout.device() if self.layout.offload else self.sharded.device
        if device.type == "meta":
            self.full._a = empty(self.shape, dtype=self.sharded.dtype, device=device)._a
            return
        xp = np if device.type == "cpu" else __import__("cupy")
        self.full._a = xp.broadcast_to(xp.zeros((), self.sharded._a.dtype), self.shape)

    def register(self, which: Any) -> None:
        for module, name in self.owners:
            module._parameters[name] = which

    def follow(self) -> None:
        """See what was done to the registered parameter: replaced, moved, cast, frozen."""
        module, name = self.owners[0]
        now = module._parameters[name]
        if now is not self.sharded and now is not self.full and isinstance(now, DTensor):
            self.sharded = now
            self.register(now)
        if self.sharded.requires_grad != self.full.requires_grad:
            self.full.requires_grad_(self.sharded.requires_grad)
            self.hooked = False


def in_front(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return (shape[dim], *shape[:dim], *shape[dim + 1 :])


class Layout:
    """Over which ranks parameters are cut, over which they are repeated, and where their parts lie."""

    def __init__(self, mesh: Any, offload: bool = False, pinned: bool = True) -> None:
        if mesh.ndim > 2:
            raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
        self.mesh, self.offload, self.pinned = mesh, offload, pinned
        self.group = mesh.get_group(mesh.ndim - 1)
        self.copies = mesh.get_group(0) if mesh.ndim == 2 else None

    def placements(self, dim: int) -> tuple[Any, ...]:
        return (Shard(dim),) if self.copies is None else (Replicate(), Shard(dim))

    def around(self, param: Any, dim: int) -> tuple[Any, tuple[Any, ...]]:
        """Mesh and placements of a parameter that tensor parallelism has cut and this layout cuts again."""
        mine, theirs = self.mesh, param.device_mesh
        if mine._root is not theirs._root or mine is theirs:
            raise ValueError(
                "FSDP requires the DP and model parallel TP/EP mesh to have the same parent mesh but got: "
                f"DP's global mesh: {mine._root} TP/EP's global mesh: {theirs._root}"
            )
        mesh = mine._root[(*mine.mesh_dim_names, *theirs.mesh_dim_names)]
        kinds = list(self.placements(dim))
        factor = 1
        for i, kind in enumerate(param.placements):
            factor *= theirs.size(i) if kind.is_shard(dim) else 1
        if factor > 1:
            kinds[-1] = _StridedShard(dim, factor)
        return mesh, (*kinds, *param.placements)

    def device(self) -> Any:
        """Where the whole parameters are computed with."""
        if self.mesh.device_type != "cuda":
            return as_device(self.mesh.device_type)
        return as_device(f"cuda:{current_cuda()}")

    def to_host(self, t: Tensor) -> Tensor:
        host = t.cpu()
        return host.pin_memory() if self.pinned and self.mesh.device_type == "cuda" else host


def current_cuda() -> int:
    import cupy

    return int(cupy.cuda.Device().id)
