"""Checks of a distribution's parameters and values, which recorded programs repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.tensor import Tensor
from ..operators.made_of.checks import CHECK
from ..runtime.door import run

if TYPE_CHECKING:
    from ..base.protocols import Array


class _CheckFailed(ValueError):
    """What a check of the CPU raises; an eager call says more."""


def _all_true(fine: Array, value: Array, begin: str, end: str) -> None:
    if not fine.all():
        raise _CheckFailed(f"{begin} {end}\n{value}")


def require(
    fine: Tensor, value: Tensor, distribution: Any, begin: str, end: str, wrong_only: bool = False
) -> None:
    """Raise ValueError unless `fine` is true everywhere: `begin`, the distribution, `end`, the (wrong) values.

    On the CPU this is no read by the host but a kernel without results, so a compiled step with distributions stays
    one program and refuses what an eager step refuses. On a GPU the host waits for the flag, as in PyTorch.
    """
    name = type(distribution).__name__
    if isinstance(fine._a, np.ndarray):
        limits = (f"{begin} {name}", end)  # without numbers, which differ from call to call
        try:
            run(CHECK, np.ndarray, (fine._a, value._a), {"test": _all_true, "limits": limits})
            return
        except _CheckFailed:
            pass
    elif fine.all():
        return
    said, shown = repr(distribution), value.data[~fine] if wrong_only else value
    raise ValueError(f"{begin} {said}{'' if end[0] == ',' else ' '}{end}\n{shown}") from None
