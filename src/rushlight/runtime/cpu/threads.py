"""How many threads CPU kernels use: what the machine offers, what the user asked for, and which engines must be informed."""

from __future__ import annotations

import ctypes
import os
from functools import lru_cache
from typing import Any

import numpy as np

from ...base.config import settings

_engine: Any = None  # the engine that is informed of changes


def get() -> int:
    """Threads in use: as set, or as many as this process may run on."""
    return settings.num_threads or usable()


def set(n: int) -> None:  # noqa: A001 - threads.set(n)
    """Use `n` threads from now on, in the engine and in NumPy's own BLAS."""
    settings.num_threads = n
    apply(told=True)


def tell(engine: Any) -> None:
    """Tell this engine the number, now and whenever it changes; None where NumPy computes alone."""
    global _engine
    _engine = engine
    apply()


def apply(told: bool = False) -> None:
    """Pass number and mode on; NumPy's BLAS keeps its own default until the user says a number."""
    if _engine is not None:
        _engine.set_threads(get())
        _engine.set_same_bits(settings.deterministic)
    if told or settings.num_threads:
        blas = _blas_setter()
        if blas is not None:
            blas(get())


@lru_cache(maxsize=1)
def usable() -> int:
    """CPUs this process may use: its affinity, and its container's quota rounded up."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    quota = cgroup_quota()
    return max(1, count if quota is None else min(count, -(-quota[0] // quota[1])))


def cgroup_quota(root: str = "/sys/fs/cgroup") -> tuple[int, int] | None:
    """CPU time per period that a container grants, in microseconds; None without a limit."""
    try:  # version 2
        words = _text(root, "cpu.max").split()
    except OSError:
        try:  # version 1
            words = [_text(root, "cpu", f"cpu.cfs_{part}_us") for part in ("quota", "period")]
        except OSError:
            return None
    try:
        quota, period = int(words[0]), int(words[1])
    except (ValueError, IndexError):  # "max 100000"
        return None
    return (quota, period) if quota > 0 and period > 0 else None


def _text(*parts: str) -> str:
    with open(os.path.join(*parts)) as f:
        return f.read()


@lru_cache(maxsize=1)
def _blas_setter() -> Any:
    """`openblas_set_num_threads` of the library that NumPy brought along, if it did."""
    from pathlib import Path  # 6 ms of `import rushlight` that most programs never need

    folder = Path(np.__file__).parent
    for place in (folder.parent / "numpy.libs", folder / ".libs", folder / ".dylibs"):
        for path in place.glob("*openblas*"):
            try:
                library = ctypes.CDLL(str(path))  # loaded already: this only finds it
            except OSError:
                continue
            for name in ("scipy_openblas_set_num_threads64_", "openblas_set_num_threads64_",
                         "openblas_set_num_threads"):  # fmt: skip
                if hasattr(library, name):
                    return getattr(library, name)
    return None
