"""Tables that follow from shapes alone, sent to the GPU once: places and weights of a resized axis, say.

A graph may read one as long as it lives, so it is held as kernels are (held.py); and as nothing may be sent during a
capture, it is the eager call before that sends it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cupy.cuda import runtime

from ....base.bounded import Bounded
from ..memory.host_copies import to_device
from ..memory.streams import current
from .held import runnable
from .sources import device

_MOST = 64 << 20  # bytes of all tables together


class _Table:
    """An array on the GPU that nobody writes into."""

    def __init__(self, array: Any) -> None:
        self.array = array


class _Tables(Bounded):
    """All of them, by what is in them."""

    __slots__ = ("bytes",)

    def __init__(self) -> None:
        super().__init__(1024)
        self.bytes = 0

    def add(self, key: tuple, a: np.ndarray) -> Any:
        """Send one, and wait: other streams will read it as well."""
        array = to_device(a, device())
        runtime.streamSynchronize(current.ptr)
        if self.bytes + a.nbytes > _MOST:
            self.clear()
            self.bytes = 0
        self.bytes += a.nbytes
        self[key] = runnable(_Table(array))
        return array


_tables = _Tables()


def kept(a: np.ndarray) -> Any:
    """A host array on the current GPU, the same one for equal contents; it is not to be written into."""
    key = (a.dtype.str, a.shape, a.tobytes(), device())
    found = _tables.get(key)
    return _tables.add(key, a) if found is None else found.array
