"""`torch.cuda.profiler`: when NVIDIA's tools record, through CuPy; `rushlight.profiler` measures without them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._gpus import is_available

__all__ = ["profile", "start", "stop"]


def _profiler() -> Any:
    if not is_available():
        raise AssertionError("Torch not compiled with CUDA enabled")
    from cupy.cuda import profiler

    return profiler


def start() -> None:
    """Let a tool that waits for it begin to record (`nsys profile -c cudaProfilerApi`).

    Raises:
        AssertionError: without a GPU.

    Example:
        >>> from rushlight.cuda import profiler
        >>> if torch.cuda.is_available():
        ...     profiler.start()
        ...     profiler.stop()
    """
    _profiler().start()


def stop() -> None:
    """Let it end.

    Raises:
        AssertionError: without a GPU.

    Example:
        >>> from rushlight.cuda import profiler
        >>> if torch.cuda.is_available():
        ...     profiler.start()
        ...     profiler.stop()
    """
    _profiler().stop()


@contextmanager
def profile() -> Iterator[None]:
    """A block that is recorded.

    Raises:
        AssertionError: without a GPU.

    Example:
        >>> from rushlight.cuda import profiler
        >>> if torch.cuda.is_available():
        ...     with profiler.profile():
        ...         torch.ones(2, device="cuda")
    """
    start()
    try:
        yield
    finally:
        stop()
