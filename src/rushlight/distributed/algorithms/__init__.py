"""`torch.distributed.algorithms`: ways for several processes to work together."""

from . import ddp_comm_hooks, join

__all__ = ["ddp_comm_hooks", "join"]
