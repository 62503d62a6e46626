"""`torch.distributed.optim.zero_redundancy_optimizer`: ZeRO under its own path."""

from ...optim.zero import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]
