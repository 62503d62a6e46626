"""`torch.nn.parallel.replicate`: where PyTorch keeps the function of that name."""

from .scatter_gather import replicate

__all__ = ["replicate"]
