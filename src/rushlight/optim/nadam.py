"""`torch.optim.nadam`, where PyTorch keeps NAdam."""

from .rules import NAdam

__all__ = ["NAdam"]
