"""Uses of torch-optimizer: a few steps with its rules."""

import torch_optimizer
from library_use import steps_by

LIBRARY = "torch-optimizer"


def yogi() -> object:
    return steps_by(lambda p: torch_optimizer.Yogi(p, lr=1e-2))


def diffgrad() -> object:
    return steps_by(lambda p: torch_optimizer.DiffGrad(p, lr=1e-2))


def lamb() -> object:
    return steps_by(lambda p: torch_optimizer.Lamb(p, lr=1e-2))
