"""Tables that Python makes for a device: positions and masks that follow from shapes and lengths alone.

They go to the device past the door, as data of the program and not as a step of it: a recorder that meets
one keeps it as a constant, and compares it with that of the next call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import ArrayModule
from ...base.device import device
from ...core.tensor import Tensor, wrap
from ...runtime import devices


def on_device(a: np.ndarray, d: device) -> Tensor:
    """A host array as a tensor of device `d`."""
    return wrap(devices.backend_of(d).from_host(a, d))


def kept_on_device(a: np.ndarray, d: device) -> Tensor:
    """As `on_device` for a table that nobody writes into: a device may hold one for all calls."""
    backend = devices.backend_of(d)
    kept = getattr(backend.xp, "kept", None)
    return on_device(a, d) if kept is None else wrap(kept(a, d.index))


def table(xp: ArrayModule, a: np.ndarray) -> Any:
    """A host array that follows from shapes alone, as one of `xp` to read: a device gets it once, not in every call."""
    kept = getattr(xp, "kept", None)
    return xp.asarray(a) if kept is None else kept(a)
