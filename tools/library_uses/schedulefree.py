"""Uses of schedulefree: a few steps with its rules."""

import schedulefree
from library_use import steps_by

LIBRARY = "schedulefree"


def adamw() -> object:
    return steps_by(lambda p: schedulefree.AdamWScheduleFree(p, lr=1e-2, foreach=False))


def sgd() -> object:
    return steps_by(lambda p: schedulefree.SGDScheduleFree(p, lr=1e-1, foreach=False))
