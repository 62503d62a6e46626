"""`torch.optim.adamax`, where PyTorch keeps Adamax."""

from .rules import Adamax

__all__ = ["Adamax"]
