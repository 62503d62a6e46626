"""The cursor: compares each kernel with the next step of a path, and hands out arrays instead of computing.

What is called for every kernel is in C (`native/match.c`); it leaves to the methods here whatever is unusual.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.exposed import exposed
from ...core.gradients.node import FREED, OpNode
from ...core.gradients.tape import AccumulateGrad
from ...core.tensor import Tensor
from ...runtime.devices import overrides
from ...runtime.door import KERNELS, Kernel, run
from ..in_c import native
from ..owners import example
from ..program.slots import array_type
from ..record.recorder import same
from .path import BIND, FIXED, FRESH, KNOWN, NOT_MET, VALUE, VIEW, PathOfStretch, PathStep

_OF_C: tuple[str, ...] = ()  # the fields are those of the class in C
_SEEN, BY_PAIRS = 1, 2  # how a cursor is wary, as in native/match.h


class Cursor(native.Cursor):  # type: ignore[misc]
    """Where a thread is on a path; called in place of the door."""

    __slots__ = _OF_C
    owner: Any
    path: Any
    now: list[Any]
    at: int
    alarm: int  # behind how many events the owner is told, once; 0 for never
    wary: int  # not 0 while the user has a NumPy array over the memory of an input
    pairs: list[Any]  # where that is not 0: such inputs beside their copies, as C compares them

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.start(None)

    def start(self, path: PathOfStretch | None) -> None:
        """Go to the beginning of a path; with None, follow no path."""
        self.path = path
        self.at = self.wary = 0
        self.alarm = 0 if path is None or path.ahead is None else path.ahead.alarm()
        self.now = [] if path is None else [NOT_MET] * len(path.layouts)
        self.table = None if path is None else table_of(path)

    def change(self, path: PathOfStretch) -> None:
        """Continue at the same position of another path that began in the same way."""
        self.path, self.alarm = path, 0
        self.now += [NOT_MET] * (len(path.layouts) - len(self.now))
        self.table = table_of(path)

    def show(self, a: Any, copy: Any) -> None:
        """An input may change behind our back: its bytes are compared with those of the copy at each kernel."""
        pair = native.pair(a, copy)
        if not self.wary:
            self.pairs, self.wary = [], BY_PAIRS
        if pair is None:
            self.wary = _SEEN
        else:
            self.pairs.append(pair)

    def careful(self, kernel: Kernel, cls: type, arrays: Sequence[Any], attrs: dict[str, Any] | None) -> Any:
        """A call, with everything looked at."""
        with self.owner.quiet:
            path = self.path
            if path is not None and self.at < len(path.events):
                e = path.events[self.at]
                if e.__class__ is PathStep and self.fits(e, kernel, arrays, attrs or {}):
                    return self.hand_out(e, cls, arrays)
            return self.owner.differs(kernel, cls, arrays, attrs)

    def fits(self, e: Any, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any]) -> bool:
        """Whether a call is the one that a step expects."""
        if e.kernel is not kernel or len(arrays) != len(e.operands):
            return False
        if self.wary and not self.owner.unchanged():
            return False
        if not same(attrs, e.attrs):
            return False
        now = self.now
        for (kind, v), a in zip(e.operands, arrays):
            if kind == KNOWN:
                if a is not now[v]:
                    return False
            elif kind == FIXED:
                if a is not v:
                    return False
            elif kind == VALUE:
                if a is not v and not same(a, v):
                    return False
            elif now[v] is not a and (now[v] is not NOT_MET or not self.owner.bind(v, a)):
                return False
        return e.look is None or e.look[1](arrays, attrs)

    def hand_out(self, e: Any, cls: type, arrays: Sequence[Any]) -> Any:
        """Arrays for the results of a step whose kernel has not run yet."""
        path, now = self.path, self.now
        if e.how == FRESH:
            outs = [path.pools[k].take() for k in e.outs]
        elif e.how == VIEW:
            made = run(e.kernel, cls, arrays, e.attrs, alone=True)
            outs = list(made) if e.several else [made]
        else:
            self.at += 1
            outs = [arrays[k] for k in e.outs]
            return tuple(outs) if e.several else outs[0]
        for k, o in zip(e.outs, outs):
            now[k] = o
        self.at += 1
        return tuple(outs) if e.several else outs[0]


def table_of(path: PathOfStretch) -> Any:
    """The path's steps as C compares them, made once."""
    if path.table is None:
        rows = [_row(path, e) for e in path.events]
        path.table = native.table(rows, _quick_inputs(path), path.changed)
    return path.table


def _quick_inputs(path: PathOfStretch) -> tuple:
    """Inputs that C may take: how those from outside have to lie, and the program's array where they are copied at once."""
    if path.returned:
        return ()
    found: list[tuple] = []
    for number, i in path.inputs.items():
        slot, place = path.layouts[number], path.low.arguments[i]
        layout = array_type(slot.storage.device), slot.shape, slot.dtype, slot.strides
        if slot.storage.device != "cpu":
            found.append((number, None, *layout))
        elif place.__class__ is np.ndarray:
            found.append((number, place, *layout))
    return tuple(found)


def _row(path: PathOfStretch, e: Any) -> tuple | None:
    if e.__class__ is not PathStep:
        return None
    pools = [path.pools[k] for k in e.outs] if e.how == FRESH else []
    shape = _method(e) if e.how == VIEW and not e.several else None
    inputs = {path.layouts[k].storage.number for k in path.inputs}
    apart = not any(
        kind == BIND or (kind == KNOWN and path.layouts[v].storage.number in inputs) for kind, v in e.operands
    )
    return (
        e, e.kernel, e.attrs, e.operands, e.how, e.outs, e.several, e.look,
        tuple([(p, p.arrays, p.free) for p in pools]), shape, apart,
    )  # fmt: skip


def _method(e: PathStep) -> tuple[str, tuple] | None:
    """The method of an array that makes a view, as its kernel does, and its arguments: C calls it itself."""
    name, attrs = e.kernel.name, e.attrs
    if name == "view":
        return "reshape", (attrs["shape"],)
    if e.cls is not np.ndarray or name in overrides("cpu"):
        return None
    if name == "permute":
        return "transpose", (attrs["dims"],)
    if name == "transpose":
        return "swapaxes", (attrs["dim0"], attrs["dim1"])
    if name == "t":
        return "transpose", ()
    if name in ("select", "slice", "window"):
        parts = [slice(*p) if p.__class__ is tuple else p for p in attrs["index"]]
        return "__getitem__", ((*parts, ...),)
    return None


native.setup(same, NOT_MET, *example())
native.slots(Tensor, OpNode, AccumulateGrad, FREED)
native.outside(exposed, KERNELS["move"], np.ndarray)
