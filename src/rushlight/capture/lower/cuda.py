"""Lowering to a GPU: the program is run once more while a stream captures it into a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from ...core.memory import copy_as_it_lies
from ...runtime.cuda.library.measuring import measured_choices
from ...runtime.cuda.memory import pool
from ...runtime.cuda.memory.lost import explaining
from ...runtime.cuda.memory.repeated_copies import MOST, copies_between, copies_into, copies_of
from ...runtime.cuda.memory.reserved import back
from ...runtime.cuda.memory.streams import current
from ...runtime.door import run
from ..joined.cuda_proof import try_kernels
from ..program.instructions import Instruction, Program
from ..program.slots import MADE, Slot, extent
from ..record.recorder import CannotCapture
from .cuda_arena import capture
from .cuda_graph import LaunchedGraph

_TO_DEVICE, _ON_DEVICE = 1, 3


class CudaReplay:
    """A lowered program: fill `arguments`, call `run()`, which gives the results' arrays.

    What the graphs make lies in one arena, see `cuda_arena.py`; storages in `exclusive`, which others will
    hold, have memory of their own.
    """

    array_type = cupy.ndarray
    left_traces = None  # a graph that was not launched has changed nothing

    def __init__(
        self,
        program: Program,
        exclusive: set[int],
        seeds: list[int],
        measured: bool = True,
        early: bool = False,
        ahead: int = 0,
        save: Callable[[CudaReplay], None] | None = None,
    ) -> None:
        self.program = program
        self.memory: dict[int, Any] = {}
        self.env: dict[int, Any] = {}
        self.user: Any = None
        self.ran: list[Any] = []  # what the host had brought up to date, once it was read
        self.fresh = [s.storage.device == "cpu" for s in program.results]
        self.arguments = [self._argument(s) for s in program.arguments]
        self.seeds = [self.arguments[i] for i in seeds]
        self._into: dict[int, list[tuple]] = {}  # the launches that fill so many arguments: from where to where, which
        self._copies: dict[int, Any] = {}  # the launch that copies a result, if there is one
        self._alike: dict[tuple[int, ...], Any] = {}  # of `copy_alike`, by numbers of bytes
        for slot in program.slots:
            if slot.array is not None:
                self.env[slot.number] = slot.array
        self._restore = [(s.array, s.saved) for s in program.storages if s.rewritten and s.saved is not None]
        with measured_choices(measured):
            try_kernels(program)
            self._capture(exclusive, early, ahead, save)
        pool.give_back()

    def _capture(self, exclusive: set[int], early: bool, ahead: int, save: Callable[[CudaReplay], None] | None) -> None:
        """Make the graphs, and the memory that they work in."""
        program = self.program
        keep = {s.number for s in program.results}
        code, cut = program.instructions, program.hand_over
        if cut is not None or ahead:
            halves = (code[:cut], code[cut + 1 :]) if cut is not None else (code[:ahead], code[ahead:])
            later = {s.number for ins in halves[1] for s in ins.reads}
            # A backward pass may come twice; what was begun ahead is over with the rest of it.
            last = keep if ahead else keep | later
            graphs = [LaunchedGraph(self, halves[0], keep | later, early), LaunchedGraph(self, halves[1], last, early)]
        else:
            graphs = [LaunchedGraph(self, code, keep, early)]
        self.first, self.second = graphs[0], graphs[-1]
        if save is not None and ahead:
            save(self)  # its kernels are made before anything is captured
            self.first.at_once = partial(save, self)
        self.parts = graphs if ahead else graphs[:1]  # what `run` launches
        self.begun = 0  # how many of them are launched already
        self.results = program.results
        self.arena = capture(graphs, self.env, exclusive)
        # What `run` gives, where that is always the same; from the beginning, since references to it are counted.
        lasting = not any(g.phases.before or g.phases.after for g in self.parts)
        self.made = self._found(self.results) if lasting else None
        self.first.at_once = None  # it is part of the graph now, and would keep this alive
        self.arena_bytes = self.arena.bytes

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
        if ins.name == "as_strided" and ins.outputs[0].storage.number in self.memory:
            self._show_argument(ins.outputs[0])
            return
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

    def _show_argument(self, slot: Slot) -> None:
        """A view of an argument by strides: of the program's own memory, which has what the argument shows and no more."""
        low, high = slot.extent()
        if slot.offset + low < 0 or slot.offset + high > slot.storage.nbytes:
            raise CannotCapture("as_strided looks at the memory around an argument")
        self.env[slot.number] = self.window(slot)

    def on_host(self, ins: Instruction) -> None:
        """Run one instruction before the graph; copies to the device go straight to their place."""
        if ins.name == "move" and ins.outputs[0].storage.device != "cpu":
            source = self.env[ins.reads[0].number]
            target = self.env[ins.outputs[0].number]
            upload(target, source)
            return
        self.execute(ins)

    def begin(self) -> None:
        """Launch the first part, whose arguments are filled; `run` launches the rest."""
        self._go(self.parts[0])
        self.begun = 1

    def run(self) -> tuple:
        begun, self.begun = self.begun, 0
        if not begun:
            self._go(self.parts[0])
        for graph in self.parts[1:]:
            graph.launch()
        return self._found(self.results) if self.made is None else self.made

    def wait(self) -> None:
        """Until the GPU has done all that it was given."""
        with explaining():
            runtime.streamSynchronize(current.ptr)

    def forward(self) -> tuple[tuple, tuple]:
        self._go(self.first)
        return self._found(self.results[: self.program.handed]), ()

    def _go(self, graph: LaunchedGraph) -> None:
        self.ran.clear()
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
        handed = self.program.handed
        return [self.copied(handed + i, a) for i, a in enumerate(self._found(self.results[handed:]))]

    def fill_all(self, values: list[Any]) -> None:
        """Copy the first arguments into their places, which are laid out as they are."""
        n = len(values)
        if n not in self._into:
            groups = [(at, min(at + MOST, n)) for at in range(0, n, MOST)]
            self._into[n] = [(at, end, copies_into(self.arguments[at:end])) for at, end in groups]
        for at, end, go in self._into[n]:
            if go is not None:
                go(*values[at:end])
                continue
            for array, value in zip(self.arguments[at:end], values[at:end]):
                self.fill(array, value)

    def give_all(self, pairs: list[tuple[Any, Any]]) -> None:
        """Copy arguments that were written to those whom they belong to."""
        alike = [p for p in pairs if p[0].strides == p[1].strides and extent(p[1]) == (0, p[1].nbytes)]
        if len(alike) != len(pairs) or not all(a.__class__ is cupy.ndarray and a.nbytes for p in pairs for a in p):
            for target, array in pairs:
                target[...] = array
            return
        self.copy_alike(alike)

    copies_into = staticmethod(copies_into)

    def copy_alike(self, pairs: list[tuple[Any, Any]]) -> None:
        """Copy arrays without gaps to others (target, source) that are laid out as they are: four by a launch."""
        for at in range(0, len(pairs), MOST):
            some = pairs[at : at + MOST]
            key = tuple([target.nbytes for target, _ in some])
            if key not in self._alike:
                self._alike[key] = copies_between([target for target, _ in some])
            rest = (None,) * (MOST - len(some))
            self._alike[key](*[s for _, s in some], *rest, *[t for t, _ in some], *rest)

    @staticmethod
    def copiers(pairs: list[tuple[int, int]], made: tuple) -> list[tuple]:
        """Launches that copy results, the second of each pair, to arrays that lie alike: (launch, pairs, nothing).

        The results themselves are not held: references to them are counted.
        """
        found = []
        for at in range(0, len(pairs), MOST):
            some = pairs[at : at + MOST]
            launch = copies_between([made[i] for _, i in some])
            found.append((launch, some, (None,) * (MOST - len(some))))
        return found

    @staticmethod
    def back(array: Any) -> None:
        """Put memory behind an array that was handed out without any."""
        back(array)

    def owns(self, i: int) -> bool:
        """Whether result i has memory whose views all refer to its array: a view of a CuPy view does not."""
        array = self.env.get(self.program.results[i].number)
        return array is None or array.base is None

    def copied(self, i: int, array: Any) -> Any:
        """Result i in memory of its own."""
        if i not in self._copies:
            self._copies[i] = copies_of(array)
        go = self._copies[i]
        return copy_as_it_lies(array) if go is None else go(array)

    @staticmethod
    def fill(array: Any, value: Any) -> None:
        """Copy an argument into its place; one plain copy where both lie alike."""
        if isinstance(array, np.ndarray):
            np.copyto(array, value)
        elif value.strides == array.strides and extent(array) == (0, array.nbytes):
            runtime.memcpyAsync(array.data.ptr, value.data.ptr, array.nbytes, _ON_DEVICE, current.ptr)
        else:
            array[...] = value


def upload(target: Any, source: np.ndarray) -> None:
    """A host array into device memory laid out alike, without an array in between."""
    if target._c_contiguous:
        dense = np.ascontiguousarray(source)
        runtime.memcpyAsync(target.data.ptr, dense.ctypes.data, dense.nbytes, _TO_DEVICE, current.ptr)
    else:
        target[...] = cupy.asarray(source)
