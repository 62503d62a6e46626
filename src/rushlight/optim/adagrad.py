"""`torch.optim.adagrad`, where PyTorch keeps Adagrad."""

from .rules_older import Adagrad

__all__ = ["Adagrad"]
