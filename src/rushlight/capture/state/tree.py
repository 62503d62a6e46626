"""Arguments and results as trees: their tensors in order, and the rest as a hashable shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.spelling import home_of
from ...core.tensor import Tensor

_OURS = __name__.partition(".")[0] + ".base."  # dtypes, devices, sizes
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class _Same:
    """Stands for an object that can only be compared by identity; keeps it alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def flatten(value: Any, tensors: list[Tensor]) -> Any:
    """Append the tensors of `value` to the list and return what is left, hashable.

    Two trees with equal rests are the same to any code: numbers by type and bit, objects by identity.
    """
    if isinstance(value, Tensor):
        tensors.append(value)
        return Tensor
    cls = value.__class__
    if cls is float:
        return (cls, value.hex())  # 0.0 equals -0.0, and NaN not even itself
    if cls is complex:
        return (cls, value.real.hex(), value.imag.hex())
    if cls in _PLAIN:
        return (cls, value)
    if isinstance(value, (tuple, list)):
        return (cls, tuple([flatten(v, tensors) for v in value]), _rest(value, tensors))
    if isinstance(value, dict):
        items = [(flatten(k, tensors), flatten(v, tensors)) for k, v in value.items()]
        return (cls, tuple(items), _rest(value, tensors))
    if cls is slice:
        return (cls, flatten((value.start, value.stop, value.step), tensors))
    if cls is range or home_of(cls).startswith(_OURS):
        return (cls, value) if cls.__hash__ is not None else _Same(value)
    if isinstance(value, np.generic):
        return (cls, value.tobytes())
    return _Same(value)


def _rest(value: Any, tensors: list[Tensor]) -> Any:
    """The attributes of a container of a class of its own."""
    own = getattr(value, "__dict__", None)
    return flatten(own, tensors) if own else None


def rebuild(value: Any, leaf: Any) -> Any:
    """A copy of a tree with `leaf(v)` in place of everything that is not a container."""
    if isinstance(value, Tensor):
        return leaf(value)
    if isinstance(value, tuple):
        parts = [rebuild(v, leaf) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [rebuild(v, leaf) for v in value]
    if isinstance(value, dict):
        return {k: rebuild(v, leaf) for k, v in value.items()}
    return leaf(value)


def leaves(value: Any) -> list[Any]:
    """Everything in a tree that is not a container, in order."""
    found: list[Any] = []
    rebuild(value, found.append)
    return found
