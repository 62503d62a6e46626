"""Small convolutions and the max_pool behind them join: the convolution's own result is never written.

Forward, `conv + max_pool + relu` becomes one kernel that writes the maxima and, as bytes, their places.
Backward, `relu_grad + max_pool_grad` goes into the convolution's gradients, which read the pooled
gradient and the places: one element of a window holds all of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...joined.convs import CONV_POOL, CONV_POOL_GRAD_INPUT, CONV_POOL_GRADS
from ...program.instructions import Instruction
from ...program.match import Found, Joining, first, joined, maker, reader, rule
from ..epilogues import sums_channels


@rule(
    CONV_POOL,
    conv=first("conv"),
    pool=reader("max_pool", of="conv"),
    relu=reader("relu", of="pool", optional=True),
    spread=reader("max_pool_grad", of="pool.1", at=1, maybe=True),
    slope=maker("relu_grad", of="spread<0", optional=True),
    to_input=reader("conv_grad_input", of="spread", at=0, maybe=True),
    to_weight=reader("conv_grad_weight", of="spread", at=0, maybe=True),
    to_bias=reader("sum", of=("slope", "spread"), maybe=True),
    new_sums=reader("sum", of="spread", maybe=True),
)
def _conv_pool(m: Found) -> Any:
    top, bias_at = (m.relu or m.pool).outputs[0], "to_bias" if m.to_bias else "new_sums"
    to_bias = m.to_bias or m.new_sums
    if not _side_by_side(m.pool) or bool(m.slope) != bool(m.spread and m.relu):
        return None
    if (m.slope and m.slope.inputs[1] is not top) or (to_bias and not sums_channels(to_bias)):
        return None
    places = m.new(top.shape, np.uint8, top)
    how = {**m.conv.attrs, "window": m.pool.attrs["kernel"]}
    forward = {**how, "relu": m.relu is not None}
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
