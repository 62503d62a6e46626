"""`torch.distributed.algorithms.ddp_comm_hooks`: how DDP's buckets travel."""

from . import debugging_hooks, default_hooks, post_localSGD_hook, powerSGD_hook

__all__ = ["debugging_hooks", "default_hooks", "post_localSGD_hook", "powerSGD_hook"]
