"""`torch.optim.rmsprop`, where PyTorch keeps RMSprop."""

from .rules_older import RMSprop

__all__ = ["RMSprop"]
