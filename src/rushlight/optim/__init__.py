"""Optimisers and learning rate schedules, with PyTorch's names."""

from . import lr_scheduler
from .lbfgs import LBFGS
from .optimizer import Optimizer
from .rules import SGD, Adam, Adamax, AdamW, NAdam, RAdam
from .rules_more import ASGD, Adadelta, Adagrad, RMSprop, Rprop

__all__ = [
    "ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "NAdam", "Optimizer", "RAdam",
    "RMSprop", "Rprop", "SGD", "lr_scheduler",
]  # fmt: skip
