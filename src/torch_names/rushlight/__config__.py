"""`torch.__config__`: how this was built."""

from __future__ import annotations

import platform

__all__ = ["parallel_info", "show"]


def show() -> str:
    """What this is, the CPU engine and the thread count, a line each."""
    from .base.version import __version__
    from .operators.memory.query import get_num_threads
    from .runtime.cpu.engine import engine_info

    return (
        f"rushlight {__version__}, which stands for PyTorch built with:\n"
        f"  - Python {platform.python_version()}, {platform.machine()}\n"
        f"  - CPU engine: {engine_info().name}\n"
        f"  - threads: {get_num_threads()}\n"
    )


def parallel_info() -> str:
    """How many threads compute."""
    from .operators.memory.query import get_num_threads

    return f"at::get_num_threads() : {get_num_threads()}\n"
