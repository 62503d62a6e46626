"""`torch.optim.asgd`, where PyTorch keeps ASGD."""

from .rules_older import ASGD

__all__ = ["ASGD"]
