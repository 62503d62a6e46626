"""`torch._subclasses.fake_tensor`: there are no fake tensors here, and programs may ask for them."""

from __future__ import annotations

from typing import Any

from . import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake"]


def is_fake(x: Any) -> bool:
    """Whether something is a tensor of PyTorch's compiler: never."""
    return False
