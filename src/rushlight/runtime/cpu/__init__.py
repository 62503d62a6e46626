"""The CPU: NumPy bodies for every kernel, with native ones in front where an engine is loaded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...base.device import CPU, device
from .. import devices
from . import engine
from .quiet import quiet


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

    def bind(self, kernel: Any) -> Callable[..., Any]:
        generic: Callable[..., Any] = partial(kernel.generic, np)
        if isinstance(getattr(kernel.generic, "ufunc", None), str):
            generic = getattr(np, kernel.generic.ufunc)
        if not kernel.moves_only:
            generic = quiet(generic)
        own = devices.overrides("cpu").get(kernel.name)
        if own is not None:
            return _first(own, generic)
        library = engine.active()
        native = None if library is None else library.kernel(kernel.name, generic)
        return generic if native is None else native

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


def _first(own: Callable, generic: Callable) -> Callable:
    """Prefer a body of this device's own; it answers NotImplemented for shapes it refuses."""

    def impl(*arrays: Any, **attrs: Any) -> Any:
        out = own(*arrays, **attrs)
        return generic(*arrays, **attrs) if out is NotImplemented else out

    return impl


CPU_BACKEND = CpuBackend()
devices.register(CPU_BACKEND)
