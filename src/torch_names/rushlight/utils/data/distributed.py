"""`torch.utils.data.distributed` under its own path."""

from ...data.distributed import DistributedSampler

__all__ = ["DistributedSampler"]
