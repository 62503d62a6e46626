"""`torch.distributed.checkpoint`: folders that all ranks write together, and any number of ranks reads."""

from . import (  # type: ignore[attr-defined]
    default_planner,  # noqa: F401
    filesystem,
    format_utils,
    state_dict,
    state_dict_loader,
    state_dict_saver,
    stateful,
)
from .saving import DefaultLoadPlanner, DefaultSavePlanner, FileSystemReader, FileSystemWriter, async_save, load, save

__all__ = [
    "DefaultLoadPlanner", "DefaultSavePlanner", "FileSystemReader", "FileSystemWriter", "async_save", "filesystem",
    "format_utils", "load", "save", "state_dict", "state_dict_loader", "state_dict_saver", "stateful",
]  # fmt: skip
