"""A stretch beside a path: which arrays are its operands, which other path goes on alike, what may run meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.exposed import exposed
from ...core.memory import root_array
from ...core.tensor import tensor_over
from ...runtime import devices
from ...runtime.door import Kernel
from ..record.recorder import is_array, takes_part, user_line
from .cursor import BY_PAIRS, Cursor
from .path import Path
from .piece import native
from .running import FIXED, NOT_MET
from .stretch import is_host, is_transparent

_SHOWN = 1 << 20  # bytes of an input that are compared at each kernel


class Matching:
    """What a tracer knows while kernels are compared with those of a path."""

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self.cursor: Any = Cursor(self)
        self.loose: set[tuple[str, str]] = set()  # kernels, by name and line, that are run at once
        self.loose_names: set[str] = set()
        self.bound: dict[int, Any] = {}
        self.shown: dict[int, Any] = {}  # those that the user can change by NumPy

    def is_loose(self, kernel: Kernel) -> bool:
        return kernel.name in self.loose_names and (kernel.name, user_line()) in self.loose

    def _is_light(self, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any]) -> bool:
        """Whether a kernel may run now: it reads nothing that still waits, and no memory that waiting kernels will change."""
        if not is_transparent(kernel, arrays, attrs, self._waits):
            if not self.is_loose(kernel) or any(map(self._waits, arrays)):
                return False
        path, at = self.cursor.path, self.cursor.at
        changed, ahead = path.changed, path.ahead
        if not changed and not path.returned:
            return True
        roots = [id(root_array(a)) for a in arrays if is_array(a)]
        if any(id(root_array(b)) in roots for v, b in self.bound.items() if v in path.returned):
            return False
        if ahead is not None and ahead.started and not ahead.roots.isdisjoint(roots):
            return False
        return all(changed.get(root, at) >= at for root in roots)

    def _is_pending(self, a: Any) -> bool:
        now = self.cursor.now
        return any(a is x for x in now) if native is None else native.among(now, a)

    def _waits(self, a: Any) -> bool:
        """Whether the values of an array are still to be computed: an input has its own, unless the path changes it."""
        if not self._is_pending(a):
            return False
        returned = self.cursor.path.returned
        return not any(b is a and v not in returned for v, b in self.bound.items())

    def is_waiting(self, a: Any) -> bool:
        """Whether an array was handed out in this stretch, or is one of its inputs."""
        return self.cursor.path is not None and self._is_pending(a)

    def _elsewhere(self, expected: Callable[[], Any]) -> Any:
        """Change to another path that began in the same way and goes on as `expected` asks."""
        self._take_back()
        cursor, left = self.cursor, self.cursor.path
        bound = dict(self.bound)
        for other in self.paths:
            if other is left or left.common.get(id(other), 0) < cursor.at:
                continue
            if not all(self._may_hold(other, v, a) for v, a in bound.items()):
                continue
            kept = list(cursor.now)
            cursor.change(other)
            found = expected()
            if found:
                self._bind_again(left, other, bound)
                if left.ahead is not None:
                    left.ahead.take_back(left.low)
                return found
            cursor.now, self.bound = kept, dict(bound)
            cursor.change(left)
        return None

    def _take_back(self) -> None:
        """Forget inputs that a comparison took before it failed: no other path has to know them."""
        cursor, path = self.cursor, self.cursor.path
        for v in [v for v in self.bound if path.bound_at[v] >= cursor.at]:
            del self.bound[v]
            self.shown.pop(v, None)
            cursor.now[v] = NOT_MET

    def _bind_again(self, left: Path, other: Path, bound: dict[int, Any]) -> None:
        """Inputs with the values they had when they were met."""
        for v, a in bound.items():
            if is_host(a):
                other.low.fill(
                    other.low.arguments[other.inputs[v]], left.low.arguments[left.inputs[v]]
                )

    def bind(self, v: int, a: Any) -> bool:
        """Take an array from outside as an input, with the values it has now."""
        path = self.cursor.path
        slot, host = path.layouts[v], a.__class__ is np.ndarray
        if not (host or takes_part(a)) or self._is_pending(a):
            return False
        if a.shape != slot.shape or a.dtype != slot.dtype or a.strides != slot.strides:
            return False
        if ("cpu" if host else devices.device_of(a).type) != slot.storage.device:
            return False
        if not self._may_hold(path, v, a):
            return False
        host = host or is_host(a)
        if exposed.roots and id(root_array(a)) in exposed.roots:
            # On a GPU nobody can compare it with what it was, and it is copied when the program runs.
            if not host or a.nbytes > _SHOWN or v in path.returned:
                return False
            self.shown[v] = a
            self.cursor.show(a, path.low.arguments[path.inputs[v]])
        if host:
            path.low.fill(path.low.arguments[path.inputs[v]], a)
        self.bound[v] = self.cursor.now[v] = a  # in this order: a handler may raise in between
        return True

    def unchanged(self) -> bool:
        """Whether inputs that the user can change by NumPy are still as they were when they were met."""
        if not self.shown:
            return True
        if native is not None and self.cursor.wary == BY_PAIRS:
            return native.unchanged(self.cursor.pairs)
        path = self.cursor.path
        return all(same_bytes(a, path.low.arguments[path.inputs[v]]) for v, a in self.shown.items())

    def _may_hold(self, path: Path, v: int, a: Any) -> bool:
        """Whether a path may take an array as that input: it would not notice writes into its memory."""
        return not (path.changed or path.returned) or self._is_apart(path, v, a)

    def _is_apart(self, path: Path, v: int, a: Any) -> bool:
        """Whether an input's memory is nobody else's, where it or the others' is changed."""
        root = root_array(a)
        if id(root) in path.changed or (v in path.returned and id(root) in path.roots):
            return False
        if not path.returned:
            return True
        return all(
            root_array(b) is not root
            for w, b in self.bound.items()
            if w != v and {v, w} & path.returned
        )

    def references(self, a: Any) -> int:
        """How many references to an array are the tracer's own."""
        path, now = self.cursor.path, self.cursor.now
        if path is None:
            return 0
        for k, x in enumerate(now):
            if x is a:
                return 1 + (k in path.pools and path.pools[k].ours(a))
        return 0

    def is_operand(self, expected: tuple[int, Any], a: Any) -> bool:
        """Whether an array is what a macro expects."""
        kind, v = expected
        if kind == FIXED:
            return a is v
        now = self.cursor.now[v]
        if now is not NOT_MET:
            return a is now
        return v in self.cursor.path.inputs and self.bind(v, a)

    def _next_is(self, cls: type) -> Any:
        path, at = self.cursor.path, self.cursor.at
        e = path.events[at] if at < len(path.events) else None
        return e if e.__class__ is cls else None

    def hand_out(self, k: int) -> Any:
        """A tensor for a result that is computed later."""
        a = self.cursor.path.pools[k].take()
        self.cursor.now[k] = a
        return tensor_over(a, a.__class__)


def same_bytes(a: Any, b: Any) -> bool:
    """Whether two arrays laid out alike hold the same bits."""
    bits = f"u{a.dtype.itemsize}" if a.dtype.itemsize in (1, 2, 4, 8) else None
    if bits is None:
        return a.tobytes() == b.tobytes()
    return bool((a.view(bits) == b.view(bits)).all())
