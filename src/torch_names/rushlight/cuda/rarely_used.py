"""Names of `torch.cuda` that few programs need: nested counters, flags, older spellings."""

from __future__ import annotations

import warnings
from typing import Any

from ._gpus import is_available
from .memory import memory_stats, reset_peak_memory_stats

has_half = True
has_magma = False  # linear algebra is done by cuSOLVER


class CudaError(RuntimeError):
    """An error of the CUDA runtime, with its number.

    Args:
        code: the number.

    Example:
        >>> issubclass(torch.cuda.CudaError, RuntimeError)
        True
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error ({code})")


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The counters of `memory_stats`, one dict inside the other for each part of a name.

    Example:
        >>> isinstance(torch.cuda.memory_stats_as_nested_dict(), dict)
        True
    """
    found: dict[str, Any] = {}
    for name, count in memory_stats(device).items():
        *parents, last = name.split(".")
        inside = found
        for parent in parents:
            inside = inside.setdefault(parent, {})
        inside[last] = count
    return found


def reset_max_memory_cached(device: Any = None) -> None:
    """As `reset_peak_memory_stats`; a warning says so."""
    warnings.warn(
        "torch.cuda.reset_max_memory_cached now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak "
        "memory stats.",
        FutureWarning,
        stacklevel=2,
    )
    reset_peak_memory_stats(device)


def get_gencode_flags() -> str:
    """The flags that nvcc takes for the GPUs of this machine.

    Example:
        >>> torch.cuda.get_gencode_flags() == "" or torch.cuda.is_available()
        True
    """
    from . import get_arch_list

    numbers = [name.split("_")[1] for name in get_arch_list()]
    return " ".join(f"-gencode compute=compute_{n},code=sm_{n}" for n in numbers)


def _lazy_call(callable: Any, **kwargs: Any) -> None:  # noqa: A002 - PyTorch's name
    """Call something that needs a GPU: now where there is one, never where there is none."""
    if is_available():
        callable()
