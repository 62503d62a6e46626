"""`torch.optim.adamw`, where PyTorch keeps AdamW."""

from .rules import AdamW

__all__ = ["AdamW"]
