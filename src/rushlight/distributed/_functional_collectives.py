"""`torch.distributed._functional_collectives`: collectives that return new tensors, for one rank."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ._one import functions

__all__ = ["all_gather_tensor", "all_reduce", "reduce_scatter_tensor", "wait_tensor"]


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor itself: with one rank a collective is done when it returns."""
    return tensor


def all_reduce(self: Tensor, reduceOp: str, group: Any = None, tag: str = "") -> Tensor:  # noqa: N803
    """The only rank's tensor, copied."""
    return self.clone()


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any = None, tag: str = "") -> Tensor:
    """The only rank's tensor, copied."""
    return self.clone()


def reduce_scatter_tensor(
    self: Tensor,
    reduceOp: str,  # noqa: N803
    scatter_dim: int,
    group: Any = None,
    tag: str = "",
) -> Tensor:
    """The only rank's tensor, copied."""
    return self.clone()


globals().update(functions("_functional_collectives", "all_to_all_single_autograd"))
