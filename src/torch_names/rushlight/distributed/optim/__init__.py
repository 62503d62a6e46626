"""`torch.distributed.optim`: optimisers of several processes."""

from ...optim.zero import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]
