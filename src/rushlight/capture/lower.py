"""Which lowering a program takes: by the device it was recorded on."""

from __future__ import annotations

from typing import Any

from .program import Program


def lower(program: Program, exclusive: set[int]) -> Any:
    """A replay of `program`; storages in `exclusive` share memory with nothing."""
    if program.device == "cuda":
        from .lower_cuda import CudaReplay

        return CudaReplay(program, exclusive)
    from .lower_cpu import CpuReplay

    return CpuReplay(program, exclusive)
