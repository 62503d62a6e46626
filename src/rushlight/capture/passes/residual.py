"""Residual sums join the norm behind them, and the norm's derivative takes the gradient that comes past it along."""

from __future__ import annotations

from ..joined.residual import ADD_NORMS, NORM_GRADS_ADD
from ..program.instructions import Instruction, Program
from ..program.match import first, joined, reader, rewrite, rule
from .norm import other_of


def join_residuals(program: Program, force: bool = False) -> Program:
    """add + layer or rms norm, and its derivative + add, as one kernel each; `force` on any device."""
    return rewrite(program, [_forward, _backward], force)


@rule(*ADD_NORMS.values(), add=first("add"), norm=reader(*ADD_NORMS, of="add", at=0))
def _forward(add: Instruction, norm: Instruction) -> Instruction | None:
    x, total = add.inputs[0], add.outputs[0]
    if other_of(add, total) is None or not total.dense:
        return None
    inputs = (x, add.inputs[1], *norm.inputs[1:])
    return joined(ADD_NORMS[norm.name], inputs, norm.attrs, (*norm.outputs, total), norm.line)


@rule(*NORM_GRADS_ADD.values(), back=first(*NORM_GRADS_ADD), add=reader("add", of="back"))
def _backward(back: Instruction, add: Instruction) -> Instruction | None:
    gx = back.outputs[0]
    more = other_of(add, gx)
    if more is None or not gx.dense:
        return None
    outs = (add.outputs[0], *back.outputs[1:])
    return joined(NORM_GRADS_ADD[back.name], (*back.inputs, more), back.attrs, outs, back.line)
