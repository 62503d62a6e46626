"""The beginning of a CPU program, made by another thread while Python is still on its way to the end of the stretch.

Only calls that were written down are made so (`runtime/cpu/native/repeat.h`): they need no Python, and change nothing
but memory of the program's own. Python goes on with the rest, on both cores, from wherever the thread has come to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...runtime.cpu import threads
from ..program.instructions import Instruction, Program
from ..program.slots import STATE

if TYPE_CHECKING:
    from .path import PathOfStretch

_MOST_TIMES = 8  # behind so many events at most more calls may be made
_MOST_MISSES = 16  # stretches that went another way behind a start, before none is started any more


class OnHost:
    """Behind which events how many calls may be made, and which of them fill arrays that somebody may hold."""

    def __init__(self, calls: Any, times: list[tuple[int, int]], filled: dict[int, int]) -> None:
        self.calls = calls
        self.times = times  # (events that were compared, calls that may be made then)
        self.filled = filled  # results' arrays, by their ids: the first call that writes there
        self.changed: list[Any] = []  # nothing outside of the program
        self.roots: set[int] = set()
        self.results: set[int] = set()
        self.taken: set[int] = set()
        self.started = False
        self.misses = 0

    def start(self, path: Any, bound: dict[int, Any], cursor: Any) -> None:
        """Let the thread make what may be made by now; `bound` was copied to its places when it was met."""
        at = cursor.at
        upto = max([count for event, count in self.times if event <= at], default=0)
        for a in path.busy(cursor.now):  # what somebody holds since an earlier run
            upto = min(upto, self.filled.get(id(a), upto))
        if upto and self.started:
            self.calls.more(upto)
        elif upto:
            self.started = self.calls.begin(upto) > 0
        cursor.alarm = min([event for event, _ in self.times if event > at], default=0)

    def take_back(self, low: Any) -> None:
        """The stretch is another one: nothing of this has happened."""
        if self.started:
            self.started = False
            self.misses += 1
            self.calls.stop()

    def alarm(self) -> int:
        """Behind how many events to start; 0 for never."""
        if self.misses >= _MOST_MISSES or threads.get() < 2:
            return 0
        return self.times[0][0]


def changes_last(program: Program) -> Program:
    """The same program, with what only changes memory from outside behind everything that does not meet it.

    Running means of a normalisation would end what can be made ahead at the first of them.
    """
    code, late, staying = program.instructions, [], []  # type: tuple[list, list[Instruction], list[Instruction]]
    touched: set[int] = set()  # storages that instructions behind this one read or write
    written: set[int] = set()
    for ins in reversed(code):
        reads = {s.storage.number for s in ins.reads}
        mine = {s.storage.number for s in ins.writes}
        if _only_changes(ins) and mine.isdisjoint(touched) and reads.isdisjoint(written):
            late.append(ins)
            continue  # the others that go to the end keep their order, and come behind all that stay
        staying.append(ins)
        touched |= reads | {s.storage.number for s in ins.outputs}
        written |= mine | {s.storage.number for s in ins.outputs}
    return program.with_instructions([*reversed(staying), *reversed(late)]) if late else program


def _only_changes(ins: Instruction) -> bool:
    """Whether all that an instruction does is to change memory from outside."""
    if not ins.writes or ins.is_random or ins.name == "hand_over":
        return False
    mine = {s.storage.number for s in ins.writes}
    kinds = {s.storage.kind for s in ins.writes}
    return kinds == {STATE} and {s.storage.number for s in ins.outputs} <= mine


def on_host(path: PathOfStretch) -> OnHost | None:
    """What of a path's program another thread may begin with; None where that is nothing."""
    low = path.low
    when = path.arrivals_of_inputs() if low.first_code else None
    if when is None:
        return None
    return OnHost(low.first, _times(low.first_code, when), _filled(path, low.first_code))


def _times(code: list[Instruction], when: dict[int, int]) -> list[tuple[int, int]]:
    """Behind how many events how many calls may be made: those whose inputs are known, in their order."""
    found: dict[int, int] = {}
    latest = 0
    for count, ins in enumerate(code, 1):
        latest = max([latest, *[when.get(s.storage.number, 0) for s in ins.reads]])
        found[latest + 1] = count
    times = sorted(found.items())
    return [*times[: _MOST_TIMES - 1], times[-1]] if len(times) > _MOST_TIMES else times


def _filled(path: PathOfStretch, code: list[Instruction]) -> dict[int, int]:
    """Arrays of results, by their ids: how many calls come before they are written."""
    first: dict[int, int] = {}
    for at, ins in enumerate(code):
        for s in ins.outputs:
            first.setdefault(s.storage.number, at)
    return {
        id(array): first[number]
        for i, array in path.results.values()
        if array is not None and (number := path.program.results[i].storage.number) in first
    }
