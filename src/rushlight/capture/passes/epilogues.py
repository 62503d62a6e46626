"""Layers in fewer kernels: activations join the product, what a dense layer's backward computes is joined, so is the loss."""

from __future__ import annotations

from typing import Any

from ..joined import epilogues as made
from ..joined.conv_relu import CONV_RELU
from ..program.match import Found, Joining, first, joined, reader, rule


@rule(CONV_RELU, conv=first("conv"), relu=reader("relu", of="conv"))
def _conv_relu(m: Found) -> Any:
    """Bias and relu while the result is in registers."""
    if m.conv.inputs[2] is None or m.relu.outputs[0].strides != m.conv.outputs[0].strides:
        return None
    return joined(CONV_RELU, m.conv.inputs, m.conv.attrs, m.relu.outputs, m.relu.line)


@rule(made.LINEAR_RELU, linear=first("linear"), relu=reader("relu", of="linear"))
def _relu(m: Found) -> Any:
    return joined(made.LINEAR_RELU, m.linear.inputs, {}, m.relu.outputs, m.relu.line)


@rule(made.LINEAR_GELU, linear=first("linear"), gelu=reader("gelu", of="linear"))
def _gelu(m: Found) -> Any:
    """Where nobody derives it: a backward needs the layer's own result."""
    if m.gelu.attrs != {"approximate": "tanh"}:
        return None
    return joined(made.LINEAR_GELU, m.linear.inputs, {}, m.gelu.outputs, m.gelu.line)


@rule(made.MM_MASKED, product=first("mm"), slope=reader("relu_grad", of="product", at=0))
def _relu_grad(m: Found) -> Any:
    y, out = m.slope.inputs[1], m.product.outputs[0]
    if y.shape != out.shape or y.dtype != out.dtype:
        return None
    return joined(made.MM_MASKED, (*m.product.inputs, y), {}, m.slope.outputs, m.slope.line)


@rule(made.LINEAR_GRADS, product=first("mm_tn"), sums=reader("sum", of="product<0"))
def _bias_sums(m: Found) -> Any:
    if m.sums.attrs != {"dim": (0,), "keepdim": False}:
        return None
    outs = (*m.product.outputs, *m.sums.outputs)
    return joined(made.LINEAR_GRADS, m.product.inputs, {}, outs, m.product.line)


@rule(
    made.LINEAR_BACKWARD,
    to_input=first("mm", "mm_masked"),
    grads=reader("linear_grads", of="to_input<0", at=0),
)
def _backward(m: Found) -> Any:
    """Few rows: the gradients of input, weight and bias are one launch."""
    (g, w, *mask), (gx,), x = m.to_input.inputs, m.to_input.outputs, m.grads.inputs[1]
    if x.shape != gx.shape:
        return None
    inputs, outs = (g, x, w, mask[0] if mask else None), (gx, *m.grads.outputs)
    return joined(made.LINEAR_BACKWARD, inputs, {}, outs, m.to_input.line)


@rule(
    made.CROSS_ENTROPY_STEP,
    loss=first("cross_entropy_fused"),
    slope=reader("cross_entropy_grad", of="loss.1", at=2),
)
def _loss(m: Found) -> Any:
    """Where the loss stands, or where its gradient does when that is scaled by what is made in between."""
    (x, target), (gy, *given) = m.loss.inputs, m.slope.inputs
    how = {name: m.loss.attrs[name] for name in m.slope.attrs}
    if m.slope.attrs != how or given[0] is not x or given[2] is not target:
        return None
    if not hasattr(gy, "shape") or gy.dtype != m.loss.outputs[0].dtype:
        return None
    outs = (m.loss.outputs[0], *m.slope.outputs)
    return joined(made.CROSS_ENTROPY_STEP, (x, target, gy), how, outs, m.loss.line)


join_conv_relus = Joining(_conv_relu)
join_epilogues = Joining(_relu, _gelu, _relu_grad, _bias_sums, _backward, _loss)
