"""What all windows have in common: the checks, and places along the window."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...base.dtypes import float32, float64, get_default_dtype
from ...base.formats import strided
from ...core.public import NAMESPACES
from ...core.tensor import Tensor

_TORCH = NAMESPACES["torch"]


class Window(NamedTuple):
    """A window that somebody asked for: how long, of which dtype and where."""

    length: int
    options: dict[str, Any]

    def empty(self) -> Tensor:
        """The window without elements."""
        return _TORCH["empty"]((0,), **self.options)

    def one(self) -> Tensor:
        """The window of one element."""
        return _TORCH["ones"]((1,), **self.options)

    def line(self, start: Any, end: Any) -> Tensor:
        """Places from `start` to `end`, one for each element."""
        return _TORCH["linspace"](start, end, self.length, **self.options)


def asked(name: str, M: int, dtype: Any, layout: Any, device: Any, requires_grad: bool) -> Window:
    """Check what every window checks."""
    dtype = get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not None and layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (float32, float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return Window(M, {"dtype": dtype, "device": device, "requires_grad": requires_grad})
