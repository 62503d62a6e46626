"""`torch.nn.parallel.parallel_apply`: where PyTorch keeps the function of that name."""

from .scatter_gather import parallel_apply

__all__ = ["parallel_apply"]
