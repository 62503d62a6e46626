"""Calls that stand for many kernels and are compared as one; those that their callers describe, as DeZero's `backward()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ...runtime.devices import backend_of_type, overrides
from ...runtime.door import KERNELS, run
from ..in_c import native
from ..program.slots import MADE


class Macro:
    """A call whose kernels are decided by the state before it begins: `backward()`, `optimizer.step()`.

    While a stretch is heard, arrays are kept as slots; `settle` turns them into what a path compares: the number of
    an array, or the array itself. `start` and `end` are the places of its kernels in the stretch.
    """

    start = end = 0
    why: str | None  # why it cannot be compared as one call
    is_needed = False  # whether its stretch is of no use where it is not compared as one call

    def agrees(self, other: Macro, same_slot: Callable[[Any, Any], bool]) -> bool:
        """Whether another stretch's macro is the same."""
        raise NotImplementedError

    def slots(self) -> list[Any]:
        """The slots that it compares, and those that it hands out."""
        raise NotImplementedError

    def is_same(self, other: Macro) -> bool:
        """Whether another path, which began alike, expects the same here; both are settled."""
        return self.agrees(other, _same_operand)

    def settle(self, operand: Callable[[Any], tuple[int, Any]]) -> None:
        """From now on, name arrays by kind and number instead of by slot."""
        raise NotImplementedError


def _same_operand(a: Any, b: Any) -> bool:
    """Whether two settled operands are the same: a number, or the very array."""
    if a.__class__ is int:  # of what the call makes
        return a == b
    return a[0] == b[0] and (a[1] is b[1] or (a[1].__class__ is int and a[1] == b[1]))


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

    def copied(self, noted: Any) -> list[Any] | None:
        """What this call copies; None if it would take others than those that were noted."""

    def copies(self, noted: Any) -> list[Any]:
        """Where it has copied that, the same arrays each time."""

    def accept(self, arrays: list[Any], noted: Any) -> None:
        """Do what the call does beside computing: what it makes lies in these arrays."""


class Described(Macro):
    """A call as its caller has described it."""

    views: dict[int, tuple[Any, int]]  # results that are views: the step that makes them, of which
    copier: Any = None  # what takes the copies, which go to the same arrays each time
    rows: Any = None  # where the arrays of results come from
    # views among the results: the place, the number, the step, whether that is `a.T`
    seen: list[tuple[int, int, Any, bool]]

    def __init__(self, recorder: Any, what: Description) -> None:
        self.why: str | None = None
        self.key = what.key
        self.arrays: list[Any] = [recorder.slot_of(a) for a in what.arrays]

    def done(self, recorder: Any, what: Description, noted: Any) -> None:
        """After the call: what it has made, and which copies it took."""
        self.noted = noted
        self.new: list[Any] = []
        if noted is None:
            self.why = "nobody can tell what the call has copied"
            return
        taken: set[int] = set()
        for a in what.made():
            slot = None if a is None else recorder.slots.get(id(a))
            if a is not None:
                if slot is None or slot.storage.kind != MADE or slot.storage.number in taken:
                    self.why = "what the call has made is not its own"
                    return
                taken.add(slot.storage.number)
            self.new.append(slot)

    def slots(self) -> list[Any]:
        return [*self.arrays, *[s for s in self.new if s is not None]]

    def agrees(self, other: Macro, same_slot: Callable[[Any, Any], bool]) -> bool:
        if not isinstance(other, Described) or self.key != other.key or self.noted != other.noted:
            return False
        if [s is None for s in self.new] != [s is None for s in other.new]:
            return False
        mine, theirs = self.slots(), other.slots()
        return len(mine) == len(theirs) and all(map(same_slot, mine, theirs))

    def settle(self, operand: Callable[[Any], tuple[int, Any]]) -> None:
        self.arrays = [operand(s) for s in self.arrays]
        self.new = [None if s is None else operand(s)[1] for s in self.new]

    def matches(self, what: Description, tracer: Any) -> Any:
        """What the call copies, if it is this one; else None."""
        if what.key != self.key or len(what.arrays) != len(self.arrays):
            return None
        now = tracer.cursor.now
        same = native.fits(self.arrays, what.arrays, now)
        if same is None:
            same = all(map(tracer.is_operand, self.arrays, what.arrays))
        return what.copied(self.noted) if same else None

    def carry_out(self, what: Description, copied: list[Any], tracer: Any) -> None:
        """Copy what the user may change, and hand out arrays for what the call makes."""
        path, now = tracer.cursor.path, tracer.cursor.now
        if self.copier is None:
            self.copier = _copier(path, what.copies(self.noted))
        self.copier(copied)
        if self.rows is None:
            made = self._taken(path, now)
        else:
            made = native.take(self.rows, now)
        for i, k, step, turned in self.seen:
            a = made[i]
            now[k] = made[i] = a.T if turned else run(step.kernel, step.cls, (a,), step.attrs, alone=True)
        what.accept(made, self.noted)

    def _taken(self, path: Any, now: list[Any]) -> list[Any]:
        """Arrays for what the call makes; of a view, what it is a view of."""
        pools = path.pools
        if self.rows is None:
            homes = [k if k is None or k not in self.views else self.views[k][1] for k in self.new]
            self.rows = [None if k is None else (k, pools[k], pools[k].arrays, pools[k].free) for k in homes]
            steps = [(i, k, self.views[k][0]) for i, k in enumerate(self.new) if k in self.views]
            self.seen = [(i, k, step, _only_turns(step)) for i, k, step in steps]
        made: list[Any] = []
        for row in self.rows:
            made.append(None if row is None else row[1].take())
            if row is not None:
                now[row[0]] = made[-1]
        return made


def _copier(path: Any, targets: list[Any]) -> Callable[[list[Any]], None]:
    """What copies arrays to these, laid out alike and without gaps."""
    if path.on_gpu and len(targets) > 1:
        from ...runtime.cuda.memory.repeated_copies import MOST, copies_between

        go = copies_between(targets)
        if go is not None:
            rest = (None,) * (MOST - len(targets))
            behind = *rest, *targets, *rest
            return lambda copied: go(*copied, *behind)
    return lambda copied: path.copy_all(list(zip(targets, copied)))


def _only_turns(step: Any) -> bool:
    """Whether a view is `a.T`, as the only body of its kernel makes it."""
    own = overrides(backend_of_type(step.cls).type)
    return step.kernel is KERNELS["t"] and step.kernel.name not in own
