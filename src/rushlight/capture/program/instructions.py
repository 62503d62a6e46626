"""The recorded program: instructions over slots, slots over storages; plain data that passes rewrite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

ARGUMENT, STATE, CONSTANT, MADE = "argument", "state", "constant", "made"


class Storage:
    """A piece of memory: who it belongs to and how large it is.

    `argument` storages are filled from the caller's tensors, `state` is memory that outlives the call
    (parameters, buffers, optimiser state), `constant` holds what the host made while recording, and
    `made` is written by the program itself.
    """

    __slots__ = (
        "array", "device", "fed", "kind", "label", "nbytes", "number", "rewritten", "saved"
    )  # fmt: skip

    def __init__(
        self, number: int, kind: str, nbytes: int, label: str = "", array: Any = None
    ) -> None:
        self.number = number
        self.kind = kind
        self.nbytes = nbytes
        self.label = label
        self.array = array  # the memory itself, for state and constants
        self.device = "cpu"
        self.fed = False  # the host refreshes it before every replay
        self.rewritten = False  # a constant the program writes into: restored before every replay
        self.saved: Any = None  # the values to restore

    def __repr__(self) -> str:
        return f"<storage {self.number} {self.kind} {self.nbytes} bytes {self.label}>"


class Slot:
    """An array of the program: a window on a storage."""

    __slots__ = ("array", "dtype", "number", "offset", "shape", "storage", "strides")

    def __init__(
        self,
        number: int,
        storage: Storage,
        shape: tuple[int, ...],
        dtype: np.dtype,
        strides: tuple[int, ...],
        offset: int = 0,
        array: Any = None,
    ) -> None:
        self.number = number
        self.storage = storage
        self.shape = shape
        self.dtype = dtype
        self.strides = strides
        self.offset = offset
        self.array = array  # the array itself, where the storage outlives the call

    @property
    def size(self) -> int:
        n = 1
        for s in self.shape:
            n *= s
        return n

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def name(self) -> str:
        return f"{'%' if self.storage.kind == MADE else '@'}{self.number}"

    @property
    def dense(self) -> bool:
        """Row-major without gaps."""
        step = self.dtype.itemsize
        for n, s in zip(reversed(self.shape), reversed(self.strides)):
            if n != 1 and s != step:
                return False
            step *= n
        return True

    def extent(self) -> tuple[int, int]:
        """How far below its first element it reaches, and how many bytes it spans."""
        low, high = 0, self.dtype.itemsize
        for n, step in zip(self.shape, self.strides):
            reach = (n - 1) * step
            low, high = (low + reach, high) if reach < 0 else (low, high + reach)
        return (low, high - low) if self.size else (0, 0)

    def same_window(self, other: Slot) -> bool:
        return (
            self.storage is other.storage
            and self.offset == other.offset
            and self.shape == other.shape
            and self.strides == other.strides
            and self.dtype == other.dtype
        )

    def __repr__(self) -> str:
        return f"{self.name}:{self.dtype}{list(self.shape)}"


class Instruction:
    """One call of a kernel."""

    __slots__ = ("attrs", "inputs", "kernel", "line", "outputs", "several", "writes")

    def __init__(
        self,
        kernel: Any,
        inputs: tuple[Any, ...],
        attrs: dict[str, Any],
        outputs: tuple[Slot, ...],
        writes: tuple[Slot, ...] = (),
        line: str = "",
        several: bool = False,
    ) -> None:
        self.kernel = kernel
        self.inputs = inputs  # Slot, or a Python value passed as it is
        self.attrs = attrs
        self.outputs = outputs
        self.writes = writes  # inputs it changes in place
        self.line = line
        self.several = several  # the kernel answers a tuple, even for one output

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def reads(self) -> list[Slot]:
        return [i for i in self.inputs if i.__class__ is Slot]

    @property
    def is_view(self) -> bool:
        """Whether it only looks at its inputs' memory in another way."""
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
        self,
        instructions: list[Instruction],
        arguments: list[Slot],
        results: list[Slot],
        device: str = "cpu",
    ) -> None:
        self.instructions = instructions
        self.arguments = arguments  # one per tensor argument; a slot may never be read
        self.results = results  # what the caller receives, gradients included
        self.device = device
        self.handed = len(results)  # how many of them the call itself returns; the rest backward
        self.history: list[tuple[str, int]] = []  # (pass, instructions afterwards)
        self.origin: dict[str, str] = {}  # kernels that a pass made: which one did
        self.without: frozenset[str] = frozenset()  # passes that were left out

    def with_instructions(self, instructions: list[Instruction]) -> Program:
        made = Program(instructions, self.arguments, list(self.results), self.device)
        made.handed = self.handed
        made.history = list(self.history)
        return made

    @property
    def hand_over(self) -> int | None:
        """Where the call ends and its backward begins."""
        names = [ins.name for ins in self.instructions]
        return names.index("hand_over") if "hand_over" in names else None

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

    def bytes_moved(self) -> int:
        """Bytes that instructions read and write, views apart."""
        return sum(_traffic(ins) for ins in self.instructions)

    def least_bytes(self) -> int:
        """Bytes that must move whatever the program: arguments and state once, results once."""
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
        from .show import table

        return table(self)


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


def substitute(instructions: Iterable[Instruction], old: dict[int, Slot]) -> Iterator[Instruction]:
    """The instructions with slots replaced, by number."""
    for ins in instructions:
        if any(i.__class__ is Slot and i.number in old for i in ins.inputs):
            inputs = tuple(old.get(i.number, i) if i.__class__ is Slot else i for i in ins.inputs)
            writes = tuple(old.get(s.number, s) for s in ins.writes)
            ins = ins.replaced(inputs=inputs, writes=writes)
        yield ins
