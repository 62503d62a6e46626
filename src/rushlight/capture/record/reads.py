"""Numbers read from tensors while recording: they may be handed back to the caller, but not used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..program.slots import Slot


class Reading:
    """One host read: which slot, where, and whether anybody looked at the number."""

    def __init__(self, recorder: Any, slot: Slot, line: str) -> None:
        self.recorder = recorder
        self.slot = slot
        self.line = line

    def used(self, how: str) -> None:
        self.recorder.complain(f"reads a tensor's value on the host ({how})", self.line)


class WatchedArray(np.ndarray):
    """What a host read answers while recording: `.item()` gives a watched number."""

    reading: Any = None

    def item(self, *args: Any) -> Any:
        value = self.view(np.ndarray).item(*args)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.reading.used("item()")
            return value
        kind = WatchedInt if isinstance(value, int) else WatchedFloat
        number = kind(value)
        number.reading = self.reading
        return number

    def __array_finalize__(self, source: Any) -> None:
        self.reading = getattr(source, "reading", None)


def watched(values: np.ndarray, reading: Reading) -> WatchedArray:
    """The one value of a read, for `Tensor.item` to take a watched number from."""
    found = values.view(WatchedArray)
    found.reading = reading
    return found


def _reporting(name: str, base: type) -> Any:
    plain = getattr(base, name)

    def method(self: Any, *args: Any) -> Any:
        self.reading.used(name.strip("_"))
        return plain(self, *args)

    method.__name__ = name
    return method


_USES = (
    "__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__ "
    "__rfloordiv__ __mod__ __rmod__ __pow__ __rpow__ __divmod__ __lt__ __le__ __gt__ __ge__ __eq__ "
    "__ne__ __bool__ __neg__ __pos__ __abs__ __int__ __float__ __index__ __round__ __trunc__ "
    "__floor__ __ceil__ __str__ __repr__ __format__ __hash__ is_integer as_integer_ratio hex "
    "__and__ __or__ __xor__ __lshift__ __rshift__ __invert__ bit_length to_bytes"
).split()


def _watched_number(base: type) -> type:
    methods = {name: _reporting(name, base) for name in _USES if hasattr(base, name)}
    return type(f"Watched{base.__name__.capitalize()}", (base,), {"reading": None, **methods})


WatchedFloat = _watched_number(float)
WatchedInt = _watched_number(int)


def reading_of(value: Any) -> Reading | None:
    """The host read that a number comes from, or None: other objects are not asked."""
    return value.reading if type(value) in (WatchedFloat, WatchedInt) else None
