"""Batch norm joined with its neighbours: the add and the relu behind it, forward and backward."""

from __future__ import annotations

from ..joined.norms import (
    BATCH_NORM_ADD_RELU,
    BATCH_NORM_ADD_RELU_GRAD,
    BATCH_NORM_EVAL_ADD_RELU,
    BATCH_NORM_EVAL_RELU,
    BATCH_NORM_RELU,
    BATCH_NORM_RELU_GRAD,
)
from ..program.instructions import Instruction, Program
from ..program.match import Made, first, joined, maker, reader, rewrite, rule
from ..program.slots import Slot

# Without and with another summand.
_FORWARD = {
    "batch_norm_train": (BATCH_NORM_RELU, BATCH_NORM_ADD_RELU),
    "batch_norm_eval": (BATCH_NORM_EVAL_RELU, BATCH_NORM_EVAL_ADD_RELU),
}
_TYPES = frozenset(("float64", "float32", "float16", "bfloat16"))


def join_norms(program: Program, force: bool = False) -> Program:
    """batch norm (+ add) + relu, and their gradients, as one kernel each; `force` on any device."""
    # Backward first: it looks for the instructions that forward will replace.
    return rewrite(program, [_relu_grad, _add_relu_grad, _forward], force)


def other_of(add: Instruction | None, y: Slot) -> Slot | None:
    """The other of two different arrays, laid out as `y` is, that are added; None for anything else."""
    if (
        add is None
        or len(add.reads) != 2
        or add.reads[0].number == add.reads[1].number
        or add.attrs
    ):
        return None
    slots = (*add.reads, *add.outputs)
    if any((s.shape, s.dtype, s.strides) != (y.shape, y.dtype, y.strides) for s in slots):
        return None
    return add.reads[add.reads[0].number == y.number]


@rule(
    BATCH_NORM_RELU, BATCH_NORM_ADD_RELU, BATCH_NORM_EVAL_RELU, BATCH_NORM_EVAL_ADD_RELU,
    norm=first(*_FORWARD),
    add=reader("add", of="norm", optional=True),
    relu=reader("relu", of=("add", "norm")),
    statistics=reader("running_statistics", of="norm.1", optional=True),
)  # fmt: skip
def _forward(
    norm: Instruction, add: Instruction | None, relu: Instruction, statistics: Instruction | None
) -> list[Made] | None:
    y, other = norm.outputs[0], other_of(add, norm.outputs[0])
    if y.dtype.name not in _TYPES or relu.outputs[0].strides != y.strides:
        return None
    if add is not None and other is None:
        return None
    inputs = norm.inputs if other is None else (*norm.inputs, other)
    outs = (relu.outputs[0], *norm.outputs[1:])
    kernel = _FORWARD[norm.name][other is not None]
    made = Instruction(kernel, inputs, norm.attrs, outs, (), norm.line, norm.several)
    if statistics is None:
        return [{"norm": made}, {"relu": made}]
    # The other summand may be made behind the norm: then the statistics are updated behind them both.
    late: list[Made] = [] if add is None else [{"add": made, "relu": statistics}]
    return [{"norm": made, "statistics": statistics}, *late]


@rule(
    BATCH_NORM_RELU_GRAD,
    slope=first("relu_grad"),
    relu=maker("relu", of="slope<1", stays=True),
    norm=maker("batch_norm_train", of="relu<0", stays=True),
    back=reader("batch_norm_grad", of="slope", at=0),
)
def _relu_grad(
    slope: Instruction, relu: Instruction, norm: Instruction, back: Instruction
) -> Made | None:
    """The sign of relu's result is found again from x, weight and bias, which must be as they were."""
    if not _is_of(back, norm) or relu.outputs[0].strides != norm.outputs[0].strides:
        return None
    inputs = (slope.inputs[0], *norm.inputs, *norm.outputs[1:])
    return {"back": joined(BATCH_NORM_RELU_GRAD, inputs, norm.attrs, back.outputs, slope.line)}


@rule(
    BATCH_NORM_ADD_RELU_GRAD,
    slope=first("relu_grad"),
    relu=maker("relu", of="slope<1", stays=True),
    add=maker("add", of="relu<0", stays=True, optional=True),
    norm=maker("batch_norm_train", of=("add<*", "relu<0"), stays=True),
    back=reader("batch_norm_grad", of="slope", at=0),
    total=maker("add", of="slope<0", optional=True),
)
def _add_relu_grad(
    slope: Instruction, relu: Instruction, add: Instruction | None, norm: Instruction,
    back: Instruction, total: Instruction | None,
) -> Made | None:  # fmt: skip
    """Gradients of both summands, from one gradient or from two that only this one wants the sum of."""
    g, y = slope.inputs
    if not _is_of(back, norm) or (total is not None and other_of(total, g) is None):
        return None
    g, more = (g, None) if total is None else total.reads
    outs = (slope.outputs[0], *back.outputs)
    inputs = (g, more, y, *back.inputs[1:])
    return {"slope": joined(BATCH_NORM_ADD_RELU_GRAD, inputs, norm.attrs, outs, slope.line)}


def _is_of(back: Instruction, norm: Instruction) -> bool:
    """Whether a derivative is that of a batch norm."""
    wanted = (norm.inputs[0], norm.inputs[1], *norm.outputs[1:])
    return norm.outputs[0].dtype.name in _TYPES and all(
        a is b or (a.__class__ is Slot and b.__class__ is Slot and a.number == b.number)
        for a, b in zip(back.inputs[1:], wanted)
    )
