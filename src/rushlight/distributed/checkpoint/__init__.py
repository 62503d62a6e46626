"""`torch.distributed.checkpoint`: folders that all ranks write together, and any number of ranks reads."""

from . import state_dict
from .saving import FileSystemReader, FileSystemWriter, async_save, load, save

__all__ = ["FileSystemReader", "FileSystemWriter", "async_save", "load", "save", "state_dict"]
