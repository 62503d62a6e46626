"""The recorded program: instructions over slots, plain data that passes rewrite."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .arena import peak
from .show import html_table, table
from .slots import MADE, Slot, Storage, array_type


class Instruction:
    """One call of a kernel."""

    __slots__ = ("again", "attrs", "inputs", "kernel", "line", "outputs", "several", "writes")

    def __init__(
        self,
        kernel: Any,
        inputs: tuple[Any, ...],
        attrs: dict[str, Any],
        outputs: tuple[Slot, ...],
        writes: tuple[Slot, ...] = (),
        line: str = "",
        several: bool = False,
        again: int = 0,
    ) -> None:
        self.kernel = kernel
        self.inputs = inputs  # Slot, or a Python value passed as it is
        self.attrs = attrs
        self.outputs = outputs
        self.writes = writes  # inputs it changes in place
        self.line = line
        self.several = several  # the kernel answers a tuple, even for one output
        self.again = again  # not 0: a checkpoint computes it once more; it must not be merged with the first time

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def reads(self) -> list[Slot]:
        return [i for i in self.inputs if i.__class__ is Slot]

    @property
    def is_view(self) -> bool:
        """Whether its results are views of its inputs: nothing is computed."""
        if self.writes or not self.outputs:
            return False
        read = {s.storage.number for s in self.reads}
        return all(o.storage.number in read for o in self.outputs)

    @property
    def has_effect(self) -> bool:
        """Whether it does more than fill its outputs."""
        return bool(self.writes) or self.is_random

    @property
    def is_random(self) -> bool:
        return self.kernel.random or "stream" in self.attrs

    def replaced(self, **changes: Any) -> Instruction:
        fields = {name: getattr(self, name) for name in self.__slots__}
        fields.update(changes)
        return Instruction(**fields)

    def __repr__(self) -> str:
        outs = ", ".join(s.name for s in self.outputs)
        ins = ", ".join(i.name if i.__class__ is Slot else repr(i) for i in self.inputs)
        return f"{outs} = {self.name}({ins})"


class Program:
    """Instructions in order, and the slots the outside sees."""

    def __init__(
        self, instructions: list[Instruction], arguments: list[Slot], results: list[Slot], device: str = "cpu"
    ) -> None:
        self.instructions = instructions
        self.arguments = arguments  # one per tensor argument; a slot may never be read
        self.results = results  # what the caller receives, gradients included
        self.device = device
        self.handed = len(results)  # how many of them the call itself returns; backward() gives the rest
        self.exact = False  # whether results have the bits of eager calls
        self.history: list[tuple[str, int]] = []  # (pass, instructions afterwards)
        self.origin: dict[str, str] = {}  # kernel -> the pass that made it
        self.without: frozenset[str] = frozenset()  # passes that were left out
        self.index: Any = None  # an `Index`, while passes rewrite the program
        self.arena_bytes: int | None = None  # the size of the arena, once it is lowered

    def with_instructions(self, instructions: list[Instruction]) -> Program:
        made = Program(instructions, self.arguments, list(self.results), self.device)
        made.handed, made.exact = self.handed, self.exact
        made.history = list(self.history)
        return made

    @property
    def hand_over(self) -> int | None:
        """Where the call ends and its backward begins."""
        names = [ins.name for ins in self.instructions]
        return names.index("hand_over") if "hand_over" in names else None

    @property
    def late_reads(self) -> list[Slot]:
        """What the backward half reads."""
        cut = self.hand_over
        code = [] if cut is None else self.instructions[cut + 1 :]
        return [s for ins in code for s in ins.reads]

    @property
    def slots(self) -> list[Slot]:
        """Every slot, in order of appearance."""
        seen: dict[int, Slot] = {}
        for s in self.arguments:
            seen.setdefault(s.number, s)
        for ins in self.instructions:
            for s in (*ins.reads, *ins.outputs):
                seen.setdefault(s.number, s)
        for s in self.results:
            seen.setdefault(s.number, s)
        return list(seen.values())

    @property
    def storages(self) -> list[Storage]:
        return list({s.storage.number: s.storage for s in self.slots}.values())

    def result_storages(self) -> set[int]:
        return {s.storage.number for s in self.results}

    def lifetimes(self) -> dict[int, tuple[int, int]]:
        """Per made storage: the first and the last instruction that touches it."""
        spans: dict[int, tuple[int, int]] = {}
        for at, ins in enumerate(self.instructions):
            for s in (*ins.reads, *ins.outputs):
                number = s.storage.number
                first, _ = spans.get(number, (at, at))
                spans[number] = (first, at)
        end = len(self.instructions)
        for number in self.result_storages():
            if number in spans:
                spans[number] = (spans[number][0], end)
        made = {s.number for s in self.storages if s.kind == MADE}
        return {n: span for n, span in spans.items() if n in made}

    def peak(self) -> tuple[int, int, list[Storage]]:
        """The most bytes of its own alive at once, at which instruction, and in which storages, largest first."""
        spans = self.lifetimes()
        sizes = {s.number: s.nbytes for s in self.storages}
        most, at = peak(spans, sizes)
        alive = [s for s in self.storages if s.number in spans]
        alive = [s for s in alive if spans[s.number][0] <= at <= spans[s.number][1]]
        return most, at, sorted(alive, key=lambda s: -s.nbytes)

    def bytes_moved(self) -> int:
        """Bytes that instructions read and write, views apart."""
        return sum(_traffic(ins) for ins in self.instructions)

    def least_bytes(self) -> int:
        """Bytes that any program must move: arguments and state are read once, results written once."""
        touched: dict[int, int] = {}
        for ins in self.instructions:
            if ins.is_view:
                continue
            for s in ins.reads:
                if s.storage.kind != MADE:
                    touched[s.storage.number] = max(touched.get(s.storage.number, 0), s.nbytes)
            for s in ins.writes:
                if s.storage.kind != MADE:
                    touched[-1 - s.storage.number] = s.nbytes
        return sum(touched.values()) + sum(s.nbytes for s in self.results)

    def __len__(self) -> int:
        return len(self.instructions)

    def __str__(self) -> str:
        return table(self)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return html_table(self)


def _traffic(ins: Instruction) -> int:
    if ins.is_view:
        return 0
    return sum(s.nbytes for s in (*ins.reads, *ins.outputs, *ins.writes))


def readers(instructions: Iterable[Instruction]) -> dict[int, list[int]]:
    """Per storage number: the instructions that read any slot of it."""
    found: dict[int, list[int]] = {}
    for at, ins in enumerate(instructions):
        for s in ins.reads:
            found.setdefault(s.storage.number, []).append(at)
    return found


def writers(instructions: Iterable[Instruction]) -> dict[int, list[int]]:
    """Per storage number: the instructions that write it, as output or in place."""
    found: dict[int, list[int]] = {}
    for at, ins in enumerate(instructions):
        if ins.is_view:
            continue
        for s in (*ins.outputs, *ins.writes):
            places = found.setdefault(s.storage.number, [])
            if not places or places[-1] != at:
                places.append(at)
    return found


def class_of(ins: Instruction) -> type:
    """The device's array type by which an eager call would find the body of a kernel."""
    slots = ins.reads if ins.name == "move" else [*ins.outputs, *reversed(ins.reads)]
    return array_type(slots[0].storage.device if slots else "cpu")
