"""From a program to code that runs it: which way that goes is decided by the device it was recorded on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..program.instructions import Program


def lower(
    program: Program,
    exclusive: set[int],
    seeds: list[int],
    measured: bool = True,
    early: bool = False,
    ahead: int = 0,
    save: Callable[[Any], None] | None = None,
) -> Any:
    """A replay of `program`; storages in `exclusive` share memory with nothing.

    `seeds` are the arguments that the backward half starts from, when there is one. Where `measured`, kernels of
    a GPU's libraries are the quickest ones; otherwise those of an eager call, which give the same bits. Where `early`, a
    GPU sends small results to the host as soon as it has them, and its first `ahead` instructions can begin before the
    rest is called for, after `save` was told of the replay that they belong to.
    """
    if program.device == "cuda":
        from .cuda import CudaReplay

        return CudaReplay(program, exclusive, seeds, measured, early, ahead, save)
    from .cpu import CpuReplay

    return CpuReplay(program, exclusive, seeds)
