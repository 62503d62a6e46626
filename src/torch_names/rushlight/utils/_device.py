"""`torch.utils._device`: the device of new tensors, for a block or a function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..base.device import device as _device

__all__ = ["DeviceContext", "set_device"]


class DeviceContext:
    """A block in which creation functions put their tensors on a device: what `with torch.device(...)` is.

    Args:
        device: the device, or its name.

    Example:
        >>> from rushlight.utils._device import DeviceContext
        >>> with DeviceContext("meta"):
        ...     torch.ones(2).device
        device(type='meta')
    """

    def __init__(self, device: Any) -> None:
        self.device = _device(device)

    def __enter__(self) -> DeviceContext:
        self.device.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.device.__exit__(*exc)


def set_device(device: Any) -> Callable[[Callable], Callable]:
    """Decorator: a function whose new tensors are put on a device.

    Args:
        device: the device, or its name.

    Example:
        >>> from rushlight.utils._device import set_device
        >>> set_device("meta")(torch.ones)(2).device
        device(type='meta')
    """

    def decorate(fn: Callable) -> Callable:
        @functools.wraps(fn)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with DeviceContext(device):
                return fn(*args, **kwargs)

        return inside

    return decorate
