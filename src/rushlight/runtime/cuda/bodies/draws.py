"""Kernels that draw random numbers in one launch where the generic body takes several."""

from __future__ import annotations

from typing import Any

from ....base.device import device
from ... import devices
from ...door import kernel_for


@kernel_for("cuda", "dropout_mask")
def _dropout_mask(x: Any, *, p: float, shape: tuple[int, ...]) -> Any:
    backend = devices.backend_of(device("cuda"))
    stream = backend.stream(backend.device_of(x))
    return stream.bernoulli(1.0 - p, shape, x.dtype, 1.0 / (1.0 - p))
