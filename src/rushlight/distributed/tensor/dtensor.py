"""DTensor: this rank's part of a tensor that is spread over a mesh of one dim.

The part is an ordinary tensor, and operations work on it: its `.shape` is the part's. `full_shape` is the shape of
the whole, `full_tensor()` gathers it. That is what sharded parameters, optimisers and checkpoints need; general
operations between differently spread tensors are not here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.modes import no_grad
from ...core.tensor import Tensor, tensor_over
from ...operators.create.filled import zeros
from ..collectives import all_gather_into_tensor
from .placement_types import Placement, Replicate, Shard

__all__ = ["DTensor", "distribute_tensor", "rows_of", "spread"]


def rows_of(length: int, ranks: int, rank: int) -> tuple[int, int]:
    """The first row and the one behind the last that a rank has of `length`; the last ones may have none."""
    each = -(-length // ranks)
    return min(rank * each, length), min((rank + 1) * each, length)


class DTensor(Tensor):
    """One rank's part of a tensor that is spread over the ranks of a mesh.

    Example:
        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
        >>> from rushlight.distributed.tensor import Shard, distribute_tensor, init_device_mesh
        >>> mesh = init_device_mesh("cpu", (1,))
        >>> t = distribute_tensor(torch.arange(4), mesh, [Shard(0)])
        >>> t.to_local(), t.full_tensor()
        (tensor([0, 1, 2, 3]), tensor([0, 1, 2, 3]))
        >>> dist.destroy_process_group()
    """

    device_mesh: Any
    placements: tuple[Placement, ...]
    full_shape: tuple[int, ...]

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: Any,
        placements: Sequence[Placement] = (),
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
    ) -> DTensor:
        """A tensor of which every rank gives its part."""
        kinds = tuple(placements) or (Replicate(),)
        full = list(local_tensor.shape)
        if shape is not None:
            full = list(shape)
        elif kinds[0].is_shard():
            full[kinds[0].dim] *= device_mesh.size()  # type: ignore[attr-defined]
        return spread(DTensor, local_tensor, device_mesh, kinds, tuple(full))

    def detach(self) -> DTensor:  # type: ignore[override]
        """The same part without history, still a DTensor: what a state dict holds."""
        return spread(DTensor, self, self.device_mesh, self.placements, self.full_shape)

    def to_local(self, *, grad_placements: Any = None) -> Tensor:
        """This rank's part as a plain tensor over the same memory."""
        plain = tensor_over(self._a, self._a.__class__)
        plain._edge = self._edge
        return plain

    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """The whole tensor, on every rank; all ranks call it."""
        with no_grad():
            local = tensor_over(self._a, self._a.__class__)
            if not self.placements[0].is_shard():
                return local.clone()
            group = self.device_mesh.get_group()
            dim = self.placements[0].dim  # type: ignore[attr-defined]
            each = -(-self.full_shape[dim] // group.size())
            turned = local.movedim(dim, 0)
            padded = zeros((each, *turned.shape[1:]), dtype=self.dtype, device=self.device)
            padded[: turned.shape[0]] = turned
            out = zeros(
                (each * group.size(), *turned.shape[1:]), dtype=self.dtype, device=self.device
            )
            all_gather_into_tensor(out, padded, group)
            return out[: self.full_shape[dim]].movedim(0, dim).contiguous()


def spread(
    cls: type, local: Tensor, mesh: Any, placements: tuple[Placement, ...], full: tuple[int, ...]
) -> Any:
    """A DTensor of class `cls` over a part that is there."""
    made: Any = object.__new__(cls)
    made._a = local._a
    made._edge = made._grad = made._ver = made._ext = None
    made.device_mesh, made.placements, made.full_shape = mesh, placements, full
    return made


def distribute_tensor(tensor: Tensor, device_mesh: Any, placements: Any = None, **kwargs: Any) -> DTensor:  # fmt: skip
    """A DTensor of which this rank keeps its part of `tensor`, which all ranks have.

    Args:
        tensor: the whole, the same on every rank.
        device_mesh: the ranks, of one dimension.
        placements: `[Shard(dim)]` or `[Replicate()]`, which is what happens if it is not given.

    Raises:
        NotImplementedError: if the mesh has several dimensions.

    Example:
        >>> dist = torch.distributed
        >>> dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
        >>> from rushlight.distributed.tensor import Shard, distribute_tensor, init_device_mesh
        >>> t = distribute_tensor(torch.arange(4), init_device_mesh("cpu", (1,)), [Shard(0)])
        >>> t.placements
        (Shard(dim=0),)
        >>> dist.destroy_process_group()
    """
    kinds = tuple(placements or (Replicate(),))
    if device_mesh.ndim != 1 or len(kinds) != 1:
        raise NotImplementedError("distribute_tensor over a mesh of more than one dim")
    local = tensor.detach()
    if kinds[0].is_shard():
        assert isinstance(kinds[0], Shard)
        dim = kinds[0].dim
        first, last = rows_of(tensor.shape[dim], device_mesh.size(), device_mesh.get_local_rank())
        local = local.narrow(dim, first, last - first).clone()
    return spread(DTensor, local, device_mesh, kinds, tuple(tensor.shape))
