"""`torch.cuda.nvtx`: names in the timeline of NVIDIA's tools, through CuPy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._gpus import is_available

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _nvtx() -> Any:
    if not is_available():
        raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")
    from cupy.cuda import nvtx

    return nvtx


def range_push(msg: str) -> None:
    """Begin a named stretch of this thread; stretches may lie in one another.

    Args:
        msg: its name.

    Raises:
        RuntimeError: without a GPU.

    Example:
        >>> from rushlight.cuda import nvtx
        >>> if torch.cuda.is_available():
        ...     nvtx.range_push("forward")
        ...     nvtx.range_pop()
    """
    _nvtx().RangePush(msg)


def range_pop() -> None:
    """End the stretch that was begun last.

    Raises:
        RuntimeError: without a GPU.

    Example:
        >>> from rushlight.cuda import nvtx
        >>> if torch.cuda.is_available():
        ...     nvtx.range_push("backward")
        ...     nvtx.range_pop()
    """
    _nvtx().RangePop()


def range_start(msg: str) -> int:
    """Begin a named stretch that may end in another thread; the answer is for `range_end`.

    Args:
        msg: its name.

    Raises:
        RuntimeError: without a GPU.

    Example:
        >>> from rushlight.cuda import nvtx
        >>> if torch.cuda.is_available():
        ...     nvtx.range_end(nvtx.range_start("loading"))
    """
    return _nvtx().RangeStart(msg)


def range_end(range_id: int) -> None:
    """End a stretch of `range_start`.

    Args:
        range_id: what that returned.

    Raises:
        RuntimeError: without a GPU.

    Example:
        >>> from rushlight.cuda import nvtx
        >>> if torch.cuda.is_available():
        ...     nvtx.range_end(nvtx.range_start("loading"))
    """
    _nvtx().RangeEnd(range_id)


def mark(msg: str) -> None:
    """A name at this moment.

    Args:
        msg: the name.

    Raises:
        RuntimeError: without a GPU.

    Example:
        >>> from rushlight.cuda import nvtx
        >>> if torch.cuda.is_available():
        ...     nvtx.mark("epoch 1")
    """
    _nvtx().Mark(msg)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A block as a named stretch.

    Args:
        msg: its name, which is formatted with the other arguments.

    Raises:
        RuntimeError: without a GPU.

    Example:
        >>> from rushlight.cuda import nvtx
        >>> if torch.cuda.is_available():
        ...     with nvtx.range("step {}", 3):
        ...         torch.ones(2, device="cuda")
    """
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
