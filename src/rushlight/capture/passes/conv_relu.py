"""Bias and relu into a convolution: cuDNN does all three while the result is in registers."""

from __future__ import annotations

from math import prod

from ..joined.conv_relu import CONV_RELU
from ..program.instructions import Instruction, Program
from ..program.rewrite import once_made, uses
from ..program.slots import Slot

_TYPES = frozenset(("float32", "float16", "bfloat16"))
# Smaller convolutions have kernels of our own, joined with other neighbours.
_LEAST_CHANNELS = 32
_LEAST_WORK = 1 << 26


def join_conv_relus(program: Program, force: bool = False) -> Program:
    """conv with a bias + relu as one kernel; `force` on any device and in any size."""
    if program.device != "cuda" and not force:
        return program
    code: list[Instruction | None] = list(program.instructions)
    once = once_made(program)
    for at, conv in enumerate(program.instructions):
        if conv.name != "conv" or not (force or _is_large(conv)) or conv.inputs[2] is None:
            continue
        y = conv.outputs[0]
        readers = uses(program, y)
        if readers is None or len(readers) != 1 or y.storage.number not in once:
            continue
        relu = program.instructions[readers[0]]
        if relu.name == "relu" and relu.outputs[0].strides == y.strides:
            code[at] = Instruction(CONV_RELU, conv.inputs, conv.attrs, relu.outputs, (), relu.line)
            code[readers[0]] = None
    return program.with_instructions([ins for ins in code if ins is not None])


def _is_large(conv: Instruction) -> bool:
    """Whether cuDNN computes it."""
    x, w, b = conv.inputs
    if any(s.__class__ is not Slot or s.dtype.name not in _TYPES for s in (x, w, b)):
        return False
    if len({s.dtype for s in (x, w, b)}) > 1:
        return False
    work = prod(conv.outputs[0].shape) * prod(w.shape[1:])
    return max(w.shape[:2]) >= _LEAST_CHANNELS and work >= _LEAST_WORK
