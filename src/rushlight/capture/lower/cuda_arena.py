"""The memory of CUDA graphs: captured once to see what they ask for, then again over one planned arena.

A captured kernel does not run, so the first capture costs only the host's time. It tells, for every piece of
memory that kernels' bodies ask for (results, temporaries, workspaces), how large it is and between which events it
was in use, by Python's own reference counts. The second capture must ask for the same, and is given places in an
arena where pieces share memory whose uses the graph orders one after the other.
"""

from __future__ import annotations

import gc
import weakref
from collections import deque
from functools import partial
from typing import Any, Protocol

import cupy
from cupy.cuda import MemoryPointer, UnownedMemory, runtime

from ...runtime.cuda.memory import pool
from ..program.arena import Asked, Ledger, plan
from ..program.instructions import Instruction
from .cuda_lanes import Branches

_ALIGN = 512  # what CuPy's pool gives, and libraries expect
_TRIES = 2  # the first capture may ask for what is needed once; the next does not


class Misplaced(Exception):
    """A capture asked for different pieces of memory than the one before it."""


class Memory(Protocol):
    """Where a capture's arrays lie: `malloc` is CuPy's allocator meanwhile."""

    bytes: int

    def open(self, index: int, branches: Branches) -> None: ...
    def begin(self, at: int) -> None: ...
    def malloc(self, size: int) -> Any: ...
    def done(self, ins: Instruction, env: dict[int, Any]) -> None: ...


class Plain:
    """A pool of its own, whose blocks are reused in the order of the program and stay where they are."""

    def __init__(self) -> None:
        self.pool = cupy.cuda.MemoryPool()
        self.malloc = self.pool.malloc
        self.bytes = 0

    def open(self, index: int, branches: Branches) -> None:
        pass

    def begin(self, at: int) -> None:
        pass

    def done(self, ins: Instruction, env: dict[int, Any]) -> None:
        self.bytes = self.pool.total_bytes()


class _Owner:
    """Stands behind a piece of memory; when it dies, nobody uses the piece any more."""

    __slots__ = ("__weakref__", "memory")

    def __init__(self, memory: Any) -> None:
        self.memory = memory


class Tracing:
    """Memory for a capture that is thrown away: the ledger is what it is for."""

    def __init__(self, exclusive: set[int]) -> None:
        self.ledger = Ledger()
        self.bytes = 0
        self.exclusive = exclusive
        self.alive: dict[int, Asked] = {}  # by address
        self.owners: dict[int, weakref.ref] = {}  # by number
        self.device = runtime.getDevice()

    def open(self, index: int, branches: Branches) -> None:
        self.ledger.open(index, branches)

    def begin(self, at: int) -> None:
        self.ledger.begin(at)

    def malloc(self, size: int) -> Any:
        if not size:
            return pool.allocate(0)
        found = pool.allocate(size)
        asked = self.ledger.ask(size)
        owner = _Owner(found)
        self.alive[found.ptr] = asked
        self.owners[asked.number] = weakref.ref(owner, partial(self._died, asked, found.ptr))
        return MemoryPointer(UnownedMemory(found.ptr, size, owner, self.device), 0)

    def _died(self, asked: Asked, address: int, _: Any) -> None:
        self.ledger.give_back(asked)
        del self.alive[address], self.owners[asked.number]

    def done(self, ins: Instruction, env: dict[int, Any]) -> None:
        for s in ins.reads:
            self._touch(env.get(s.number))
        found = [self._touch(env.get(s.number)) for s in ins.outputs]
        for s, asked in zip(ins.outputs, found):
            if asked is not None and s.storage.number in self.exclusive:
                asked.lent = True
        self.ledger.note_results([None if a is None else a.number for a in found])

    def _touch(self, array: Any) -> Asked | None:
        asked = self.alive.get(_memory_of(array))
        if asked is not None:
            self.ledger.touch(asked)
        return asked

    def finish(self, env: dict[int, Any], before: dict[int, Any]) -> Ledger:
        """The ledger, when the arrays in `env` are those of the program and all others are held by somebody else."""
        lasting = {asked.number for a in env.values() if (asked := self._known(a)) is not None}
        env.clear()
        env.update(before)
        if self.owners:
            gc.collect()
        for number in list(self.owners):
            self.ledger.asked[number].held = True
        for number in lasting:  # given back only now, for this capture alone
            self.ledger.asked[number].died = None
        return self.ledger

    def _known(self, array: Any) -> Asked | None:
        return self.alive.get(_memory_of(array))


