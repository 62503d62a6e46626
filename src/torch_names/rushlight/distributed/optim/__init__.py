"""`torch.distributed.optim`: optimisers of several processes."""

from ...optim.zero import ZeroRedundancyOptimizer
from ..averaging import PostLocalSGDOptimizer

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]
