"""`torch.distributed.distributed_c10d`: the names of `torch.distributed` under the path of PyTorch's own file."""

from __future__ import annotations

from typing import Any

from .. import distributed as _package
from .groups import ProcessGroup, group_of

__all__ = list(_package.__all__)

globals().update({name: getattr(_package, name) for name in __all__})


def _get_default_group() -> ProcessGroup:
    """The group of all ranks."""
    return group_of()


def _get_default_store() -> Any:
    """The store by which the ranks met."""
    return group_of().world.store


_get_global_rank = _package.get_global_rank  # its name before PyTorch 1.13
