"""`rushlight.utils`: what PyTorch keeps under `torch.utils`."""

from . import data, dlpack

__all__ = ["data", "dlpack"]
