"""Bias and relu into a convolution: the library does all three while the result is in registers."""

from __future__ import annotations

from ..joined.conv_relu import CONV_RELU
from ..program.instructions import Instruction, Program
from ..program.match import first, joined, reader, rewrite, rule


@rule(CONV_RELU, conv=first("conv"), relu=reader("relu", of="conv"))
def _conv_relu(conv: Instruction, relu: Instruction) -> Instruction | None:
    if conv.inputs[2] is None or relu.outputs[0].strides != conv.outputs[0].strides:
        return None
    return joined(CONV_RELU, conv.inputs, conv.attrs, relu.outputs, relu.line)


def join_conv_relus(program: Program, force: bool = False) -> Program:
    """conv with a bias + relu as one kernel; `force` on any device and in any size."""
    return rewrite(program, [_conv_relu], force)
