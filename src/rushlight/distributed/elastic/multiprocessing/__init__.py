"""`torch.distributed.elastic.multiprocessing`: errors of ranks."""

from . import errors

__all__ = ["errors"]
