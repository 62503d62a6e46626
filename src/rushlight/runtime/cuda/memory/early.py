"""Small values that a CUDA graph sends to the host as soon as they are there, while the rest of it is at work.

A loss is known when a third of a training step is done. Whoever asks for its value need not wait for the gradients.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache, partial
from typing import Any

import numpy as np
from cupy.cuda import runtime

from ..code.held import outside_captures
from .host_copies import pinned_empty
from .lost import explaining
from .streams import current, new_event

_TO_HOST = 2
_EXTERNAL = 1  # CU_EVENT_RECORD_EXTERNAL: the graph records the mark in each of its launches


@cache
def _record() -> Any:
    """The driver's function that puts a mark into a graph; None where this driver has none."""
    try:
        found = ctypes.PyDLL("libcuda.so.1").cuEventRecordWithFlags
    except (OSError, AttributeError):
        return None
    found.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint]
    return found


def can_send() -> bool:
    """Whether graphs can send values early on this machine."""
    return _record() is not None


def _wait(mark: Any, host: np.ndarray) -> None:
    """Let `host` be held until the graph that writes it has passed its mark."""
    mark.synchronize()


class Early:
    """Where one value of a graph arrives on the host, and the mark behind it."""

    __slots__ = ("host", "mark")

    def __init__(self, like: Any) -> None:
        self.host = pinned_empty(like.shape, like.dtype)
        self.mark = new_event(False, False)

    def send(self, array: Any) -> bool:
        """Put the copy and its mark into the graph that is being captured; False where the driver refuses."""
        address = self.host.__array_interface__["data"][0]
        runtime.memcpyAsync(address, array.data.ptr, self.host.nbytes, _TO_HOST, current.ptr)
        return not _record()(self.mark.ptr, current.ptr, _EXTERNAL)

    def __del__(self) -> None:
        # Nobody else may have this memory while a graph could still write it.
        with suppress(Exception):
            outside_captures(partial(_wait, self.mark, self.host))

    def value(self) -> np.ndarray:
        """What the graph's last launch sent; only that is waited for."""
        with explaining():
            self.mark.synchronize()
        return self.host.copy()
