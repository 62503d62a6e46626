"""`torch.optim.sgd`, where PyTorch keeps SGD."""

from .rules import SGD

__all__ = ["SGD"]
