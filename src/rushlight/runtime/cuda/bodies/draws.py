"""Kernels that draw random numbers in one launch where the generic body takes several."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from ....base.arrays import DeviceArray
from ....base.bounded import Bounded
from ....base.device import device
from ....base.dtypes import from_np
from ... import devices
from ...door import kernel_for
from ..code.compile import Launch, kernel, source
from ..code.keyed import alone
from ..code.launch import Result
from .fills import one_launch
from .stream import DIGITS, text_for


@kernel_for("cuda", "dropout_mask")
def _dropout_mask(x: DeviceArray, *, p: float, shape: tuple[int, ...]) -> Any:
    backend = devices.backend_of(device("cuda"))
    stream = backend.stream(backend.device_of(x))
    return stream.bernoulli(1.0 - p, shape, x.dtype, 1.0 / (1.0 - p))


_kernels: dict[tuple[str, Any], Launch] = Bounded(256)  # by name and dtype
_KEY = np.dtype(np.int64)


def _launch(name: str, dtype: np.dtype, n: int, *values: Any) -> None:
    _kernel(name, dtype)(_blocks(n), 256, n, *values)


def _kernel(name: str, dtype: np.dtype) -> Launch:
    found = _kernels.get((name, dtype))
    if found is None:
        text = text_for(from_np(dtype).name) + source("dropout.cu")
        found = _kernels[name, dtype] = kernel(text, name)
    return found


def _blocks(n: int) -> int:
    return min(-(-n // 1024), 4096)


def _dropout(x: DeviceArray, *, p: float) -> Any:
    """Dropped numbers, and the key to draw the same again: the mask never exists."""
    if from_np(x.dtype).name not in DIGITS or not x._c_contiguous or not x.size:
        return None
    backend, keep = devices.backend_of(device("cuda")), 1.0 - p
    where = backend.device_of(x)
    results = (Result(1, x.shape, x.dtype), Result(3, (2,), _KEY))
    call = _kernel("dropout", x.dtype).prepared(_blocks(x.size), 256, results, keep, 1 / keep, front=(x.size,))
    return lambda x: call(x, backend.stream(where).address)


def _dropout_grad(gy: DeviceArray, kept: DeviceArray, *, p: float) -> Any:
    if kept.dtype != _KEY or from_np(gy.dtype).name not in DIGITS or not gy._c_contiguous or not gy.size:
        return None
    keep = 1.0 - p
    results = (Result(1, gy.shape, gy.dtype),)
    return _kernel("dropout_again", gy.dtype).prepared(_blocks(gy.size), 256, results, keep, 1 / keep, front=(gy.size,))


kernel_for("cuda", "dropout")(alone(_dropout))
kernel_for("cuda", "dropout_grad")(one_launch(_dropout_grad))


def draw_key(x: DeviceArray, size: int = 2) -> Any:
    """A seed that the stream gives only once, and the offset 0, for kernels that draw by themselves.

    Arrays of different sizes tell the kernels' keys apart.
    """
    backend = devices.backend_of(device("cuda"))
    stream = backend.stream(backend.device_of(x))
    key = cupy.ndarray((size,), _KEY)
    _launch("draw_key", np.dtype(np.float32), 1, stream.address, key)
    return key
