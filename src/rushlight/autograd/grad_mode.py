"""`torch.autograd.grad_mode`: where PyTorch keeps the blocks that switch recording on and off."""

from __future__ import annotations

from contextlib import ContextDecorator
from typing import Any

from ..core.modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]


class set_multithreading_enabled(ContextDecorator):  # noqa: N801
    """Accepted and not needed: backward runs in the thread that calls it, and only kernels use several.

    Args:
        mode: as PyTorch takes it.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.autograd.set_multithreading_enabled(False):
        ...     x.sum().backward()
        >>> x.grad
        tensor([1., 1.])
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        pass
