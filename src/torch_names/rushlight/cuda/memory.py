"""How much memory the GPUs hold: counters, their peaks, and giving memory back."""

from __future__ import annotations

from typing import Any

from ._gpus import gpu, index_of, is_available, is_initialized


def _runtime(device: Any) -> tuple[Any, int]:
    return gpu(), index_of(device)


def memory_stats(device: Any = None) -> dict[str, int]:
    """All counters of a GPU's allocator, named as PyTorch names them; empty without a GPU.

    Example:
        >>> torch.cuda.memory_stats().get("num_ooms", 0) >= 0
        True
    """
    if not is_available():
        return {}
    runtime, index = _runtime(device)
    return dict(runtime.memory_stats(index))


def memory_allocated(device: Any = None) -> int:
    """Bytes that live tensors take on a GPU.

    Example:
        >>> torch.cuda.memory_allocated() >= 0
        True
    """
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that live tensors took, since the last `reset_peak_memory_stats`.

    Example:
        >>> torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated()
        True
    """
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device: Any = None) -> int:
    """Bytes that the allocator keeps, in use or not.

    Example:
        >>> torch.cuda.memory_reserved() >= torch.cuda.memory_allocated()
        True
    """
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that the allocator kept.

    Example:
        >>> torch.cuda.max_memory_reserved() >= torch.cuda.memory_reserved()
        True
    """
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Start the peaks again from what is in use now.

    Example:
        >>> if torch.cuda.is_available():
        ...     torch.cuda.reset_peak_memory_stats()
    """
    runtime, index = _runtime(device)
    runtime.reset_peak_memory_stats(index)


reset_max_memory_allocated = reset_peak_memory_stats


def empty_cache() -> None:
    """Give memory that no tensor uses back to the driver; nothing to do before the first use.

    Example:
        >>> torch.cuda.empty_cache()
    """
    if is_initialized():
        _runtime(None)[0].empty_cache()


def ipc_collect() -> None:
    """Give back memory that was shared between processes: there is none here, so only the check for a GPU is left.

    Example:
        >>> if torch.cuda.is_available():
        ...     torch.cuda.ipc_collect()
    """
    _runtime(None)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The free and the total bytes of a GPU, as the driver counts them.

    Example:
        >>> if torch.cuda.is_available():
        ...     free, total = torch.cuda.mem_get_info()
    """
    runtime, index = _runtime(device)
    free, total = runtime.mem_get_info(index)
    return int(free), int(total)


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Let this process take at most a fraction of a GPU's memory.

    Args:
        fraction: between 0 and 1.

    Raises:
        ValueError: if it is not.

    Example:
        >>> torch.cuda.set_per_process_memory_fraction(1.5)
        Traceback (most recent call last):
            ...
        ValueError: Invalid fraction value: 1.5. Allowed range: 0~1
    """
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    runtime, index = _runtime(device)
    runtime.set_memory_limit(index, int(fraction * runtime.mem_get_info(index)[1]))


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The counters as a table to print.

    Args:
        abbreviated: accepted and not needed.

    Example:
        >>> if torch.cuda.is_available():
        ...     text = torch.cuda.memory_summary()
    """
    runtime, index = _runtime(device)
    stats = memory_stats(index)
    free, total = runtime.mem_get_info(index)
    rows = [("allocated", "allocated_bytes"), ("reserved", "reserved_bytes")]
    lines = [f"Memory of cuda:{index}", f"{'':12}{'now':>12}{'peak':>12}"]
    for label, key in rows:
        now, peak = (stats.get(f"{key}.all.{when}", 0) for when in ("current", "peak"))
        lines.append(f"{label:12}{_mib(now):>12}{_mib(peak):>12}")
    lines.append(f"{'device':12}{_mib(total - free):>12}{_mib(total):>12}  (used, total)")
    return "\n".join(lines)


def _mib(n: int) -> str:
    return f"{n / 2**20:.1f} MiB"
