"""`torch.distributed._functional_collectives`: collectives that return new tensors; they can be differentiated."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..operators.shape.join import cat
from .groups import group_of
from .nn import functional
from .reduce_op import reduce_op

__all__ = [
    "all_gather_tensor", "all_reduce", "all_to_all_single", "all_to_all_single_autograd", "broadcast",
    "reduce_scatter_tensor", "wait_tensor",
]  # fmt: skip


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor itself: these collectives are done when they return."""
    return tensor


def all_reduce(self: Tensor, reduceOp: str, group: Any = None, tag: str = "") -> Tensor:
    """The reduction of all ranks' tensors."""
    return functional.all_reduce(self, reduce_op(reduceOp), group_of(group))


def broadcast(self: Tensor, src: int, group: Any = None, tag: str = "") -> Tensor:
    """Rank `src`'s tensor."""
    return functional.broadcast(self, src, group_of(group))


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any = None, tag: str = "") -> Tensor:
    """All ranks' tensors, one after the other along a dim."""
    return cat(list(functional.all_gather(self, group_of(group))), gather_dim)


def reduce_scatter_tensor(self: Tensor, reduceOp: str, scatter_dim: int, group: Any = None, tag: str = "") -> Tensor:
    """This rank's share, along a dim, of the reduction of all ranks' tensors."""
    of = group_of(group)
    if self.shape[scatter_dim] % of.size():
        raise AssertionError(
            f"input dimension 0 ({self.shape[scatter_dim]} must be a multiple of group_size {of.size()})"
        )
    parts = list(self.chunk(of.size(), scatter_dim))
    return functional.reduce_scatter(parts[0], parts, reduce_op(reduceOp), of)


def all_to_all_single(
    self: Tensor, output_split_sizes: Any, input_split_sizes: Any, group: Any = None, tag: str = ""
) -> Tensor:
    """Rank r gets the r-th part, along the first dim, of every rank's tensor."""
    rows = sum(output_split_sizes) if output_split_sizes else self.shape[0]
    shaped = self.new_empty((rows, *self.shape[1:]))
    return functional.all_to_all_single(shaped, self, output_split_sizes, input_split_sizes, group_of(group))


all_to_all_single_autograd = all_to_all_single
