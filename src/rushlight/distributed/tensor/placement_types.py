"""`torch.distributed.tensor.placement_types`: how a tensor is spread over processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """How a tensor lies on the ranks along one dimension of a mesh: `Shard`, `Replicate` or `Partial`.

    Example:
        >>> from rushlight.distributed.tensor import Shard
        >>> Shard(0).is_shard(), Shard(0).is_replicate()
        (True, False)
    """

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
    """Cut along a dimension: each rank has some of it.

    Args:
        dim: the dimension of the tensor.

    Example:
        >>> from rushlight.distributed.tensor import Shard
        >>> Shard(1)
        Shard(dim=1)
    """

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True, repr=False)
class _StridedShard(Shard):
    """Cut along a dim after a later dim of the mesh has cut it: `fully_shard` over what tensor parallelism left."""

    split_factor: int = 1

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Whole on every rank.

    Example:
        >>> from rushlight.distributed.tensor import Replicate
        >>> Replicate()
        Replicate()
    """

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True, repr=False)
class Partial(Placement):
    """Every rank has one of the tensors that are reduced to it.

    Args:
        reduce_op: how they become one: "sum", "avg", "product", "max" or "min".

    Example:
        >>> from rushlight.distributed.tensor import Partial
        >>> Partial()
        Partial(sum)
    """

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


def cutting_order(kinds: Sequence[Placement]) -> list[int]:
    """The dims of a mesh in the order in which they cut a tensor."""
    last = [i for i, kind in enumerate(kinds) if isinstance(kind, _StridedShard)]
    return [*[i for i in range(len(kinds)) if i not in last], *last]
