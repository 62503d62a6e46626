"""`torch._utils`: helpers that libraries borrow from PyTorch."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

from .base.device import device as _device
from .core.tensor import Tensor
from .io.rebuild import parameter as _rebuild_parameter
from .io.rebuild import tensor as _rebuild_tensor_v2

__all__ = [
    "ExceptionWrapper", "KeyErrorMessage", "_flatten_dense_tensors", "_get_device_index",
    "_rebuild_parameter", "_rebuild_tensor_v2", "_take_tensors", "_unflatten_dense_tensors",
]  # fmt: skip


def _element_size(dtype: Any) -> int:
    """The number of bytes of one element."""
    return dtype.itemsize


class KeyErrorMessage(str):
    """A text that prints with its line breaks in a KeyError, which shows the repr."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception of another thread or process, with its traceback as text."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        info: Any = sys.exc_info() if exc_info is None else exc_info
        self.exc_type = info[0]
        self.exc_msg = "".join(traceback.format_exception(*info))
        self.where = where

    def reraise(self) -> None:
        """Raise it here, with the traceback in its text."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            exception = self.exc_type(message)
        except Exception:  # its constructor wants something else
            raise RuntimeError(message) from None
        raise exception


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """All elements in one tensor of one dim."""
    from .operators.shape.join import cat

    return cat([t.contiguous().view(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of `flat` in the sizes of `tensors`."""
    parts, at = [], 0
    for t in tensors:
        parts.append(flat.narrow(0, at, t.numel()).view(t.shape))
        at += t.numel()
    return tuple(parts)


def _take_tensors(tensors: Sequence[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """Groups of tensors of one dtype, of about `size_limit` bytes each."""
    groups: dict[Any, tuple[list[Tensor], int]] = {}
    for t in tensors:
        size = t.numel() * t.element_size()
        held, used = groups.get(t.type(), ([], 0))
        if used + size > size_limit and used > 0:
            yield held
            held, used = [], 0
        groups[t.type()] = ([*held, t], used + size)
    for held, _ in groups.values():
        if held:
            yield held


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device given as a number, a name or a device."""
    if isinstance(device, str):
        device = _device(device)
    if isinstance(device, _device):
        if device.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        if device.type == "cpu":
            return -1
        device = device.index
    if isinstance(device, int):
        return device
    if not optional:
        raise ValueError("Expected a torch.device with a specified index or an integer, but got: " + str(device))
    from .cuda import current_device

    return current_device()


def _get_available_device_type() -> str | None:
    """The name of the accelerator of this machine, None where there is none."""
    from .accelerator import current_accelerator

    found = current_accelerator(check_available=True)
    return None if found is None else found.type


def _get_device_module(device_type: str) -> Any:
    """The module of a kind of device: `torch.cuda` for "cuda"."""
    from ._device_module import get_device_module

    return get_device_module(device_type)
