"""What the CPU says about kernels that passes make: chains of pointwise steps, and what its engine joins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import devices
from .engine import active
from .fused import fuses, pack

MOST_INPUTS, MOST_STEPS = 8, 24  # as native/bind_fused.c has room for


def is_native(name: str) -> bool:
    """Whether the engine has a kernel of this name, or the CPU a body of its own."""
    if name in devices.overrides("cpu"):
        return True
    engine = active()
    return engine is not None and engine.kernel(name, _no_body) is not None


def _no_body(*arrays: Any, **attrs: Any) -> Any:
    raise NotImplementedError


def is_pointwise(ins: Any) -> bool:
    """Whether the engine's interpreter knows an instruction."""
    return fuses(ins)


def fusion() -> Callable[[Any], bool] | None:
    """What tells whether an instruction can be a step of a chain; None where nothing runs chains."""
    return fuses if is_native("fused") else None


def width(s: Any) -> str:
    """The numbers that a chain computes with: float32 alone."""
    return "f" if s.dtype.char == "f" else "?"


def packed(steps: tuple) -> bytes:
    """The steps as the engine's interpreter reads them."""
    return pack(steps)


def channels_last_pays(x: Any, w_shape: tuple[int, ...], y_shape: tuple[int, ...]) -> bool:
    """The engine's convolutions take either order as it comes."""
    return False
