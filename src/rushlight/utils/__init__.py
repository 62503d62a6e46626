"""`rushlight.utils`: what PyTorch keeps under `torch.utils`."""

from . import data

__all__ = ["data"]
