"""`torch.distributed.nn`: collectives that can be differentiated."""

from . import functional
from .functional import all_gather, all_reduce, all_to_all, broadcast, gather, reduce, scatter

__all__ = ["all_gather", "all_reduce", "all_to_all", "broadcast", "functional", "gather", "reduce", "scatter"]
