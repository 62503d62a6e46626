"""`torch.distributed.algorithms.ddp_comm_hooks`: how DDP's buckets travel."""

from . import default_hooks

__all__ = ["default_hooks"]
