"""Epilogues of dense layers on a GPU: relu joins the product, and what a layer's backward computes is joined."""

from __future__ import annotations

from ...runtime.cuda.small.dense_sizes import is_few, is_small
from ..joined.epilogues import (
    CROSS_ENTROPY_STEP,
    LINEAR_BACKWARD,
    LINEAR_GRADS,
    LINEAR_RELU,
    MM_MASKED,
)
from ..program.instructions import Instruction, Program, writers
from ..program.rewrite import once_made, uses
from ..program.slots import Slot

_TYPES = frozenset(("float32", "float16", "bfloat16"))
_LIBRARY_FROM = 1 << 25  # multiply-adds from which the library's epilogues pay in other dtypes
# Numbers of a gradient up to which its sums for the bias are better made beside the library's product than by it: for the
# MLP's 100 x 1000 the step takes 35.0 us instead of 37.5, for 4096 x 120 491 instead of 484 (H200, float32).
_SUMS_BESIDE = 1 << 18
_MOST_CLASSES, _MOST_ROWS = 2047, 8192  # of the kernel that gives loss and gradient at once


def join_epilogues(program: Program) -> Program:
    """Fewer, larger kernels for dense layers and the loss behind them."""
    if program.device != "cuda":
        return program
    for join in (_relu_forward, _relu_backward, _bias_sums, _whole_backward, _loss_and_gradient):
        program = _Joiner(program).run(join)
    return program


class _Joiner:
    """A program whose instructions are being joined, two at a time."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.code: list[Instruction | None] = list(program.instructions)
        self.once = once_made(program)
        self.written = writers(program.instructions)

    def run(self, join) -> Program:  # type: ignore[no-untyped-def]
        for at, ins in enumerate(self.program.instructions):
            if self.code[at] is ins:
                join(self, at, ins)
        return self.program.with_instructions([ins for ins in self.code if ins is not None])

    def only_reader(self, slot: Slot) -> int | None:
        """The one instruction that reads a value made here, when nothing else sees it."""
        readers = uses(self.program, slot)
        if readers is None or len(readers) != 1 or slot.storage.number not in self.once:
            return None
        return readers[0]

    def can_move(self, ins: Instruction, since: int, until: int) -> bool:
        """Whether an instruction of `until` could run at `since`: all it reads is there, unchanged."""
        return not any(
            since < at < until for s in ins.reads for at in self.written.get(s.storage.number, ())
        )

    def is_read(self, slot: Slot, since: int, until: int) -> bool:
        """Whether anything between two places reads the memory of a slot."""
        number = slot.storage.number
        between = self.program.instructions[since + 1 : until]
        return any(s.storage.number == number for ins in between for s in ins.reads)

    def join(self, first: int, second: int, made: Instruction) -> None:
        """`made`, at the place of the first named, stands for both."""
        self.code[first] = made
        self.code[second] = None


def _sizes(ins: Instruction) -> tuple[int, int, int, str] | None:
    """(rows, columns, terms, dtype) of a product of plain matrices; None for anything else."""
    x, y, out = ins.inputs[0], ins.inputs[1], ins.outputs[0]
    if any(s.__class__ is Slot and s.dtype.name not in _TYPES for s in ins.inputs):
        return None
    if x.dtype != y.dtype or len(x.shape) != 2 or len(y.shape) != 2 or not out.size:
        return None
    terms = x.shape[0] if ins.name == "mm_tn" else x.shape[1]
    return out.shape[0], out.shape[1], terms, x.dtype.char


def _pays(ins: Instruction) -> bool:
    """Whether a kernel of ours or an epilogue of the library's takes it."""
    sizes = _sizes(ins)
    if sizes is None:
        return False
    m, n, k, char = sizes
    return is_small(m, n, k, char) or m * n * k > _LIBRARY_FROM


def _relu_forward(j: _Joiner, at: int, ins: Instruction) -> None:
    if ins.name != "linear" or ins.inputs[2] is None or not _pays(ins):
        return
    reader = j.only_reader(ins.outputs[0])
    if reader is None or j.program.instructions[reader].name != "relu":
        return
    relu = j.program.instructions[reader]
    j.join(at, reader, Instruction(LINEAR_RELU, ins.inputs, {}, relu.outputs, (), relu.line))


