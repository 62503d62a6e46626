"""Places of a program where stretches begin: what was heard there, and whether listening is still worth it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.exposed import exposed
from ..program.slots import MADE, Slot
from ..record.agreement import Agreement
from .ear import Ear, changes_nothing

_LISTEN = 4  # stretches heard before a place is given up, and after one that was not expected
_RECENT = 3  # stretches that wait for one like them
_MISSES = 16  # more than this, and more than matches: not worth it


class AgreementOfStretches(Agreement):
    """Of two stretches: the same array stays, another one, or one that the user sees by NumPy, is an input."""

    def __init__(self, first: Ear, second: Ear) -> None:
        self.inputs: set[int] = set()  # slots of the second that are new each time
        self.fed = _fed(first), _fed(second)
        super().__init__(first, second)

    def outside(self, x: Slot, y: Slot) -> str | None:
        if x.array is not y.array or id(y.storage.array) in exposed.roots:
            fed = id(x.array) in self.fed[0], id(y.array) in self.fed[1]
            if any(fed):
                return None if all(fed) else "a number of the host"
            self.inputs.add(y.number)
        return None

    @property
    def loose(self) -> tuple[str, str] | None:
        """The kernel where they part, by name and line, if it only prepares what comes from outside."""
        b = self.parted
        if b is None or not changes_nothing(b.kernel, b.attrs):
            return None
        return None if any(s.storage.kind == MADE for s in b.reads) else (b.name, b.line)


def _fed(ear: Ear) -> set[int]:
    """Arrays of numbers that the host brings up to date itself."""
    return {id(a) for m in ear.macros for a in getattr(m, "fed", ())}


class Place:
    """An optimiser's step or a line that reads a value: the stretch that follows begins there."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen = self.matches = self.misses = 0
        self.known = False  # a path begins here
        self.listen = _LISTEN
        self.recent: list[Ear] = []
        self.why: str | None = None  # why nothing is tried here any more
        self.last: Any = None  # the path that was taken last
        self.quick: Any = None  # the same where it is certain to be tried again

    def missed(self, why: str) -> None:
        """The stretch was none of the known paths."""
        self.misses += 1
        self.listen = _LISTEN
        self.known, self.quick = False, None
        if self.misses > max(_MISSES, self.matches):
            self.give_up(why)

    def heard_again(self, path: Any) -> None:
        """A stretch was one of the paths: after a miss, others are listened for all the same."""
        self.listen = 0 if not self.misses else self.listen - 1
        self.last, self.known, self.quick = path, self.listen <= 0, None

    def give_up(self, why: str) -> None:
        self.why, self.quick = why, None
        self.recent.clear()

    def pair_of(self, ear: Ear, loose: Callable[[tuple[str, str]], None]) -> Ear | None:
        """A stretch heard before that is like this one; otherwise this one is kept."""
        self.listen -= 1
        why = None
        for other in reversed(self.recent):
            agreement = AgreementOfStretches(other, ear)
            why = agreement.why
            if why is None:
                self.recent.remove(other)
                return other
            # This kernel is run at once from now on, so stretches heard before are of no use.
            if agreement.loose is not None:
                loose(agreement.loose)
                self.recent.clear()
                self.listen += 1
                return None
        self.recent = [*self.recent[1 - _RECENT :], ear]
        if self.listen <= 0 and not self.known:
            self.give_up(why or "what follows differs from time to time")
        return None


def name_of(key: Any) -> str:
    """A place as reports name it: the line, or what was called."""
    if key.__class__ is str:
        return key
    if key.__class__ is tuple:
        code = key[-2]
        lines = [line for start, end, line in code.co_lines() if start <= key[-1] < end]
        where = f"{code.co_filename}:{lines[0] if lines else code.co_firstlineno}"
        return where if len(key) == 2 else f"{key[0]} at {where}"
    return "optimizer.step()"
