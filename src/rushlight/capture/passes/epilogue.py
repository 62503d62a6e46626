"""Dense layers in fewer kernels: relu joins the product, what a layer's backward computes is joined, so is the loss."""

from __future__ import annotations

from ..joined.epilogues import (
    CROSS_ENTROPY_STEP,
    LINEAR_BACKWARD,
    LINEAR_GELU,
    LINEAR_GRADS,
    LINEAR_RELU,
    MM_MASKED,
)
from ..program.instructions import Instruction, Program
from ..program.match import first, joined, reader, rewrite, rule


def join_epilogues(program: Program, force: bool = False) -> Program:
    """Fewer, larger kernels for dense layers and the loss behind them; `force` on any device."""
    return rewrite(
        program,
        [
            _relu_forward,
            _gelu_forward,
            _relu_backward,
            _bias_sums,
            _whole_backward,
            _loss_and_gradient,
        ],
        force,
    )


@rule(LINEAR_RELU, linear=first("linear"), relu=reader("relu", of="linear"))
def _relu_forward(linear: Instruction, relu: Instruction) -> Instruction:
    return joined(LINEAR_RELU, linear.inputs, {}, relu.outputs, relu.line)


@rule(LINEAR_GELU, linear=first("linear"), gelu=reader("gelu", of="linear"))
def _gelu_forward(linear: Instruction, gelu: Instruction) -> Instruction | None:
    """Where nobody derives it: a backward needs the layer's own result."""
    if gelu.attrs != {"approximate": "tanh"}:
        return None
    return joined(LINEAR_GELU, linear.inputs, {}, gelu.outputs, gelu.line)


@rule(MM_MASKED, product=first("mm"), slope=reader("relu_grad", of="product", at=0))
def _relu_backward(product: Instruction, slope: Instruction) -> Instruction | None:
    y, out = slope.inputs[1], product.outputs[0]
    if y.shape != out.shape or y.dtype != out.dtype:
        return None
    return joined(MM_MASKED, (*product.inputs, y), {}, slope.outputs, slope.line)


@rule(LINEAR_GRADS, product=first("mm_tn"), sums=reader("sum", of="product<0"))
def _bias_sums(product: Instruction, sums: Instruction) -> Instruction | None:
    if sums.attrs != {"dim": (0,), "keepdim": False}:
        return None
    outs = (*product.outputs, *sums.outputs)
    return joined(LINEAR_GRADS, product.inputs, {}, outs, product.line)


@rule(
    LINEAR_BACKWARD,
    to_input=first("mm", "mm_masked"),
    grads=reader("linear_grads", of="to_input<0", at=0),
)
def _whole_backward(to_input: Instruction, grads: Instruction) -> Instruction | None:
    """Few rows: the gradients of input, weight and bias are one launch."""
    g, w, *mask = to_input.inputs
    x = grads.inputs[1]
    if to_input.inputs[0] is not g or x.shape != to_input.outputs[0].shape:
        return None
    inputs = (g, x, w, mask[0] if mask else None)
    outs = (*to_input.outputs, *grads.outputs)
    return joined(LINEAR_BACKWARD, inputs, {}, outs, to_input.line)


@rule(
    CROSS_ENTROPY_STEP,
    loss=first("cross_entropy_fused"),
    slope=reader("cross_entropy_grad", of="loss.1", at=2),
)
def _loss_and_gradient(loss: Instruction, slope: Instruction) -> Instruction | None:
    """Where the loss stands, or where its gradient does when that is scaled by what is made in between."""
    (x, target), gy = loss.inputs, slope.inputs[0]
    how = {name: loss.attrs[name] for name in slope.attrs}
    if slope.attrs != how or slope.inputs[1] is not x or slope.inputs[3] is not target:
        return None
    if not hasattr(gy, "shape") or gy.dtype != loss.outputs[0].dtype:
        return None
    outs = (loss.outputs[0], slope.outputs[0])
    return joined(CROSS_ENTROPY_STEP, (x, target, gy), how, outs, loss.line)
