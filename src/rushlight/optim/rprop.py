"""`torch.optim.rprop`, where PyTorch keeps Rprop."""

from .rules_older import Rprop

__all__ = ["Rprop"]
