"""Layers in fewer kernels: an activation joins the product in front of it, gradients of a layer are joined, so is the loss."""

from __future__ import annotations

from typing import Any

from ...operators.layers.conv_kernels import conv_grads, conv_op
from ...operators.layers.linear import linear_grads, linear_op
from ...operators.loss.cross_entropy import cross_entropy_fused, cross_entropy_grad
from ...operators.matrix.matmul import mm_nn, mm_tn
from ...operators.pointwise.activation import relu_grad, relu_op
from ...operators.pointwise.activation_smooth import gelu_op
from ...operators.reduce.sums import sum_op
from ..joined import epilogues as made
from ..joined.convs import CONV_RELU
from ..joined.norms import SUMMED_GRADS
from ..program.instructions import Instruction
from ..program.match import Found, Joining, Rule, alike, chain, first, joined, reader, rule


def sums_channels(ins: Instruction) -> bool:
    """Whether a sum is the gradient of a bias: over everything but the channels."""
    how, axes = ins.attrs, set(range(len(ins.inputs[0].shape)))
    return set(how.get("dim") or ()) == axes - {1} and not how.get("keepdim") and len(how) == 2


def _with_bias(kernel: Any, name: str) -> Rule:
    """The gradients of weight and bias, which are made of the same gradient."""

    @rule(kernel, weight=first(name), bias=reader(sum_op, of="weight<0"))
    def both(m: Found) -> Any:
        outs = (*m.weight.outputs, *m.bias.outputs)
        return joined(kernel, m.weight.inputs, m.weight.attrs, outs) if sums_channels(m.bias) else None

    return both


@rule(made.MM_MASKED, product=first(mm_nn), slope=reader(relu_grad, of="product", at=0))
def _relu_grad(m: Found) -> Any:
    y = m.slope.inputs[1]
    if (y.shape, y.dtype) != (m.product.outputs[0].shape, m.product.outputs[0].dtype):
        return None
    return joined(made.MM_MASKED, (*m.product.inputs, y), {}, m.slope.outputs)


@rule(made.LINEAR_BACKWARD, to_input=first(mm_nn, "mm_masked"), grads=reader(linear_grads, of="to_input<0", at=0))
def _backward(m: Found) -> Any:
    """Few rows: the gradients of input, weight and bias are one launch."""
    (g, w, *mask), (gx,), x = m.to_input.inputs, m.to_input.outputs, m.grads.inputs[1]
    inputs, outs = (g, x, w, mask[0] if mask else None), (gx, *m.grads.outputs)
    return joined(made.LINEAR_BACKWARD, inputs, {}, outs) if x.shape == gx.shape else None


@rule(
    made.GELU_GRAD_SUMS, mm_tn.kernel,
    slope=first(gelu_op.slope),
    grads=reader(linear_grads, of="slope", at=0, whole_views=True),
)  # fmt: skip
def _gelu_sums(m: Found) -> Any:
    """The gradient of a bias in front of gelu is added up where its terms are made."""
    (gy, x), (g,), (weight, bias) = m.slope.inputs, m.slope.outputs, m.grads.outputs
    rows = m.grads.inputs[0]
    if not alike(gy, x, g) or rows.shape != (g.size // g.shape[-1], g.shape[-1]):
        return None
    slope = joined(made.GELU_GRAD_SUMS, (gy, x), m.slope.attrs, (g, bias))
    return {"slope": slope, "grads": joined(mm_tn.kernel, m.grads.inputs, {}, (weight,))}


def _norm_sums(norm: str, at: int) -> Rule:
    """The same of a layer whose result goes into a residual sum in front of a norm."""
    kernel = SUMMED_GRADS[norm]

    @rule(
        kernel, mm_tn.kernel,
        back=first(f"{norm}_grad_mixed"),
        grads=reader(linear_grads, of=f"back.{at}", at=0, whole_views=True),
    )  # fmt: skip
    def sums(m: Found) -> Any:
        *outs, g = m.back.outputs
        (weight, bias), rows = m.grads.outputs, m.grads.inputs[0]
        how = {k: v for k, v in m.back.attrs.items() if k != "also"}
        if len(outs) != at or not m.back.attrs["also"] or how["dims"] != 1:
            return None
        if not g.dense or rows.shape != (g.size // g.shape[-1], g.shape[-1]):
            return None
        back = joined(kernel, m.back.inputs, how, (*outs, g, bias))
        return {"back": back, "grads": joined(mm_tn.kernel, m.grads.inputs, {}, (weight,))}

    return sums


@rule(made.CROSS_ENTROPY_STEP, loss=first(cross_entropy_fused), slope=reader(cross_entropy_grad, of="loss.1", at=2))
def _loss(m: Found) -> Any:
    """Where the loss stands, or where its gradient does when that is scaled by what is made in between."""
    (x, target), (gy, *given) = m.loss.inputs, m.slope.inputs
    how = {name: m.loss.attrs[name] for name in m.slope.attrs}
    if m.slope.attrs != how or given[0] is not x or given[2] is not target:
        return None
    if not hasattr(gy, "shape") or gy.dtype != m.loss.outputs[0].dtype:
        return None
    outs = (m.loss.outputs[0], *m.slope.outputs)
    return joined(made.CROSS_ENTROPY_STEP, (x, target, gy), how, outs)


join_conv_relus = Joining(chain(CONV_RELU, conv_op, relu_op))
join_conv_grads = Joining(_with_bias(conv_grads.kernel, "conv_grad_weight"))
join_epilogues = Joining(
    chain(made.LINEAR_RELU, linear_op, relu_op),
    # Where nobody derives it: a backward needs the layer's own result.
    chain(made.LINEAR_GELU, linear_op, gelu_op, approximate="tanh"),
    _relu_grad,
    _with_bias(made.LINEAR_GRADS, "mm_tn"),
    _backward,
    _gelu_sums,
    _norm_sums("layer_norm", 3),
    _norm_sums("rms_norm", 2),
    _loss,
)
