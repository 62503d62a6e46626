"""Checks of values, which only the CPU makes: a GPU is not made to wait until the host has seen them.

A check is a kernel without results. So it sees values that are computed by then, it is part of recorded
programs, and a replay refuses what an eager call would refuse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...core.tensor import Tensor
from ...runtime.door import Kernel, run
from ...runtime.facts import Facts


def _body(xp: ArrayModule, *arrays: Array, test: Callable[..., None], limits: tuple) -> tuple:
    if xp is np:
        test(*arrays, *limits)
    return ()


# No pass may leave it out or move it away, as if it drew random numbers.
CHECK = Kernel(
    "check", _body, random=True, meta=lambda *arrays, **attrs: [], facts=Facts(refuses=True, vmap="check", aten="")
)


def check_values(test: Callable[..., None], t: Tensor, *limits: Any) -> None:
    """Let `test(array, *limits)` raise where the values of `t` are not what they should be.

    `test` is a function of a module: two recordings of one call compare it by identity.
    """
    run(CHECK, t._a.__class__, (t._a,), {"test": test, "limits": limits})


def between_zero_and_one(a: Array, message: str) -> None:
    """A test: nan is not between them."""
    if not ((a >= 0) & (a <= 1)).all():
        raise RuntimeError(message)


def below(a: Array, bound: int, message: str) -> None:
    """A test: positions from zero on."""
    if not ((a >= 0) & (a < bound)).all():
        raise RuntimeError(message)
