"""Names of `torch.utils.checkpoint` that programs with a checkpoint function of their own borrow."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..core.tensor import Tensor

__all__ = [
    "DefaultDeviceType", "check_backward_validity", "detach_variable",
    "set_checkpoint_debug_enabled", "set_checkpoint_early_stop",
]  # fmt: skip


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of a tuple cut from their graph, with the same wish for gradients; the rest as it is.

    Args:
        inputs: the tuple.

    Raises:
        RuntimeError: if it is none.

    Example:
        >>> from rushlight.utils.checkpoint import detach_variable
        >>> x = torch.ones(2, requires_grad=True) * 2
        >>> y, n = detach_variable((x, 3))
        >>> y.is_leaf, y.requires_grad, n
        (True, True, 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: ",
            type(inputs).__name__,
        )
    return tuple(
        x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn where no input of a checkpointed part wants a gradient, so that it will have none.

    Args:
        inputs: what the part is called with.

    Example:
        >>> from rushlight.utils.checkpoint import check_backward_validity
        >>> check_backward_validity([torch.ones(2, requires_grad=True)])
    """
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
        )


class DefaultDeviceType:
    """The kind of device whose random numbers a checkpoint keeps where its inputs do not say; here all are kept.

    Example:
        >>> from rushlight.utils.checkpoint import DefaultDeviceType
        >>> DefaultDeviceType.get_device_type()
        'cuda'
    """

    _default_device_type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Let it be another kind."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The kind."""
        return DefaultDeviceType._default_device_type


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """A block in which second runs end early, or do not; either gives the same gradients here.

    Args:
        enable: whether they may.

    Example:
        >>> with torch.utils.checkpoint.set_checkpoint_early_stop(False):
        ...     pass
    """
    yield


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A block in which PyTorch's checkpoints keep traces; an error here names the operator by itself.

    Args:
        enabled: accepted and not needed.

    Example:
        >>> with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):
        ...     pass
    """
    yield
