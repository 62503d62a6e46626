"""Device names: `device("cuda:0")`, parsed and compared; what stands behind them is the backend's."""

from __future__ import annotations

import threading
from typing import Any

from .bounded import Bounded

TYPES = ("cpu", "cuda", "meta", "mps", "xpu")

_context = threading.local()  # .stack: devices entered by `with device(...)`


class device:  # noqa: N801 - the name users print
    """Where a tensor lies: a type and, if there are several of it, a number.

    As a block, `with torch.device("cuda"):`, it is where creation functions put their tensors.

    Args:
        type: "cpu", "cuda", "cuda:1" and so on; or the number of a GPU.
        index: the number, if `type` does not say it.

    Raises:
        RuntimeError: for other words.

    Example:
        >>> torch.device("cuda:1")
        device(type='cuda', index=1)
        >>> torch.device("cuda", 1).index
        1
    """

    __slots__ = ("type", "index")

    type: str
    index: int | None

    def __init__(self, type: str | int | device, index: int | None = None) -> None:  # noqa: A002
        if isinstance(type, device):
            index = type.index if index is None else index
            type = type.type
        elif isinstance(type, int) and not isinstance(type, bool):
            index = type
            type = "cuda"
        elif not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' (position 1) must be str, not {type.__class__.__name__}")
        name, _, number = type.partition(":")
        if name not in TYPES:
            raise RuntimeError(f"Expected one of {', '.join(TYPES)} device type at start of device string: {type}")
        if number:
            if index is not None:
                raise RuntimeError(
                    f"type (string) must not include an index because index was passed explicitly: {type}"
                )
            if not number.isdigit() or (len(number) > 1 and number[0] == "0"):
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        elif type.endswith(":"):
            raise RuntimeError(f"Invalid device string: '{type}'")
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        object.__setattr__(self, "type", name)
        object.__setattr__(self, "index", index)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"attribute '{name}' of 'device' objects is not writable")

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self.type == other.type and self.index == other.index

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        if self.index is None:
            return f"device(type='{self.type}')"
        return f"device(type='{self.type}', index={self.index})"

    def __reduce__(self) -> Any:
        return (device, (str(self),))

    def __enter__(self) -> device:
        stack = _context.__dict__.setdefault("stack", [])
        stack.append(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        _context.stack.pop()


CPU = device("cpu")
META = device("meta")
_default = CPU


def get_default_device() -> device:
    """Where creation functions put their tensors if `device=` is not given.

    Example:
        >>> torch.get_default_device()
        device(type='cpu')
    """
    stack = _context.__dict__.get("stack")
    return stack[-1] if stack else _default


def set_default_device(value: Any) -> None:
    """Set where creation functions put their tensors if `device=` is not given.

    Args:
        value: a device or its name; None for the CPU.

    Example:
        >>> torch.set_default_device("meta")
        >>> torch.zeros(2).device
        device(type='meta')
        >>> torch.set_default_device(None)
    """
    global _default
    _default = CPU if value is None else device(value)


_named: dict[str, device] = Bounded(256)  # only what names a device: "cpu", "cuda:1", ...


def as_device(value: Any) -> device:
    if value is None:
        return get_default_device()
    if value.__class__ is str:
        found = _named.get(value)
        if found is None:
            found = _named[value] = device(value)
        return found
    return value if type(value) is device else device(value)
