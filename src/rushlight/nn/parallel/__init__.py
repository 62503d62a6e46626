"""Models on several devices and in several processes."""

from typing import TYPE_CHECKING, Any

from .data_parallel import DataParallel
from .scatter_gather import gather, parallel_apply, replicate, scatter

if TYPE_CHECKING:
    from .distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "gather", "parallel_apply", "replicate", "scatter"]


def __getattr__(name: str) -> Any:
    """Import what needs other processes on first use."""
    from importlib import import_module

    if name == "DistributedDataParallel":
        return import_module(f"{__name__}.distributed").DistributedDataParallel
    if name == "distributed":
        return import_module(f"{__name__}.distributed")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
