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

_LARGE = 512 << 10  # bytes from which a table is left to those who asked for it


class _Table:
    """An array on the GPU that nobody writes into."""

    def __init__(self, array: Any) -> None:
        self.array = array


_tables: dict[tuple, _Table] = Bounded(128)


def kept(a: np.ndarray, index: int | None = None) -> Any:
    """A host array on a GPU, the current one if not said, the same for equal contents; it is not to be written into."""
    index = device() if index is None else index
    key = (a.dtype, a.shape, a.tobytes(), index)
    found = _tables.get(key)
    if found is not None:
        return found.array
    array = to_device(a, index)
    runtime.streamSynchronize(current.ptr)  # other streams will read it as well
    if a.nbytes < _LARGE:
        _tables[key] = runnable(_Table(array))
    return array
