"""`torch.distributed.checkpoint`: folders that all ranks write together, and any number of ranks reads."""

from . import (  # type: ignore[attr-defined]
    default_planner,  # noqa: F401
    filesystem,
    format_utils,
    metadata,
    state_dict,
    state_dict_loader,
    state_dict_saver,
    stateful,
)
from .hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from .saving import (
    CheckpointException,
    DefaultLoadPlanner,
    DefaultSavePlanner,
    FileSystemReader,
    FileSystemWriter,
    async_save,
    load,
    save,
)

__all__ = [
    "CheckpointException", "DefaultLoadPlanner", "DefaultSavePlanner", "FileSystemReader", "FileSystemWriter",
    "HuggingFaceStorageReader", "HuggingFaceStorageWriter", "async_save", "filesystem",
    "format_utils", "load", "metadata", "save", "state_dict", "state_dict_loader", "state_dict_saver", "stateful",
]  # fmt: skip
