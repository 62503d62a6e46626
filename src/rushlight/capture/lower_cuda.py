"""Lowering to a GPU: the program is run once more while a stream captures it into a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from ..backend.cuda.copies import copies_into, copies_of
from ..backend.cuda.launch import overlap
from ..backend.cuda.lt import library
from ..backend.cuda.sources import counter, partials
from ..backend.cuda.streams import current, using
from ..backend.door import collecting_replay_hooks, run
from .joined.trial_cuda import try_kernels
from .lanes import LANES, Branches, heaviest_last, keep_longer
from .phases import Phases
from .program import MADE, Instruction, Program, Slot
from .record import CannotCapture

_TO_DEVICE, _ON_DEVICE = 1, 3
_RELAXED = 2  # memory may be allocated while the stream captures


class Graph:
    """One captured stretch of instructions: what to do before, the graph, what to do after."""

    def __init__(self, low: CudaReplay, instructions: list[Instruction], keep: set[int]) -> None:
        self.low = low
        self.phases = Phases(low.program, instructions)
        self._prepare_moves()
        self.hooks: list[Callable[[], None]] = []
        self.graph = None
        if self.phases.graph:
            try:
                self.graph = self._capture(keep, _overlaps())
            except CannotCapture:
                if not _overlaps():
                    raise
                self.graph = self._capture(keep, False)
        self.kernels = len(self.phases.graph)

    def _prepare_moves(self) -> None:
        """Device memory that host arguments are copied into before each launch."""
        low = self.low
        for ins in self.phases.before:
            for s in ins.outputs:
                if s.storage.device != "cpu" and s.storage.number not in low.memory:
                    low.memory[s.storage.number] = cupy.empty(max(s.storage.nbytes, 1), np.uint8)
                if s.storage.device != "cpu":
                    low.env[s.number] = low.window(s)

    def _capture(self, keep: set[int], overlapping: bool) -> Any:
        """The graph; `overlapping` lets kernels of the main lane come before their turn."""
        low = self.low
        given = {s.number for ins in self.phases.before for s in ins.outputs}
        code = heaviest_last(low.program, self.phases.graph)
        branches = Branches(low.program, code)
        last = keep_longer(_last_uses(code, keep | given), branches, code)
        self.turn = turn_of_this_gpu()
        streams = self.turn.streams
        stream = streams[0]
        runtime.deviceSynchronize()
        with using(stream), cupy.cuda.using_allocator(low.pool.malloc):
            with collecting_replay_hooks() as hooks:
                stream.begin_capture(_RELAXED)
                try:
                    for at, ins in enumerate(code):
                        if at in branches.waits:
                            _come_together(streams)
                        follows = at > 0 and at not in branches.waits and not branches.lane[at]
                        overlap(overlapping and follows)  # what waits for several must not
                        if branches.lane[at]:
                            self._beside(ins, streams[0], streams[branches.lane[at]])
                        else:
                            low.execute(ins)
                        for number in last.get(at, ()):
                            low.env.pop(number, None)
                    if len(code) in branches.waits:
                        _come_together(streams)
                except BaseException as error:
                    _abandon(stream)
                    if isinstance(error, CannotCapture) or not isinstance(error, Exception):
                        raise
                    raise CannotCapture(
                        f"{ins.name} at {ins.line} cannot be part of a CUDA graph: {error}"
                    ) from error
                finally:
                    overlap(False)
                graph = _finished(stream)
        self.hooks = [refresh for refresh, _ in hooks]
        return graph

    def _beside(self, ins: Instruction, main: Any, lane: Any) -> None:
        """Run one instruction in another lane, after all that the main lane has done so far."""
        lane.wait_event(main.record(cupy.cuda.Event(disable_timing=True)))
        with using(lane):
            self.low.execute(ins)

    def launch(self) -> None:
        for ins in self.phases.before:
            self.low.on_host(ins)
        for refresh in self.hooks:
            refresh()
        if self.graph is not None:
            stream = current.ptr
            if stream != self.turn.ptr:
                self.turn.take()
            runtime.graphLaunch(self.graph.graphExec, stream)
        for ins in self.phases.after:
            self.low.execute(ins)


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
        for stream in self.streams:  # no memory need be found for them during a capture
            with using(stream):
                counter(), partials(), library().workspace(stream.ptr)
        self.holder: Any = None
        self.take()

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


def _come_together(streams: list[Any]) -> None:
    """The main lane waits for the others; those that did not start yet start here."""
    for lane in streams[1:]:
        lane.wait_event(streams[0].record(cupy.cuda.Event(disable_timing=True)))
        streams[0].wait_event(lane.record(cupy.cuda.Event(disable_timing=True)))


class CudaReplay:
    """A lowered program: fill `arguments`, call `run()`, which gives the results' arrays.

    Everything the graph makes lies in a memory pool of its own, whose blocks are reused in the order of
    the program while it is captured, and stay where they are afterwards.
    """

    array_type = cupy.ndarray

    def __init__(self, program: Program, exclusive: set[int], seeds: list[int]) -> None:
        self.program = program
        self.pool = cupy.cuda.MemoryPool()
        self.memory: dict[int, Any] = {}
        self.env: dict[int, Any] = {}
        self.user: Any = None
        self.fresh = [s.storage.device == "cpu" for s in program.results]
        self.arguments = [self._argument(s) for s in program.arguments]
        self.seeds = [self.arguments[i] for i in seeds]
        self._into: dict[int, Any] = {}  # the launch that fills so many arguments, if there is one
        self._copies: dict[int, Any] = {}  # the launch that copies a result, if there is one
        for slot in program.slots:
            if slot.array is not None:
                self.env[slot.number] = slot.array
        self._restore = [
            (s.array, s.saved) for s in program.storages if s.rewritten and s.saved is not None
        ]
        try_kernels(program)
        keep = {s.number for s in program.results}
        cut = program.hand_over
        if cut is None:
            self.first = Graph(self, program.instructions, keep)
        else:
            later = {s.number for ins in program.instructions[cut + 1 :] for s in ins.reads}
            self.first = Graph(self, program.instructions[:cut], keep | later)
            self.second = Graph(self, program.instructions[cut + 1 :], keep | later)
        self.results = program.results

    # -- memory ---------------------------------------------------------------------------------

    def _argument(self, slot: Slot) -> Any:
        storage = slot.storage
        if storage.number not in self.memory:
            if storage.device == "cpu":
                self.memory[storage.number] = np.empty(storage.nbytes, np.uint8)
            else:
                self.memory[storage.number] = cupy.empty(max(storage.nbytes, 1), np.uint8)
        array = self.env[slot.number] = self.window(slot)
        return array

    def window(self, slot: Slot) -> Any:
        memory = self.memory[slot.storage.number]
        if slot.storage.device == "cpu":
            return np.ndarray(slot.shape, slot.dtype, memory.data, slot.offset, slot.strides)
        return cupy.ndarray(slot.shape, slot.dtype, memory.data + slot.offset, slot.strides)

    # -- running --------------------------------------------------------------------------------

    def execute(self, ins: Instruction) -> None:
        """Run one instruction over the arrays known so far."""
        arrays = [self.env[i.number] if i.__class__ is Slot else i for i in ins.inputs]
        cls = next((a.__class__ for a in arrays if isinstance(a, cupy.ndarray)), None)
        if cls is None:
            on_host = any(isinstance(a, np.ndarray) for a in arrays)
            host_made = any(s.storage.device == "cpu" for s in ins.outputs)
            cls = np.ndarray if on_host or host_made else cupy.ndarray
        out = run(ins.kernel, cls, arrays, ins.attrs)
        outs = out if ins.several else (out,)
        for slot, array in zip(ins.outputs, outs):
            known = self.env.get(slot.number)
            if known is None or slot.storage.kind == MADE:
                self.env[slot.number] = array

    def on_host(self, ins: Instruction) -> None:
        """Run one instruction before the graph; copies to the device go straight to their place."""
        if ins.name == "move" and ins.outputs[0].storage.device != "cpu":
            source = self.env[ins.reads[0].number]
            target = self.env[ins.outputs[0].number]
            upload(target, source)
            return
        self.execute(ins)

    def run(self) -> tuple:
        self._go(self.first)
        return self._found(self.results)

    def forward(self) -> tuple[tuple, tuple]:
        self._go(self.first)
        return self._found(self.results[: self.program.handed]), ()

    def _go(self, graph: Graph) -> None:
        for array, saved in self._restore:
            array[...] = saved
        graph.launch()

    def _found(self, slots: list[Slot]) -> tuple:
        return tuple([self.env[s.number] for s in slots])

    def backward(self, saved: tuple, gradients: list[Any]) -> list[Any]:
        """Replay the second half from the gradients of the results."""
        for array, g in zip(self.seeds, gradients):
            if g is None:
                array.fill(0)
            else:
                self.fill(array, g)
        self.second.launch()
        found = self._found(self.results[self.program.handed :])
        return [a.copy() for a in found]

    def fill_all(self, values: list[Any]) -> None:
        """Copy the first arguments into their places, which are laid out as they are."""
        n = len(values)
        if n not in self._into:
            self._into[n] = copies_into(self.arguments[:n])
        go = self._into[n]
        if go is not None:
            go(*values)
            return
        for array, value in zip(self.arguments, values):
            self.fill(array, value)

    def copied(self, i: int, array: Any) -> Any:
        """Result i in memory of its own."""
        if i not in self._copies:
            self._copies[i] = copies_of(array)
        go = self._copies[i]
        return array.copy() if go is None else go(array)

    @staticmethod
    def fill(array: Any, value: Any) -> None:
        """Copy an argument into its place; one plain copy where both lie alike."""
        if isinstance(array, np.ndarray):
            np.copyto(array, value)
        elif value.strides == array.strides and array._c_contiguous:
            runtime.memcpyAsync(
                array.data.ptr, value.data.ptr, array.nbytes, _ON_DEVICE, current.ptr
            )
        else:
            array[...] = value


def upload(target: Any, source: np.ndarray) -> None:
    """A host array into device memory laid out alike, without an array in between."""
    if target._c_contiguous:
        dense = np.ascontiguousarray(source)
        runtime.memcpyAsync(
            target.data.ptr, dense.ctypes.data, dense.nbytes, _TO_DEVICE, current.ptr
        )
    else:
        target[...] = cupy.asarray(source)


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


def _abandon(stream: Any) -> None:
    """End a capture that failed, so that the stream can be used again."""
    try:
        stream.end_capture()
    except Exception:  # noqa: BLE001 - the first error is the one to be told
        pass
