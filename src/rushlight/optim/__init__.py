"""Optimisers and learning rate schedules, with PyTorch's names."""

from ..base.signatures import show_plainly
from . import lr_scheduler, swa_utils
from .adafactor import Adafactor
from .lbfgs import LBFGS
from .muon import Muon
from .optimizer import Optimizer
from .rules import SGD, Adam, Adamax, AdamW, NAdam, RAdam
from .rules_older import ASGD, Adadelta, Adagrad, RMSprop, Rprop
from .sparse_adam import SparseAdam

__all__ = [
    "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam",
    "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam", "lr_scheduler", "swa_utils",
]  # fmt: skip

show_plainly([*globals().values(), *vars(lr_scheduler).values()])
del show_plainly
