"""`torch.distributed.tensor.placement_types`: how a tensor would be spread over processes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """What one axis of a mesh does to a tensor."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether the tensor is cut, along `dim` if given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether every process has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether every process has a summand of it."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Cut along a dim."""

    dim: int


@dataclass(frozen=True)
class _StridedShard(Shard):
    """Cut along a dim that another axis has cut already."""

    split_factor: int = 1


@dataclass(frozen=True)
class Replicate(Placement):
    """Whole in every process."""


@dataclass(frozen=True)
class Partial(Placement):
    """A summand in every process."""

    reduce_op: str = "sum"
