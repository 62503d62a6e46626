"""`torch.optim.adam`, where PyTorch keeps Adam."""

from .rules import Adam

__all__ = ["Adam"]
