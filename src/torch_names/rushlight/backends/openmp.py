"""`torch.backends.openmp`: whether the CPU engine runs its kernels on several threads."""

from __future__ import annotations


def is_available() -> bool:
    """Whether a native CPU engine with threads is loaded."""
    from ..runtime.cpu.engine import active

    return active() is not None
