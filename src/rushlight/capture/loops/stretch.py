"""Listening to a stretch: the kernels between two places of a loop are written down while they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from ...core.memory import data_pointer, root_array
from ...core.tensor import Tensor
from ...core.values import HOST_READ
from ...runtime.devices import nothing_reused
from ...runtime.door import Kernel
from ...runtime.thread import here
from ..program.slots import MADE, STATE, Slot
from ..record.recorder import Recorder, is_array, strange_use, user_line, values_decide
from .described import Macro
from .fragile import Bounds, breaks

LONGEST = 20_000  # kernels of one stretch


class Ear(Recorder):
    """A listener at the door for one stretch; arrays are known while they live and then forgotten.

    Everything that no kernel of the stretch made comes from outside, and is held until two stretches were compared.
    """

    def __init__(self, tracer: Any) -> None:
        super().__init__([], {}, [])
        self.tracer = tracer
        self.macros: list[Macro] = []
        self.made: set[int] = set()  # numbers of the slots that kernels made
        self.bounds = Bounds()
        self.live: set[int] = set()  # storages that somebody holds at the end
        self.odd: str | None = None  # why the stretch is not worth comparing
        self.began = time.perf_counter()
        self.seconds = 0.0  # how long the stretch took
        self._reuse = nothing_reused()
        self._reuse.__enter__()

    def _outside(self, a: Any) -> Slot:
        root = root_array(a)
        storage = self.roots.get(id(root))
        if storage is None:
            storage = self._storage(STATE, root, root.nbytes, "from outside")
            self.roots[id(root)] = storage
            self._follow(root)
        return self._slot(a, storage, data_pointer(a) - data_pointer(root))

    def __call__(
        self, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any], call: Callable[[], Any]
    ) -> Any:
        with self.tracer.quiet:
            return self._hear(kernel, arrays, attrs, call)

    def _hear(
        self, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any], call: Callable[[], Any]
    ) -> Any:
        why = strange_use(arrays)
        if why is None and is_transparent(kernel, arrays, attrs, self._made):
            return call()
        if self.tracer.is_loose(kernel) and not any(map(self._made, arrays)):
            return call()
        if why is None and is_place(kernel, arrays, self._waits, self._fits, attrs):
            return self.tracer.at_kernel(kernel, call)
        if len(self.instructions) > LONGEST:
            why = f"has more than {LONGEST} kernels between two places"
        elif any(map(_has_tensor, attrs.values())):
            # a number given as a tensor: the kernel's own body will read it, and that is a place
            why = f"gives {kernel.name} a tensor in place of a number"
        if why is not None:
            self.complain(why)
            self.tracer.interrupt(self.odd)
            return call()
        inputs = self.inputs_of(arrays)
        out = call()
        if self.tracer.ear is not self:
            return out  # the kernel's body passed a place, which ended this stretch
        self.note(kernel, arrays, attrs, inputs, out, user_line())
        if self.odd is None:
            self.bounds.note(self.instructions[-1])
        return out

    def complain(self, what: str, line: str | None = None) -> None:
        """What a program could not do makes the stretch one that is not worth comparing."""
        self.odd = f"it {what} at {line or user_line()}"

    def _made(self, a: Any) -> bool:
        slot = self.slots.get(id(a))
        return slot is not None and slot.storage.kind == MADE

    def _waits(self, a: Any) -> bool:
        """Whether an array's values are still to be computed, or changed, where the stretch is replayed."""
        slot = self.slots.get(id(a))
        if slot is None:
            return False
        return slot.storage.kind == MADE or slot.storage.number in self.bounds.written

    def _fits(self, a: Any, size: int) -> bool:
        """Whether positions are known to lie in [0, size), also in replays."""
        slot = self.slot_of(a) if is_array(a) else None
        return self.bounds.fits(slot, a, size, here.walk is not None)

    def close(self) -> None:
        """The stretch is over: see what is still held."""
        self.seconds = time.perf_counter() - self.began
        self._reuse.__exit__(None, None, None)
        self.live = {s.storage.number for s in self.slots.values() if s.storage.kind == MADE}
        self.forget()


def is_place(
    kernel: Kernel,
    arrays: Sequence[Any],
    is_made: Callable[[Any], bool],
    fits: Callable[[Any, int], bool] | None = None,
    attrs: dict[str, Any] | None = None,
) -> bool:
    """Whether a stretch ends in front of a kernel: the host, or the next kernel's shape, needs its values."""
    if kernel is HOST_READ or values_decide(kernel, arrays):
        return True
    if breaks(kernel, arrays, is_made, fits, attrs):
        return True
    return kernel.name == "move" and any(is_array(a) and not is_host(a) for a in arrays)


def is_transparent(
    kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any], is_made: Callable[[Any], bool]
) -> bool:
    """Whether a kernel is always run at once, so that its result is one more input of the path.

    It brings the host's values to a device, or prepares indices and labels, whose values may have to be looked at.
    """
    if kernel.name == "move":
        to = attrs.get("to")
        away = getattr(to, "type", "cpu") not in ("cpu", "meta")
        return away and is_array(arrays[0]) and is_host(arrays[0]) and not is_made(arrays[0])
    found = [a for a in arrays if is_array(a)]
    if not found or not changes_nothing(kernel, attrs):
        return False
    return all(a.dtype.kind in "iub" and not is_made(a) for a in found)


def changes_nothing(kernel: Kernel, attrs: dict[str, Any]) -> bool:
    """Whether a kernel writes nowhere and draws no random numbers."""
    return not (kernel.mutates or kernel.random or "stream" in attrs)


def _has_tensor(value: Any) -> bool:
    if value.__class__ in (tuple, list):
        return any(map(_has_tensor, value))
    return isinstance(value, Tensor)


def is_host(a: Any) -> bool:
    return a.__class__.__module__ == "numpy"
