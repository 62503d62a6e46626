"""The beginning of a program that a GPU starts before its stretch is over, while Python is still on its way there.

Nothing of it can be seen: it computes in memory of the program's own. What it changes apart from that (running means of
a normalisation, a random stream) is saved by its first kernels, and put back where the stretch turns out to be another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.memory import root_array
from ...runtime import devices
from ..program.instructions import Instruction
from ..program.slots import ARGUMENT, CONSTANT, MADE

if TYPE_CHECKING:
    from .path import PathOfStretch

_LEAST = 150.0  # microseconds of the GPU that are worth a start, which takes the host up to forty
_KERNEL, _BYTES = 2.0, 3e6  # what a kernel takes at least, and bytes that it moves in a microsecond
_MOST_SAVED = 1 << 20  # bytes
_MOST_ARRAYS = 256
_SMALL = 1 << 16  # bytes of a result that is computed early, and copied to who gets it
_MOST_RESULTS = 4  # such results: one launch copies four
_MOST_MISSES = 3  # stretches that went another way behind a start, before none is started any more


class Ahead:
    """How many instructions may begin early, behind which event, and what they change."""

    def __init__(self, count: int, event: int, changed: list[Any], results: set[int]) -> None:
        self.count = count
        self.event = event  # how many events are compared before the start
        self.changed = changed  # arrays from outside
        self.roots = {id(root_array(a)) for a in changed}
        # Storages of results: not the arrays that are handed out, which the last iteration may still hold.
        self.results = results
        self.saved: list[Any] = []
        self.started = False
        self.taken: set[int] = set()  # inputs that were copied then
        self.misses = 0

    def save(self, low: Any) -> None:
        """Copy what will be changed; called once more while the graph is captured."""
        if not self.saved:
            self.saved = [a.copy() for a in self.changed]
        low.copy_alike(list(zip(self.saved, self.changed)))

    def start(self, path: Any, bound: dict[int, Any], cursor: Any) -> None:
        """Launch the first part with the inputs that are known."""
        self.take_back(path.low)  # a start that nobody has ended
        self.taken = set(bound)
        path.fill(bound)
        path.low.begin()
        self.started = True  # not where a launch was refused: then nothing was saved

    def take_back(self, low: Any) -> None:
        """The stretch is another one: nothing of this has happened."""
        if not self.started:
            return
        self.started, low.begun = False, 0
        self.misses += 1
        if self.changed:
            low.copy_alike(list(zip(self.changed, self.saved)))

    def alarm(self) -> int:
        """Behind how many events to start; 0 for never."""
        return self.event if self.misses < _MOST_MISSES else 0


def planned(path: PathOfStretch) -> Ahead | None:
    """What of a path's program may begin early; None where that is not worth a launch."""
    when = path.arrivals_of_inputs() if path.on_gpu else None
    if when is None:
        return None
    ready, changed = _ready(path.program.instructions, when, path.program.result_storages())
    total, best, found = len(path.program.instructions), 0.0, None
    for time in sorted(set(ready)):
        count = next((i for i, t in enumerate(ready) if t > time), len(ready))
        # What is gained is what the host and the GPU do beside each other.
        gain = min(count / total, 1 - (time + 1) / len(path.events))
        if gain > best:
            best, found = gain, (count, time)
    if found is None:
        return None
    count, time = found
    if total == count or sum(map(_microseconds, path.program.instructions[:count])) < _LEAST:
        return None
    arrays = [a for at, a in changed if at < count]
    # Kernels draw from these unless they are given another one.
    arrays += [stream._state for stream in devices.open_streams("cuda")]  # type: ignore[attr-defined]
    made = {s.storage.number for ins in path.program.instructions[:count] for s in (*ins.outputs, *ins.writes)}
    results = made & path.program.result_storages()
    return Ahead(count, time + 1, list({id(a): a for a in arrays}.values()), results)


def _microseconds(ins: Instruction) -> float:
    """About how long the GPU is at work."""
    if ins.is_view:
        return 0.0
    return _KERNEL + sum([s.nbytes for s in (*ins.reads, *ins.outputs)]) / _BYTES


def _ready(code: list[Instruction], when: dict[int, int], results: set[int]) -> tuple[list[int], list[tuple[int, Any]]]:
    """For the instructions at the beginning that may run early: behind which event; and what they change, and where.

    They keep their order, so each waits for what those in front of it wait for; `when` has the arguments' events.
    """
    ready: list[int] = []
    changed: list[tuple[int, Any]] = []
    saved: dict[int, int] = {}
    latest, given = 0, set()  # type: tuple[int, set[int]]
    for at, ins in enumerate(code):
        arrays = _changed(ins, results)
        if arrays is None or any(s.storage.fed for s in ins.reads):
            break
        given |= {s.storage.number for s in (*ins.outputs, *ins.writes)} & results
        if len(given) > _MOST_RESULTS:
            break
        saved.update({id(a): a.nbytes for a in arrays})
        if len(saved) > _MOST_ARRAYS or sum(saved.values()) > _MOST_SAVED:
            break
        changed += [(at, a) for a in arrays]
        latest = max([latest, *[when.get(s.storage.number, 0) for s in ins.reads]])
        ready.append(latest)
    return ready, changed


def _changed(ins: Instruction, results: set[int]) -> list[Any] | None:
    """Arrays from outside that an instruction changes; None where it must not run early."""
    made = [s.storage for s in (*ins.outputs, *ins.writes)]
    if any(s.number in results and s.nbytes > _SMALL for s in made):
        return None
    if any(s.storage.device == "cpu" and s.storage.kind != ARGUMENT for s in (*ins.reads, *ins.outputs)):
        return None
    found: list[Any] = []
    for s in ins.writes:
        kind, a = s.storage.kind, s.array
        if kind == MADE:
            continue
        if kind in (ARGUMENT, CONSTANT) or a is None or s.storage.device == "cpu":
            return None
        if not a._c_contiguous:
            return None
        found.append(a)
    stream = ins.attrs.get("stream")
    if stream is not None:
        if not hasattr(stream, "address"):
            return None  # one of the host's
        found.append(stream._state)
    return found
