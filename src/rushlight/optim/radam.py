"""`torch.optim.radam`, where PyTorch keeps RAdam."""

from .rules import RAdam

__all__ = ["RAdam"]
