"""Parallel branches of a CUDA graph: weight gradients run beside the data gradients that others wait for."""

from __future__ import annotations

from ..program.instructions import Instruction, Program, readers
from ..program.slots import CONSTANT, MADE
from ..record.recorder import CannotCapture

LANES = 2  # beside the main one
# Larger programs fill the GPU with one kernel at a time, and what a branch reads must be kept until it ends.
_MOST_BYTES = 256 << 20


class Branches:
    """Which lane each instruction runs in (0 is the main one), and where the main lane waits for the others."""

    def __init__(self, program: Program, instructions: list[Instruction]) -> None:
        self.lane = [0] * len(instructions)
        self.waits: set[int] = set()  # instructions before which all lanes come together
        self.until: dict[int, int] = {}  # instruction beside the main lane -> where it is waited for
        made = sum(s.nbytes for s in program.storages if s.kind == MADE)
        if made <= _MOST_BYTES:
            self._choose(program, instructions)

    def _choose(self, program: Program, instructions: list[Instruction]) -> None:
        read = readers(instructions)
        results = program.result_storages()
        ends = {at for at, ins in enumerate(instructions) if ins.writes and not ins.outputs}
        written: dict[int, list[int]] = {}
        for at, ins in enumerate(instructions):
            for s in ins.writes:
                written.setdefault(s.storage.number, []).append(at)
        turn = 0
        for at, ins in enumerate(instructions):
            if ins.has_effect or ins.is_view or not ins.outputs:
                continue
            places = [r for s in ins.outputs for r in read.get(s.storage.number, ())]
            seen = any(s.storage.number in results for s in ins.outputs)
            if not all(r in ends for r in places) or not (places or seen) or not ends:
                continue
            self.lane[at] = 1 + turn % LANES
            turn += 1
            # What it reads may be written over later: not before it has ended.
            over = [w for s in ins.reads for w in written.get(s.storage.number, ()) if w > at]
            self.until[at] = min([*places, *over], default=len(instructions))
        self._stay_where_nothing_follows(instructions)
        self.waits = set(self.until.values())

    def _stay_where_nothing_follows(self, instructions: list[Instruction]) -> None:
        """Let the last branch before a wait run in the main lane, which would be idle: crossing costs time."""
        for end in set(self.until.values()):
            last = max(at for at, until in self.until.items() if until == end)
            if all(ins.is_view for ins in instructions[last + 1 : end]):
                self.lane[last] = 0
                del self.until[last]


def heaviest_last(program: Program, instructions: list[Instruction]) -> list[Instruction]:
    """The same instructions; of neighbours that only an update waits for, the largest comes last, in the main lane."""
    found = list(instructions)
    every = Branches(program, instructions)
    for end in every.waits:
        begin = end
        while begin and (begin - 1 in every.until or begin == end):
            begin -= 1
        stretch = found[begin:end]
        if not any(ins.is_view or ins.has_effect for ins in stretch):
            found[begin:end] = sorted(stretch, key=_bytes)
    return found


def _bytes(ins: Instruction) -> int:
    return sum(s.size * s.dtype.itemsize for s in (*ins.reads, *ins.outputs))


def keep_longer(
    last: dict[int, list[int]], branches: Branches, instructions: list[Instruction]
) -> dict[int, list[int]]:
    """Let what a branch reads live until the branch has ended; `last` says what may be forgotten after which."""
    until: dict[int, int] = {}
    for at, end in branches.until.items():
        for s in instructions[at].reads:
            until[s.number] = max(until.get(s.number, 0), end)
    found: dict[int, list[int]] = {}
    for at, numbers in last.items():
        for number in numbers:
            found.setdefault(max(at, until.get(number, at)), []).append(number)
    return found


class Phases:
    """The instructions of a program for a GPU, by where they run.

    Copies of host arguments to the device and other work on the host come first, results brought
    back to the host come last; the graph holds everything between.
    """

    def __init__(self, program: Program, instructions: list[Instruction]) -> None:
        self.before: list[Instruction] = []
        self.graph: list[Instruction] = []
        self.after: list[Instruction] = []
        self.program = program
        late: set[int] = set()  # host storages known only when the graph is done
        for ins in instructions:
            reads = [s.storage for s in ins.reads]
            outs = [s.storage for s in ins.outputs]
            if any(s.number in late for s in reads):
                self._put_after(ins, outs, late)
            elif reads and all(s.device == "cpu" for s in reads):
                self._put_before(ins)
            elif any(s.device == "cpu" and s.kind == MADE for s in outs):
                if reads:
                    self._put_after(ins, outs, late)
                else:
                    self._put_before(ins)
            else:
                _check_baked(ins)
                self.graph.append(ins)

    def _put_before(self, ins: Instruction) -> None:
        if ins.writes and self.graph:
            raise CannotCapture(f"{ins.name} at {ins.line} changes host memory in the middle of work on the GPU")
        self.before.append(ins)

    def _put_after(self, ins: Instruction, outs: list, late: set[int]) -> None:
        if any(s.device != "cpu" for s in outs):
            raise CannotCapture(f"{ins.name} at {ins.line} sends a result of the GPU through the host and back")
        self.after.append(ins)
        late.update(s.number for s in outs)


def _check_baked(ins: Instruction) -> None:
    """Host arrays that a graph's kernels read must be constants or refreshed by the host."""
    for s in ins.reads:
        storage = s.storage
        if storage.device != "cpu" or storage.fed or storage.kind == CONSTANT:
            continue
        raise CannotCapture(
            f"{ins.name} at {ins.line} reads host memory ({storage.label or 'an argument'}) on the "
            "GPU; move it there first"
        )
