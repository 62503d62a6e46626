"""Uses of lion-pytorch: a few steps with its rules."""

from library_use import steps_by
from lion_pytorch import Lion

LIBRARY = "lion-pytorch"


def lion() -> object:
    return steps_by(lambda p: Lion(p, lr=1e-2, weight_decay=0.1))
