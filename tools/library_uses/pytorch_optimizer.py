"""Uses of pytorch-optimizer: a few steps with its rules."""

import pytorch_optimizer
from library_use import steps_by

LIBRARY = "pytorch-optimizer"


def adan() -> object:
    return steps_by(lambda p: pytorch_optimizer.Adan(p, lr=1e-2))


def lamb() -> object:
    return steps_by(lambda p: pytorch_optimizer.Lamb(p, lr=1e-2))


def adabelief() -> object:
    return steps_by(lambda p: pytorch_optimizer.AdaBelief(p, lr=1e-2))


def prodigy() -> object:
    return steps_by(lambda p: pytorch_optimizer.Prodigy(p, lr=1.0))
