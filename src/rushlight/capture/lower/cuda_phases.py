"""Host and device: which instructions of a GPU program run before the graph, in it, and after it."""

from __future__ import annotations

from ..program.instructions import Instruction, Program
from ..program.slots import CONSTANT, MADE
from ..record.recorder import CannotCapture


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
            raise CannotCapture(
                f"{ins.name} at {ins.line} changes host memory in the middle of work on the GPU"
            )
        self.before.append(ins)

    def _put_after(self, ins: Instruction, outs: list, late: set[int]) -> None:
        if any(s.device != "cpu" for s in outs):
            raise CannotCapture(
                f"{ins.name} at {ins.line} sends a result of the GPU through the host and back"
            )
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