class Placing:
    """Memory for the capture that stays: places in one arena, and memory apart for what others see or keep."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        spans = ledger.spans()
        sizes = {n: ledger.asked[n].size for n in spans}
        self.offsets, self.bytes = plan(spans, sizes, _ALIGN)
        self.expected = ledger.asked_at()
        self.device = runtime.getDevice()
        self.arena = pool.allocate(self.bytes) if self.bytes else None
        self.given: dict[int, tuple[Any, int]] = {}  # by id: memory, and which piece it is
        self.apart: list[Any] = []  # lives as long as the graphs do
        self.left: deque[Asked] = deque()
        self.missed = False

    def open(self, index: int, branches: Branches) -> None:
        self.index, self.missed = index, False

    def begin(self, at: int) -> None:
        self.where = (self.index, at)
        self.left = deque(self.expected.get(self.where, ()))

    def malloc(self, size: int) -> Any:
        if not size:
            return pool.allocate(0)
        left = self.left
        while left and left[0].size != size and left[0].held:
            left.popleft()  # kept since the first capture
        if not left or left[0].size != size:
            self.missed = True  # reported when the instruction is done: a body may catch what is raised here
            return pool.allocate(size)
        asked = left.popleft()
        if asked.own:
            found = pool.allocate(size)
            self.apart.append(found)
        else:
            assert self.arena is not None
            address = self.arena.ptr + self.offsets[asked.number]
            found = MemoryPointer(UnownedMemory(address, size, self.arena, self.device), 0)
        self.given[id(found.mem)] = (found.mem, asked.number)
        return found

    def done(self, ins: Instruction, env: dict[int, Any]) -> None:
        """Every result must lie in the piece that it lay in before."""
        found = []
        for s in ins.outputs:
            memory = getattr(getattr(env.get(s.number), "data", None), "mem", None)
            found.append(self.given.get(id(memory), (None, None))[1])
        same = found == self.ledger.results[self.where]
        if self.missed or not same or not all(a.held for a in self.left):
            raise Misplaced


def _memory_of(array: Any) -> int:
    """The address where the memory behind a device array begins; 0 for anything else."""
    return array.data.mem.ptr if isinstance(array, cupy.ndarray) else 0


def capture(graphs: list[Any], env: dict[int, Any], exclusive: set[int]) -> Memory:
    """Capture the graphs of a program over one arena; where they do not ask twice for the same, over a pool."""
    before = dict(env)
    for _ in range(_TRIES):
        placing = Placing(_traced(graphs, env, before, exclusive))
        try:
            for index, graph in enumerate(graphs):
                graph.capture(index, placing)
            placing.given.clear()
            return placing
        except Misplaced:
            env.clear()
            env.update(before)
            del placing
    plain = Plain()
    for index, graph in enumerate(graphs):
        graph.capture(index, plain)
    return plain


def _traced(graphs: list[Any], env: dict[int, Any], before: dict[int, Any], exclusive: set[int]) -> Ledger:
    """What the graphs ask for."""
    pool.give_back()
    tracing = Tracing(exclusive)
    for index, graph in enumerate(graphs):
        graph.trace(index, tracing)
    ledger = tracing.finish(env, before)
    for graph in graphs:
        graph.forget_trace()
    pool.give_back()
    return ledger
