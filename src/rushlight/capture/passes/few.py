"""Passes for small networks, which wait for launches: convolutions with their pools, the last layer with its loss, pools before relus."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...operators.layers.conv_kernels import conv_grad_input, conv_grad_weight, conv_op
from ...operators.layers.linear import linear_op
from ...operators.layers.pool_kernels import max_pool, max_pool_grad
from ...operators.matrix.matmul import mm_nn
from ...operators.pointwise.activation import relu_grad, relu_op
from ...operators.reduce.sums import sum_op
from ..joined.convs import CONV_POOL, CONV_POOL_GRAD_INPUT, CONV_POOL_GRADS
from ..joined.epilogues import HEAD_STEP, HEAD_WHOLE, LINEAR_GRADS
from ..program.instructions import Instruction
from ..program.match import Found, Joining, first, joined, maker, reader, rule
from .epilogues import sums_channels


@rule(
    CONV_POOL,
    conv=first(conv_op),
    pool=reader(max_pool, of="conv"),
    act=reader(relu_op, of="pool", optional=True),
    spread=reader(max_pool_grad, of="pool.1", at=1, maybe=True),
    slope=maker(relu_grad, of="spread<0", optional=True),
    to_input=reader(conv_grad_input, of="spread", at=0, maybe=True),
    to_weight=reader(conv_grad_weight, of="spread", at=0, maybe=True),
    to_bias=reader(sum_op, of=("slope", "spread"), maybe=True),
    new_sums=reader(sum_op, of="spread", maybe=True),
)
def _conv_pool(m: Found) -> Any:
    top, bias_at = (m.act or m.pool).outputs[0], "to_bias" if m.to_bias else "new_sums"
    to_bias = m.to_bias or m.new_sums
    if not _side_by_side(m.pool) or bool(m.slope) != bool(m.spread and m.act):
        return None
    if (m.slope and m.slope.inputs[1] is not top) or (to_bias and not sums_channels(to_bias)):
        return None
    places = m.new(top.shape, np.uint8, top)
    how = {**m.conv.attrs, "window": m.pool.attrs["kernel"]}
    forward = dict(how, relu=m.act is not None)
    made = {"conv": joined(CONV_POOL, m.conv.inputs, forward, (top, places))}
    if m.spread is None:
        return made
    g, y = (m.slope or m.spread).inputs[0], m.conv.outputs[0]
    if g.dtype != y.dtype or g.shape != top.shape:
        return None

    def back(kernel: Any, old: Instruction, *more: Any) -> Instruction:
        attrs = {**old.attrs, **how, "y_shape": y.shape}
        return joined(kernel, (g, places, old.inputs[1]), attrs, (*old.outputs, *more))

    if m.to_input is not None:
        made["to_input"] = back(CONV_POOL_GRAD_INPUT, m.to_input)
    if m.to_weight is None:
        return made if to_bias is None else None
    gw = m.to_weight.outputs[0]  # a bias's gradient that nobody asked for has room made for it
    sums = to_bias.outputs[0] if to_bias else m.new(gw.shape[:1], gw.dtype, gw)
    both = back(CONV_POOL_GRADS, m.to_weight, sums)
    return [{**made, at: both} for at in ("to_weight", *([bias_at] if to_bias else []))]


def _side_by_side(pool: Instruction) -> bool:
    """Whether windows neither overlap nor reach over the edge."""
    how, (x, y) = pool.attrs, (pool.inputs[0].shape, pool.outputs[0].shape)
    kernel = how["kernel"]
    return (
        len(kernel) == 2 and how["stride"] == kernel and not any(how["padding"])
        and how["dilation"] == (1, 1) and y[2:] == tuple([n // k for n, k in zip(x[2:], kernel)])
    )  # fmt: skip


join_conv_pools = Joining(_conv_pool)


@rule(
    HEAD_STEP, HEAD_WHOLE,
    loss=first("cross_entropy_step"),
    layer=maker(linear_op, of="loss<0"),
    back=reader(mm_nn, "mm_masked", "linear_backward", of="loss.1", at=0),
)  # fmt: skip
def _head(m: Found) -> Any:
    (x, w, _), (loss, g) = m.layer.inputs, m.loss.outputs
    whole = m.back.name == "linear_backward"
    if any(a is not b for a, b in zip(m.back.inputs[1:], (x, w) if whole else (w,))):
        return None
    mask = m.back.inputs[-1] if m.back.kernel is not mm_nn.kernel else None
    inputs = (*m.layer.inputs, *m.loss.inputs[1:], mask)
    gx, *grads = m.back.outputs
    made = []
    for logits in ((), m.layer.outputs):  # handed out as well where somebody else wants them
        attrs = {**m.loss.attrs, "logits": bool(logits)}
        step = {"loss": joined(HEAD_STEP, inputs, attrs, (loss, g, gx, *logits))}
        if whole:
            made.append({"loss": joined(HEAD_WHOLE, inputs, attrs, (loss, gx, *grads, *logits))})
            step["back"] = joined(LINEAR_GRADS, (g, x), {}, grads)
        made.append(step)
    return made


join_heads = Joining(_head)


@rule(
    act=first(relu_op),
    pool=reader(max_pool, of="act"),
    spread=reader(max_pool_grad, of="pool.1", at=1, optional=True),
    slope=reader(relu_grad, of="spread", at=0, optional=True),
)
def _exchanged(m: Found) -> Any:
    if (m.spread is None) != (m.slope is None):
        return None
    pooled, places = m.pool.outputs
    # The places get a new name: whoever else wants the old ones keeps all of this from happening.
    top, moved, masked = [m.new(s.shape, s.dtype, s) for s in (pooled, places, pooled)]
    made = {
        "act": m.pool.replaced(inputs=m.act.inputs, outputs=(top, moved)),
        "pool": m.act.replaced(inputs=(top,), outputs=(pooled,)),
    }
    if m.slope is None:
        return made
    made["spread"] = m.slope.replaced(inputs=(m.spread.inputs[0], pooled), outputs=(masked,))
    made["slope"] = m.spread.replaced(inputs=(masked, moved), outputs=m.slope.outputs)
    return made if m.slope.inputs[1] is m.act.outputs[0] else None


@rule(
    total=first(sum_op),
    spread=maker(max_pool_grad, of="total<0", stays=True),
    pool=maker(max_pool, of="spread<1", stays=True),  # and not max_unpool by other indices
)
def _summed_first(m: Found) -> Any:
    """A pool's gradient is summed before it is spread: every element goes to exactly one place."""
    g, dims = m.spread.inputs[0], m.total.attrs.get("dim")
    whole = dims is not None and set(range(2, len(g.shape))) <= set(dims)
    return m.total.replaced(inputs=(g,)) if whole and g.dtype == m.total.reads[0].dtype else None


pool_before_relu = Joining(_exchanged, force=True)
sum_before_spreading = Joining(_summed_first, force=True)
