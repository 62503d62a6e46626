"""Data that lie in memory as whole arrays: a batch of them is a gather, which a program can do itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.tensor import Tensor
from ..runtime.door import Kernel, run

TAKE_ROWS = Kernel("take_rows", lambda xp, a, places: a.take(places, axis=0), moves_only=True)


def rows(a: Any, places: Any) -> Any:
    """The rows of a raw array at places that lie on the same device."""
    return run(TAKE_ROWS, a.__class__, (a, places), {})


class Resident(NamedTuple):
    """A dataset's tensors, and `fetch(places, *arrays)`: the arrays of a batch, without random numbers.

    The function works by kernels alone, so that a program can record it, and must be the same object as
    long as it does the same.
    """

    tensors: tuple[Tensor, ...]
    fetch: Callable[..., Any]
