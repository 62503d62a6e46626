"""Epilogues: what follows a large product on a GPU joins it, relu forward and bias sums backward."""

from __future__ import annotations

from ..epilogues import LINEAR_GRADS, LINEAR_RELU
from ..program import Instruction, Program, Slot
from ..rewrite import once_made, uses

# Smaller products have kernels of our own, which are quicker than the library's (blas.py: _TILED).
_LIBRARY_FROM = 1 << 25
_TYPES = frozenset(("float32", "float16", "bfloat16"))


def join_epilogues(program: Program) -> Program:
    """linear + relu, and the weight's and the bias's gradient of a linear layer, as one kernel each."""
    if program.device != "cuda":
        return program
    code: list[Instruction | None] = list(program.instructions)
    once = once_made(program)
    for at, ins in enumerate(program.instructions):
        if ins.name == "linear" and _is_large(ins):
            _join_relu(program, code, at, once)
        elif ins.name == "mm_tn" and _is_large(ins):
            _join_sum(program, code, at, once)
    return program.with_instructions([ins for ins in code if ins is not None])


def _is_large(ins: Instruction) -> bool:
    """Whether the library computes it, in a dtype whose epilogues it has."""
    x, y, out = ins.inputs[0], ins.inputs[1], ins.outputs[0]
    if any(s.__class__ is Slot and s.dtype.name not in _TYPES for s in ins.inputs):
        return False
    inner = x.shape[-1] if ins.name == "linear" else x.shape[0]
    return x.dtype == y.dtype and len(x.shape) == 2 and out.size * inner > _LIBRARY_FROM


def _join_relu(program: Program, code: list, at: int, once: dict[int, int]) -> None:
    linear = program.instructions[at]
    y = linear.outputs[0]
    readers = uses(program, y)
    if linear.inputs[2] is None or readers is None or len(readers) != 1:
        return
    relu = program.instructions[readers[0]]
    if relu.name != "relu" or y.storage.number not in once:
        return
    code[at] = Instruction(LINEAR_RELU, linear.inputs, {}, relu.outputs, (), relu.line)
    code[readers[0]] = None


def _join_sum(program: Program, code: list, at: int, once: dict[int, int]) -> None:
    product = program.instructions[at]
    g, x = product.inputs
    if not (g.dense and x.dense):
        return
    for later in range(at + 1, len(program)):
        total = program.instructions[later]
        if any(s.storage.number == g.storage.number for s in total.writes):
            return
        if total.name == "sum" and total.reads[0] is g:
            plain = total.attrs == {"dim": (0,), "keepdim": False}
            if plain and total.outputs[0].storage.number in once:
                outs = (*product.outputs, *total.outputs)
                code[at] = Instruction(LINEAR_GRADS, (g, x), {}, outs, (), product.line, True)
                code[later] = None
            return
