"""The CPU: NumPy bodies for every kernel, with native ones in front where an engine is loaded."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...base.arrays import KernelBody, KernelLike
from ...base.device import CPU, device
from .. import devices
from . import engine
from .layouts import kind_of, laid_out, lying
from .quiet import context, quiet


class CpuBackend:
    """Arrays are `numpy.ndarray`."""

    type = "cpu"
    array_type = np.ndarray
    xp: Any = np

    def __init__(self) -> None:
        self._stream: Any = None

    def check(self, d: device) -> device:
        return CPU

    def device_of(self, a: np.ndarray) -> device:
        return CPU

    def bind(self, kernel: KernelLike) -> KernelBody:
        body, fallback = bodies(kernel)
        if fallback is not None:
            kernel.fallbacks[np.ndarray] = fallback
        return body

    def from_host(self, a: np.ndarray, d: device) -> np.ndarray:
        return a

    def to_host(self, a: np.ndarray) -> np.ndarray:
        return a

    def asarray(self, value: Any, like: Any = None) -> np.ndarray:
        return np.asarray(value)

    def synchronize(self, d: device) -> None:
        return None

    def stream(self, d: device) -> Any:
        """The default random stream."""
        if self._stream is None:
            from .random import Stream

            self._stream = Stream()
            self._stream.seed()  # a run without manual_seed differs from the last, as in PyTorch
        return self._stream


def engine_info() -> dict[str, str]:
    """What computes here, in words, for `rushlight devices`."""
    info = engine.engine_info()
    return {
        "engine": f"{info.name} {info.version}",
        "instruction set": info.instruction_set,
        "threads": str(info.threads),
    }


def bodies(kernel: KernelLike, guarded: bool = True) -> tuple[KernelBody, KernelBody | None]:
    """What computes a kernel here, and what does when that refuses: None where it never does.

    NumPy's own body is guarded against warnings, unless the caller is: a replay is, once for all.
    """
    library = engine.active()
    generic = _behind(kernel, guarded and not kernel.moves_only, getattr(library, "behind_it", None))
    own = devices.overrides("cpu").get(kernel.name)
    if own is not None:
        return own, generic
    native = None if library is None else library.kernel(kernel.name, generic)
    return generic if native is None else native, None


def _behind(kernel: KernelLike, guarded: bool, in_c: Any) -> KernelBody:
    """NumPy's body, laid out and guarded: in one call of C where the engine has it."""
    body = numpy_body(kernel)
    silence = context() if guarded else (None, None)
    if in_c is not None and (silence[0] is not None or not guarded):
        if kernel.is_view and not guarded:
            return body
        kind, lie = (0, None) if kernel.is_view else (kind_of(kernel.facts), lying(kernel.facts))
        return in_c(body, kind, lie, *silence)
    if not kernel.is_view:
        body = laid_out(kernel.facts, body)
    return quiet(body) if guarded else body


def numpy_body(kernel: KernelLike) -> KernelBody:
    """A kernel's generic body over NumPy; of a ufunc NumPy's own, without a frame."""
    name = getattr(kernel.generic, "ufunc", None)
    return getattr(np, name) if isinstance(name, str) else partial(kernel.generic, np)


CPU_BACKEND = CpuBackend()
devices.register(CPU_BACKEND)
