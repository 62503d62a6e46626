"""Tables that Python makes for a device: positions and masks that follow from shapes and lengths alone.

They go to the device past the door, as data of the program and not as a step of it: a recorder that meets
one keeps it as a constant, and compares it with that of the next call.
"""

from __future__ import annotations

import numpy as np

from ...base.device import device
from ...core.tensor import Tensor, wrap
from ...runtime import devices


def on_device(a: np.ndarray, d: device) -> Tensor:
    """A host array as a tensor of device `d`."""
    return wrap(devices.backend_of(d).from_host(a, d))
