"""A stretch of a program as a CUDA graph: captured from streams, launched as one."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np
from cupy.cuda import runtime

from ...runtime.cuda.code.held import holding
from ...runtime.cuda.code.launch import overlap
from ...runtime.cuda.code.sources import counter
from ...runtime.cuda.memory.early import Early, can_send
from ...runtime.cuda.memory.lost import explained
from ...runtime.cuda.memory.streams import current, using
from ...runtime.door import collecting_replay_hooks, replay_hooks
from ..program.instructions import Instruction
from ..program.slots import MADE, Slot
from ..record.recorder import CannotCapture
from .cuda_arena import Memory, Misplaced
from .cuda_lanes import LANES, Branches, Phases, heaviest_last, keep_longer

if TYPE_CHECKING:
    from .cuda import CudaReplay

_RELAXED = 2  # memory may be allocated while the stream captures


class LaunchedGraph:
    """One captured stretch of instructions: what to do before, the graph, what to do after."""

    def __init__(self, low: CudaReplay, instructions: list[Instruction], keep: set[int], early: bool = False) -> None:
        self._low = weakref.ref(low)  # which owns this graph: memory goes when the last user does
        self.at_once: Callable[[], None] | None = None  # what each launch does first
        self.early: dict[int, Early] = {}  # values that are sent ahead, by their slots' numbers
        self.phases = Phases(low.program, instructions)
        self._prepare_moves()
        self.hooks: list[Callable[[], None]] = []
        self.graph: Any = None
        self.held: list[Any] = []  # kernels that the graph runs, let go after it
        self.kernels = len(self.phases.graph)
        self.fed_before, self.fed = _fed(self.phases.before), _fed(self.phases.graph)
        self.code = heaviest_last(low.program, self.phases.graph)
        self.branches = Branches(low.program, self.code)
        keep = keep | {s.number for ins in self.phases.before for s in ins.outputs}
        keep |= {s.number for ins in self.phases.after for s in ins.reads}
        self.last = keep_longer(_last_uses(self.code, keep), self.branches, self.code)
        self.known_at: dict[int, list[Slot]] = {}
        if early and can_send():
            later = {s.storage.number for i in self.phases.after for s in (*i.outputs, *i.writes)}
            results = [s for s in low.program.results if s.storage.number not in later]
            self.known_at = _known_at(self.code, results)

    @property
    def low(self) -> CudaReplay:
        """The lowered program that this is a part of."""
        found = self._low()
        assert found is not None
        return found

    def _prepare_moves(self) -> None:
        """Device memory that host arguments are copied into before each launch."""
        low = self.low
        for ins in self.phases.before:
            for s in ins.outputs:
                if s.storage.device != "cpu" and s.storage.number not in low.memory:
                    low.memory[s.storage.number] = cupy.empty(max(s.storage.nbytes, 1), np.uint8)
                if s.storage.device != "cpu":
                    low.env[s.number] = low.window(s)

    # -- capturing ------------------------------------------------------------------------------

    def capture(self, index: int, memory: Memory) -> None:
        """Make the graph, whose kernels overlap where this driver takes it."""
        if not self.code:
            return
        if _overlaps():
            try:
                self.graph = self._capture(index, memory, _finished, True)
                return
            except CannotCapture:  # another error, if it is one, comes again
                pass
        self.graph = self._capture(index, memory, _finished)

    def trace(self, index: int, memory: Memory) -> None:
        """Capture as for a graph, and keep only what `memory` saw."""
        if self.code:
            self._capture(index, memory, _abandon)

    def forget_trace(self) -> None:
        """Let go of what bodies asked to be refreshed for a graph that is gone, and of its kernels."""
        self.hooks, self.held = [], []

    def _capture(self, index: int, memory: Memory, end: Callable[[Any], Any], overlapping: bool = False) -> Any:
        """The graph as `end` gives it; `overlapping` lets kernels of the main lane come before their turn."""
        self.turn = turn_of_this_gpu()
        self.turn.prepare(1 + max(self.branches.lane))
        stream = self.turn.streams[0]
        runtime.deviceSynchronize()
        with using(stream), cupy.cuda.using_allocator(memory.malloc):
            with collecting_replay_hooks() as hooks, holding() as held:
                stream.begin_capture(_RELAXED)
                try:
                    memory.open(index, self.branches)
                    self._record(memory, overlapping)
                except BaseException:
                    _abandon(stream)
                    raise
                finally:
                    overlap(False)
                graph = end(stream)
        self.hooks, self.held = [hook.refresh for hook in hooks], held
        return graph

    def _record(self, memory: Memory, overlapping: bool) -> None:
        """Run the instructions while their streams are captured."""
        low, streams, branches = self.low, self.turn.streams, self.branches
        self.early.clear()
        if self.at_once is not None:
            self.at_once()
        for at, ins in enumerate(self.code):
            if at in branches.waits:
                _come_together(streams)
            lane = branches.lane[at]
            memory.begin(at)
            if lane:
                _follow(streams[lane], streams[0])
            # A kernel that waits for several must not begin early.
            overlap(overlapping and at > 0 and at not in branches.waits and not lane)
            try:
                with using(streams[lane]):
                    self._execute(ins)
                memory.done(ins, low.env)
            except (CannotCapture, Misplaced):
                raise
            except Exception as error:
                raise CannotCapture(f"{ins.name} at {ins.line} cannot be part of a CUDA graph: {error}") from error
            for slot in self.known_at.get(at, ()):
                self._send(slot, streams[lane])
            for number in self.last.get(at, ()):
                low.env.pop(number, None)
        memory.begin(len(self.code))
        if len(self.code) in branches.waits:
            _come_together(streams)
        if self.early:
            _follow(streams[0], self.turn.sender)

    def _send(self, slot: Slot, lane: Any) -> None:
        """Let a value go to the host in a lane of its own, which nothing in the graph waits for."""
        array = self.low.env[slot.number]
        sent = self.early[slot.number] = Early(array)
        _follow(self.turn.sender, lane)
        with using(self.turn.sender):
            if not sent.send(array):
                raise CannotCapture("the driver does not mark what a graph sends to the host")

    def _execute(self, ins: Instruction) -> None:
        """Run an instruction; one that reads the host's numbers must have asked for these before every launch."""
        hooks = replay_hooks()
        assert hooks is not None
        asked = len(hooks)
        self.low.execute(ins)
        if len(hooks) == asked and any(s.storage.fed for s in ins.reads):
            raise CannotCapture(
                f"{ins.name} at {ins.line} reads numbers of the host that a graph would keep as they are now"
            )

    # -- launching ------------------------------------------------------------------------------

    def launch(self) -> None:
        for ins in self.phases.before:
            self.low.on_host(ins)
        self.low.ran += self.fed_before
        for refresh in self.hooks:
            refresh()
        if self.graph is not None:
            stream = current.ptr
            try:
                if stream != self.turn.ptr:
                    self.turn.take()
                runtime.graphLaunch(self.graph.graphExec, stream)
            except runtime.CUDARuntimeError as error:
                raise explained(error) from None
            self.low.ran += self.fed
        for ins in self.phases.after:
            self.low.execute(ins)


