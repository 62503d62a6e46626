"""Calls that their callers describe: DeZero's `backward()`, whose graph is not one of ops.

A description says everything that decides which kernels a call runs: the arrays that it reads, and the rest as a key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ....runtime.door import run
from ...program.slots import MADE
from ..steps import FIXED
from .macros import Macro, same_operand


class Description(Protocol):
    """What a caller says of a call, and does where it is only compared."""

    key: tuple[Any, ...]  # values by which calls are told apart, no arrays among them
    arrays: list[Any]  # what the call reads, apart from what the user may change

    def begin(self) -> None:
        """The call is about to run, and is listened to."""

    def end(self) -> Any:
        """It is over: which copies it took of arrays that the user may change; None if nobody can tell."""

    def made(self) -> list[Any]:
        """The arrays that it has made for somebody; None for those that were not."""

    def copies(self, noted: Any) -> list[tuple[Any, Any]] | None:
        """The same copies (to, from) for this call; None if it would take others."""

    def accept(self, arrays: list[Any], noted: Any) -> None:
        """Do what the call does beside computing: what it makes lies in these arrays."""


class Told(Macro):
    """A call as its caller has described it."""

    views: dict[int, tuple[Any, int]]  # results that are views: the step that makes them, of which

    def __init__(self, ear: Any, what: Description) -> None:
        self.why: str | None = None
        self.key = what.key
        self.arrays: list[Any] = [ear.slot_of(a) for a in what.arrays]

    def done(self, ear: Any, what: Description, noted: Any) -> None:
        """After the call: what it has made, and which copies it took."""
        self.noted = noted
        self.new: list[Any] = []
        if noted is None:
            self.why = "nobody can tell what the call has copied"
            return
        taken: set[int] = set()
        for a in what.made():
            slot = None if a is None else ear.slots.get(id(a))
            if a is not None:
                if slot is None or slot.storage.kind != MADE or slot.storage.number in taken:
                    self.why = "what the call has made is not its own"
                    return
                taken.add(slot.storage.number)
            self.new.append(slot)

    def slots(self) -> list[Any]:
        return [*self.arrays, *[s for s in self.new if s is not None]]

    def agrees(self, other: Macro, same_slot: Callable[[Any, Any], bool]) -> bool:
        if not isinstance(other, Told) or self.key != other.key or self.noted != other.noted:
            return False
        if [s is None for s in self.new] != [s is None for s in other.new]:
            return False
        mine, theirs = self.slots(), other.slots()
        return len(mine) == len(theirs) and all(map(same_slot, mine, theirs))

    def settle(self, operand: Callable[[Any], tuple[int, Any]]) -> None:
        self.arrays = [operand(s) for s in self.arrays]
        self.new = [None if s is None else operand(s)[1] for s in self.new]

    def is_same(self, other: Macro) -> bool:
        """Whether another path expects the same here."""
        if not isinstance(other, Told) or self.key != other.key or self.noted != other.noted:
            return False
        if self.new != other.new or len(self.arrays) != len(other.arrays):
            return False
        return all(map(same_operand, self.arrays, other.arrays))

    def matches(self, what: Description, tracer: Any) -> Any:
        """The copies that the call takes, if it is this one; else None."""
        if what.key != self.key or len(what.arrays) != len(self.arrays):
            return None
        now = tracer.cursor.now
        for (kind, v), a in zip(self.arrays, what.arrays):
            if kind == FIXED:
                if a is not v:
                    return None
            elif now[v] is not a and (now[v] is not None or not tracer.is_operand((kind, v), a)):
                return None
        return what.copies(self.noted)

    def carry_out(self, what: Description, copies: list[tuple[Any, Any]], tracer: Any) -> None:
        """Copy what the user may change, and hand out arrays for what the call makes."""
        path, now = tracer.cursor.path, tracer.cursor.now
        path.copy_all(copies)
        made: list[Any] = []
        for k in self.new:
            if k is None:
                made.append(None)
                continue
            step, base = self.views.get(k, (None, k))
            now[base] = a = path.pools[base].take()
            if step is not None:
                now[k] = a = run(step.kernel, step.cls, (a,), step.attrs, alone=True)
            made.append(a)
        what.accept(made, self.noted)