def _relu_backward(j: _Joiner, at: int, ins: Instruction) -> None:
    if ins.name != "mm":
        return
    sizes = _sizes(ins)
    reader = j.only_reader(ins.outputs[0])
    if sizes is None or reader is None or not is_small(*sizes):
        return
    slope = j.program.instructions[reader]
    if slope.name != "relu_grad" or slope.inputs[0] is not ins.outputs[0]:
        return
    y = slope.inputs[1]
    dense = all(s.dense for s in (*ins.reads, y)) and y.dtype == ins.outputs[0].dtype
    if dense and y.shape == ins.outputs[0].shape and j.can_move(slope, at, reader):
        inputs = (*ins.inputs, y)
        j.join(at, reader, Instruction(MM_MASKED, inputs, {}, slope.outputs, (), slope.line))


def _bias_sums(j: _Joiner, at: int, ins: Instruction) -> None:
    if ins.name != "mm_tn" or not _pays(ins):
        return
    g, x = ins.inputs
    if not (g.dense and x.dense) or _sums_beside(ins):
        return
    for later in range(at + 1, len(j.program)):
        total = j.program.instructions[later]
        if any(s.storage.number == g.storage.number for s in total.writes):
            return
        if total.name == "sum" and total.reads[0] is g:
            plain = total.attrs == {"dim": (0,), "keepdim": False}
            if plain and total.outputs[0].storage.number in j.once:
                outs = (*ins.outputs, *total.outputs)
                j.join(at, later, Instruction(LINEAR_GRADS, (g, x), {}, outs, (), ins.line, True))
            return


def _sums_beside(ins: Instruction) -> bool:
    """Whether the library makes the product, and is not to make the sums."""
    sizes = _sizes(ins)
    return (
        sizes is not None
        and not is_small(*sizes)
        and sizes[3] == "f"
        and ins.inputs[0].size <= _SUMS_BESIDE
    )


def _whole_backward(j: _Joiner, at: int, ins: Instruction) -> None:
    """Few rows: the gradients of input, weight and bias are one launch."""
    if ins.name not in ("mm", "mm_masked"):
        return
    sizes = _sizes(ins)
    if sizes is None or not is_few(*sizes) or not all(s.dense for s in ins.reads):
        return
    g = ins.inputs[0]
    for later, other in enumerate(j.program.instructions):
        if other.name != "linear_grads" or other.inputs[0] is not g or j.code[later] is not other:
            continue
        x = other.inputs[1]
        first, second = min(at, later), max(at, later)
        late = j.program.instructions[second]
        if x.dense and x.shape == ins.outputs[0].shape and j.can_move(late, first, second):
            y = ins.inputs[2] if ins.name == "mm_masked" else None
            outs = (*ins.outputs, *other.outputs)
            inputs = (g, x, ins.inputs[1], y)
            made = Instruction(LINEAR_BACKWARD, inputs, {}, outs, (), ins.line, True)
            j.join(first, second, made)
        return


def _loss_and_gradient(j: _Joiner, at: int, ins: Instruction) -> None:
    if ins.name != "cross_entropy_fused":
        return
    x, target = ins.inputs
    if len(x.shape) != 2 or x.shape[0] > _MOST_ROWS or x.shape[1] > _MOST_CLASSES:
        return
    reader = j.only_reader(ins.outputs[1]) if ins.outputs[1].storage.number in j.once else None
    if reader is None:
        return
    slope = j.program.instructions[reader]
    if slope.name != "cross_entropy_grad" or slope.attrs != ins.attrs:
        return
    if slope.inputs[1] is not ins.outputs[1] or slope.inputs[2] is not target:
        return
    if at < (j.program.hand_over or 0) < reader:
        return  # the gradient of the loss is given by a later call
    gy, outs = slope.inputs[0], (ins.outputs[0], slope.outputs[0])
    if gy.__class__ is not Slot or gy.dtype != x.dtype:
        return
    if not (x.dense and target.dense and gy.dense):
        return
    made = Instruction(CROSS_ENTROPY_STEP, (x, target, gy), ins.attrs, outs, (), ins.line, True)
    if j.written.get(gy.storage.number, [-1])[-1] < at:
        j.join(at, reader, made)
    elif j.can_move(ins, at, reader) and not j.is_read(outs[0], at, reader):
        j.join(reader, at, made)  # a scaled loss: its gradient is made in between
