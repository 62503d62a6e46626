"""`torch.distributed.checkpoint`: folders that all ranks write together, and any number of ranks reads."""

from . import (  # type: ignore[attr-defined]
    filesystem,
    format_utils,
    state_dict,
    state_dict_loader,
    state_dict_saver,
    stateful,
)
from .default_planner import DefaultLoadPlanner, DefaultSavePlanner
from .saving import FileSystemReader, FileSystemWriter, async_save, load, save

__all__ = [
    "DefaultLoadPlanner", "DefaultSavePlanner", "FileSystemReader", "FileSystemWriter", "async_save", "filesystem",
    "format_utils", "load", "save", "state_dict", "state_dict_loader", "state_dict_saver", "stateful",
]  # fmt: skip
