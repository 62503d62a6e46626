"""`torch.optim.adadelta`, where PyTorch keeps Adadelta."""

from .rules_older import Adadelta

__all__ = ["Adadelta"]
