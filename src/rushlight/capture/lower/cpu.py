"""Lowering to the CPU: a program becomes one straight Python function over prepared arrays."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.memory import copy_as_it_lies
from ...runtime.cpu import bodies
from ...runtime.cpu.engine import active
from ...runtime.cpu.quiet import quiet
from ...runtime.door import run
from ..program.arena import plan
from ..program.instructions import Instruction, Program
from ..program.slots import ARGUMENT, CONSTANT, MADE, STATE, Slot
from . import cpu_into as into


class CpuReplay:
    """A lowered program: fill `arguments`, call `run()`, which gives the results' arrays.

    A slot is *static* when its array exists before the run, in memory planned once; a kernel that
    cannot write into given memory makes a *fresh* array each time, kept in a local variable. A
    program with a backward becomes two functions; the first also returns the fresh arrays that the
    second needs.
    """

    array_type = np.ndarray
    ticks: list[tuple[int, float]] | None = None  # what has run and when, where somebody looks on
    twin: Any = None  # the same over the same memory, which notes that

    def __init__(self, program: Program, exclusive: set[int], seeds: list[int]) -> None:
        self.program = program
        self.names: dict[str, Any] = {"copyto": np.copyto, "asarray": np.asarray}
        self.statics: dict[int, np.ndarray] = {}
        self.file = f"<program of {len(program)}>"
        self.user: Any = None  # a weak reference to the node whose backward is still to come
        self.ran: list[np.ndarray] = []  # what the host had brought up to date, once it was read
        self.cut = program.hand_over
        self.static = self._choose(exclusive)
        self.memory = self._allocate(exclusive)
        self.arguments = [self.array(s) for s in program.arguments]
        self.seeds = [self.arguments[i] for i in seeds]
        self.fresh = [s.storage.number not in self.static for s in program.results]
        self.written = {s.storage.number for ins in program.instructions for s in ins.writes}
        self._emit_all()

    fill = staticmethod(np.copyto)

    def fill_all(self, values: list[Any]) -> None:
        """Copy the first arguments into their places."""
        for array, value in zip(self.arguments, values):
            np.copyto(array, value)

    def give_all(self, pairs: list[tuple[Any, Any]]) -> None:
        """Copy arguments that were written to those whom they belong to."""
        for target, array in pairs:
            np.copyto(target, array)

    def watched(self) -> CpuReplay:
        """The same program over the same memory, which notes in `ticks` when each of its instructions is done."""
        if self.twin is None:
            twin = self.twin = copy.copy(self)
            twin.names, twin.ticks, twin.source = dict(self.names), [], ""
            twin._emit_all()
        return self.twin

    def copied(self, i: int, array: Any) -> Any:
        """Result i in memory of its own."""
        return copy_as_it_lies(array)

    # -- memory ---------------------------------------------------------------------------------

    def _choose(self, lent: set[int]) -> set[int]:
        """Storages with memory of their own: all but what some kernel can only make afresh.

        Results, too, are made afresh, unless their memory is `lent`: the caller keeps them.
        """
        results = {s.storage for s in self.program.results}
        fresh = {s.number for s in results if s.kind == MADE and s.number not in lent}
        for ins in self.program.instructions:
            if ins.is_view:
                continue
            given = {s.storage.number for s in ins.reads}
            made = {s.storage.number for s in ins.outputs if s.storage.kind == MADE} - given
            if made & fresh or into.find(ins) is None:  # one of several results: all of them
                fresh |= made
        return {s.number for s in self.program.storages} - fresh

    def _allocate(self, exclusive: set[int]) -> dict[int, np.ndarray]:
        """One arena for what the program makes, and a buffer for each argument."""
        program = self.program
        spans = {n: s for n, s in program.lifetimes().items() if n in self.static}
        whole = (0, len(program.instructions) + 1)
        own = self._owners({n for n in spans if n in exclusive})
        spans = {n: s for n, s in spans.items() if n not in own}
        spans = {n: whole if n in exclusive else s for n, s in spans.items()}
        if self.cut is not None:  # what crosses stays whole, so that backward can run twice
            spans = {
                n: (first, whole[1]) if first < self.cut < last else (first, last) for n, (first, last) in spans.items()
            }
        storages = {s.number: s for s in program.storages}
        sizes = {n: storages[n].nbytes for n in spans}
        offsets, total = plan(spans, sizes)
        arena = aligned(total)
        memory = {n: arena[at : at + sizes[n]] for n, at in offsets.items()}
        for storage in storages.values():
            if storage.kind == ARGUMENT:
                memory[storage.number] = aligned(storage.nbytes)
        self.arena_bytes = total + sum([bytes_of.nbytes for bytes_of in own.values()])
        return memory | own

    def owns(self, i: int) -> bool:
        """Whether result i has memory whose views all refer to its array."""
        return self.array(self.program.results[i]).base is None

    def _owners(self, lent: set[int]) -> dict[int, np.ndarray]:
        """The bytes of lent results whose arrays own their memory.

        The caller sees from the references to such an array whether anybody looks at the memory. NumPy makes a view of
        a view one of the memory's owner, so only an owner has a reference from each of its views.
        """
        found: dict[int, np.ndarray] = {}
        for slot in self.program.results:
            n = slot.storage.number
            whole = slot.offset == 0 and slot.extent() == (0, slot.storage.nbytes)
            if n in found or n not in lent or not whole or not slot.nbytes:
                continue
            made = np.ndarray(slot.shape, slot.dtype, strides=slot.strides)
            order = sorted(range(made.ndim), key=lambda axis: -made.strides[axis])
            flat = made.transpose(order).reshape(-1)
            if flat.base is made and flat.nbytes == slot.storage.nbytes:
                self.statics[slot.number] = made
                found[n] = flat.view(np.uint8)
        return found

    def array(self, slot: Slot) -> np.ndarray:
        """The array of a static slot."""
        found = self.statics.get(slot.number)
        if found is None:
            found = slot.array
            if found is None:
                found = window(self.memory[slot.storage.number], slot)
            self.statics[slot.number] = found
        return found

    # -- code -----------------------------------------------------------------------------------

    def _name(self, value: Any, stem: str) -> str:
        name = f"{stem}{len(self.names)}"
        self.names[name] = value
        return name

    def operand(self, value: Any) -> str:
        """The expression for an input."""
        if value.__class__ is not Slot:
            if value is None or value.__class__ in (bool, int):
                return repr(value)
            return self._name(value, "c")
        if value.storage.number not in self.static:
            return f"v{value.number}"
        name = f"s{value.number}"
        self.names.setdefault(name, self.array(value))
        return name

    def _emit_all(self) -> None:
        program, cut = self.program, self.cut
        self.lines: list[str] = []
        self.calls: list[tuple] = []  # of kernels that are to follow in one line
        self.first: Any = None  # those that a run begins with, as one callable, and their instructions
        self.first_code: list[Instruction] = []
        self.starts: list[tuple[int, int]] = []  # lines of the code, and the instructions there
        if any(s.fed for s in program.storages):
            self.lines.append(f"{self._name(self.ran, 'ran')}.clear()")
        for storage in program.storages:
            if storage.rewritten:
                saved = self._name(storage.saved, "saved")
                self.lines.append(f"copyto({self._name(storage.array, 'constant')}, {saved})")
        self.before = 0 if any(s.rewritten for s in program.storages) else len(self.lines)
        last = self._last_uses()
        results = [self.operand(s) for s in program.results]
        if cut is None:
            self._emit_range(0, len(program), last)
            self.run = self._function("", results)
            return
        crossing = self._crossing(cut)
        self._emit_range(0, cut, last)
        handed = results[: program.handed]
        self.forward = self._function("", [_tuple(handed), _tuple(crossing)])
        self.lines = [f"{_tuple(crossing)} = saved"] if crossing else []
        self._emit_range(cut + 1, len(program), last)
        self._backward = self._function("saved", results[program.handed :])

    def _emit_range(self, start: int, end: int, last: dict[int, list[int]]) -> None:
        for at in range(start, end):
            ins = self.program.instructions[at]
            plain = self._plain_call(ins)
            fed = [s for s in ins.reads if s.storage.fed]
            gone = last.get(at, ())
            if plain is None and not self._is_static_view(ins):
                self._flush()
            if self.cut is None or at < self.cut:
                self.starts.append((len(self.lines) + 2, at))  # the first line is `def`
            if plain is None:
                self._emit(ins)
            else:
                self.calls.append(plain)
                if self.first is None:
                    self.first_code.append(ins)
            if fed or gone:
                self._flush()
            for s in fed:
                noted = self._name(self.ran.append, "note")
                self.lines.append(f"{noted}({self._name(s.storage.array, 'fed')})")
            if self.ticks is not None and not ins.is_view:
                self._flush()
                self.lines.append(f"{self._name(self._tick, 'tick')}({at})")
            for number in gone:
                self.lines.append(f"v{number} = None")
        self._flush()

    def _tick(self, at: int) -> None:
        assert self.ticks is not None
        self.ticks.append((at, time.perf_counter()))

    def _is_static_view(self, ins: Instruction) -> bool:
        return ins.is_view and all(s.storage.number in self.static for s in ins.outputs)

    def _plain_call(self, ins: Instruction) -> tuple | None:
        """A call of the engine whose arrays are the same in every run: (callable, arguments, attributes)."""
        if ins.is_view or not getattr(active(), "sequences", False):
            return None
        slots = [s for s in (*ins.inputs, *ins.outputs) if s.__class__ is Slot]
        chosen = into.find(ins)
        if chosen.__class__ is not into.NativeInto or any(s.storage.number not in self.static for s in slots):
            return None
        arguments = [self.array(i) if i.__class__ is Slot else i for i in ins.inputs]
        return chosen.bound(self, ins), tuple(arguments), dict(ins.attrs)

    def _flush(self) -> None:
        """Calls that follow each other without a line of Python between them are one line."""
        if self.calls:
            together = active().sequence(self.calls)  # type: ignore[union-attr]
            if self.first is None:
                self.first = together
                if len(self.lines) != self.before or not hasattr(together, "begin"):
                    self.first_code = []  # something comes before them
            self.lines.append(f"{self._name(together, 'calls')}()")
            self.calls = []

    def left_traces(self, error: BaseException) -> bool:
        """Whether a run that failed had changed anything that lasts before: memory of the function's own, a random stream."""
        tb, line = error.__traceback__, None
        while tb is not None:
            if tb.tb_frame.f_code.co_filename == self.file:
                line = tb.tb_lineno
            tb = tb.tb_next
        if line is None:
            return True
        ran = [at for first, at in self.starts if first <= line]
        return any(  # what is called random and gives nothing is a check, which may not be moved
            (ins.kernel.random and ins.outputs) or any(s.storage.kind in (STATE, CONSTANT) for s in ins.writes)
            for ins in self.program.instructions[: max(ran, default=0) + 1]
        )

    def _crossing(self, cut: int) -> list[str]:
        """Fresh arrays made before the cut and used after it."""
        made: set[int] = set()
        used: set[int] = set()
        for at, ins in enumerate(self.program.instructions):
            if at < cut:
                made.update(s.number for s in ins.outputs)
            elif at > cut:
                used.update(s.number for s in ins.reads)
        used.update(s.number for s in self.program.results[self.program.handed :])
        fresh = {s.number for s in self.program.slots if s.storage.number not in self.static}
        return [f"v{n}" for n in sorted(made & used & fresh)]

    def backward(self, saved: tuple, gradients: list[Any]) -> list[np.ndarray]:
        """Run the second half from the gradients of the results."""
        for array, g in zip(self.seeds, gradients):
            if g is None:
                array[...] = 0
            else:
                np.copyto(array, g)
        arrays = self._backward(saved)
        fresh = self.fresh[self.program.handed :]
        return [a if own else copy_as_it_lies(a) for a, own in zip(arrays, fresh)]

    def _last_uses(self) -> dict[int, list[int]]:
        """After which instruction a fresh array is not needed any more."""
        results = {s.number for s in self.program.results}
        last: dict[int, int] = {}
        for at, ins in enumerate(self.program.instructions):
            for s in (*ins.reads, *ins.outputs):
                if s.storage.number not in self.static and s.number not in results:
                    last[s.number] = at if self.cut != at else at - 1
        found: dict[int, list[int]] = {}
        for number, at in last.items():
            found.setdefault(at, []).append(number)
        return found

    def _emit(self, ins: Instruction) -> None:
        if self._is_static_view(ins):
            return  # resolved when its array is asked for
        chosen = None if ins.is_view else into.find(ins)
        operands = [self.operand(i) for i in ins.inputs]
        if chosen is not None and all(s.storage.number in self.static for s in ins.outputs):
            outs = [self.operand(s) for s in ins.outputs]
            self.lines.extend(chosen.lines(self, ins, operands, outs))
            return
        call = self._name(plain(ins.kernel), f"{ins.name}_")
        given = ", ".join([*operands, *[f"{k}={self.operand(v)}" for k, v in ins.attrs.items()]])
        targets = ["_" if s.storage.number in self.static else f"v{s.number}" for s in ins.outputs]
        if not targets:
            self.lines.append(f"{call}({given})")
        else:
            left = ", ".join(targets) + ("," if ins.several and len(targets) == 1 else "")
            self.lines.append(f"{left} = {call}({given})")
            for s, target in zip(ins.outputs, targets):
                if target != "_" and not s.shape and s.storage.number in self.written:
                    self.lines.append(f"{target} = asarray({target})")  # NumPy's scalars are fixed

    def _function(self, parameter: str, results: list[str]) -> Callable[..., tuple]:
        body = [*self.lines, f"return {_tuple(results)}"]
        source = f"def replay({parameter}):\n" + "".join(f"    {line}\n" for line in body)
        self.source = getattr(self, "source", "") + source
        scope = dict(self.names)
        scope["__name__"] = __name__  # whose code it is
        exec(compile(source, self.file, "exec"), scope)
        return quiet(scope["replay"])


def _tuple(parts: list[str]) -> str:
    return f"({', '.join(parts)}{',' if parts else ''})"


def aligned(nbytes: int) -> np.ndarray:
    """Bytes that start at a cache line."""
    raw = np.empty(nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + nbytes]


def window(memory: np.ndarray, slot: Slot) -> np.ndarray:
    """A slot's array over its storage's bytes."""
    return np.ndarray(slot.shape, slot.dtype, memory.data, slot.offset, slot.strides)


def plain(kernel: Any) -> Callable[..., Any]:
    """A kernel's CPU body; of one that may refuse, the way through the door, where a fallback waits."""
    body, fallback = bodies(kernel, guarded=False)
    if fallback is None:
        return body
    return lambda *arrays, **attrs: run(kernel, np.ndarray, arrays, attrs, alone=True)
