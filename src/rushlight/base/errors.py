"""Exceptions and the sentences of errors that several layers raise."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class OutOfMemoryError(RuntimeError):
    """Device memory is exhausted; the message says what was asked and who holds the rest.

    Example:
        >>> issubclass(torch.cuda.OutOfMemoryError, RuntimeError)
        True
    """


class HostMemoryError(RuntimeError, MemoryError):
    """The machine has no memory for a new tensor: PyTorch's kind of error, and Python's."""


class AcceleratorError(RuntimeError):
    """A device failed; after most of these it is lost to this process, which must be restarted.

    Example:
        >>> issubclass(torch.AcceleratorError, RuntimeError)
        True
    """

    error_code: int | None = None


class NoGpuError(RuntimeError, AssertionError):
    """A GPU was asked for and there is none; PyTorch raises either kind, depending on the call."""


class HostReadError(RuntimeError):
    """A value was read on the host where the program must not depend on it (capture, meta)."""


class NoDataError(HostReadError, NotImplementedError):
    """A value of a meta tensor was asked for; it has none."""


class NotYet(NotImplementedError):
    """A name PyTorch has and rushlight does not have yet."""


def only(call: str, given: Iterable[str], known: str) -> None:
    """Refuse keywords that are not among those of PyTorch's that change nothing here."""
    for name in given:
        if name not in known.split():
            raise TypeError(f"{call}() got an unexpected keyword argument '{name}'")


def no_gpu_message(reason: str) -> str:
    return (
        f"Torch not compiled with CUDA enabled: there is no usable NVIDIA GPU, {reason} "
        "Run `rushlight doctor` to see what is missing; use device='cpu' to go on without one."
    )


def mixed_devices(what: str, described: list[tuple[str, str, Any]]) -> RuntimeError:
    """The error for operands on different devices; `described` is (argument, device, shape)."""
    devices = list(dict.fromkeys(d for _, d, _ in described))
    named = "; ".join(f"'{arg}' {list(shape)} is on {dev}" for arg, dev, shape in described)
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{devices[0]} and {devices[1]}! In {what}: {named}. "
        f"Move one of them first, for example with .to('{devices[0]}')."
    )


def no_attribute(module: str, name: str, known: Iterable[str], note: str = "") -> str:
    """What to say of a name that a module does not have: `note`, and the names that are spelt like it."""
    from difflib import get_close_matches

    said = f"module '{module}' has no attribute '{name}'."
    if name.startswith("_"):
        return said
    close = get_close_matches(name, [n for n in known if not n.startswith("_")], 3, 0.75)
    return said + note + (f" Did you mean: {', '.join(map(repr, close))}?" if close else "")


def _assert(condition: Any, message: str) -> None:
    """`assert` as a function, which a tracer could record."""
    if not condition:
        raise AssertionError(message)