def _fed(instructions: list[Instruction]) -> list[Any]:
    """The arrays among what instructions read that the host brings up to date before each replay."""
    return [s.storage.array for ins in instructions for s in ins.reads if s.storage.fed]


def _overlaps() -> bool:
    """Whether kernels of a graph may begin before those in front of them end: from Hopper on."""
    return overlap(False) and int(cupy.cuda.Device().compute_capability) >= 90


def _finished(stream: Any) -> Any:
    """The graph that a stream has captured, ready to launch."""
    try:
        return stream.end_capture()
    except Exception as error:
        raise CannotCapture(f"the driver does not take the CUDA graph: {error}") from error


class Turn:
    """Whose turn it is: graphs of one GPU share scratch memory, so one in another stream waits for the last."""

    def __init__(self) -> None:
        self.streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(1 + LANES)]
        self.sender = cupy.cuda.Stream(non_blocking=True)  # of values that go to the host early
        self.ready = 0  # streams that have their counters
        self.holder: Any = None
        self.take()

    def prepare(self, count: int) -> None:
        """Counters for the first streams: their zeros cannot be written during a capture.

        Other scratch memory is found when the first capture asks for it, by those who need it.
        """
        for stream in self.streams[self.ready : count]:
            with using(stream):
                counter()
        self.ready = max(self.ready, count)

    def take(self) -> None:
        if self.holder is not None:
            self.holder.synchronize()
        self.holder = cupy.cuda.get_current_stream()
        self.ptr = self.holder.ptr


_turns: dict[int, Turn] = {}


def turn_of_this_gpu() -> Turn:
    """The streams that graphs of this GPU are captured in, and the one that the last was launched in."""
    device = runtime.getDevice()
    if device not in _turns:
        _turns[device] = Turn()
    return _turns[device]


def _follow(lane: Any, other: Any) -> None:
    """Let a lane wait for all that another has done so far."""
    lane.wait_event(other.record(cupy.cuda.Event(disable_timing=True)))


def _come_together(streams: list[Any]) -> None:
    """The main lane waits for the others; those that did not start yet start here."""
    for lane in streams[1:]:
        _follow(lane, streams[0])
        _follow(streams[0], lane)


def _last_uses(instructions: list[Instruction], keep: set[int]) -> dict[int, list[int]]:
    """After which instruction an array of the graph may be forgotten."""
    last: dict[int, int] = {}
    for at, ins in enumerate(instructions):
        for s in (*ins.reads, *ins.outputs):
            if s.storage.kind == MADE and s.array is None and s.number not in keep:
                last[s.number] = at
    found: dict[int, list[int]] = {}
    for number, at in last.items():
        found.setdefault(at, []).append(number)
    return found


def _known_at(instructions: list[Instruction], results: list[Slot]) -> dict[int, list[Slot]]:
    """Behind which instruction a result of one number has its value: the last one that writes where it lies."""
    found: dict[int, list[Slot]] = {}
    for slot in results:
        storage = slot.storage
        if storage.kind != MADE or storage.device == "cpu" or slot.size != 1:
            continue
        made = [
            at for at, ins in enumerate(instructions) if any(s.storage is storage for s in (*ins.outputs, *ins.writes))
        ]
        if made:
            found.setdefault(made[-1], []).append(slot)
    return found


def _abandon(stream: Any) -> None:
    """End a capture that failed or is not needed, so that the stream can be used again."""
    try:
        runtime.graphDestroy(runtime.streamEndCapture(stream.ptr))
    except runtime.CUDARuntimeError:  # after an earlier error, which is the one to report
        pass
