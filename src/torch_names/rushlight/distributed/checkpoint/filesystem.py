"""`torch.distributed.checkpoint.filesystem`: where checkpoints are."""

from .saving import FileSystemReader, FileSystemWriter

__all__ = ["FileSystemReader", "FileSystemWriter"]
