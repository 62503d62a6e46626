"""Small convolutions and the max_pool behind them join: the convolution's own result is never written.

Forward, `conv + max_pool + relu` becomes one kernel that writes the maxima and, as bytes, their places.
Backward, `relu_grad + max_pool_grad` goes into the convolution's gradients, which read the pooled
gradient and the places: one element of a window holds all of it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....runtime.door import KERNELS
from ...joined.convs import CONV_POOL, CONV_POOL_GRAD_INPUT, CONV_POOL_GRADS
from ...program.instructions import Instruction, Program
from ...program.match import Made, first, joined, maker, reader, rewrite, rule
from ...program.slots import Slot

_CONV_GRADS = KERNELS["conv_grads"]


def join_conv_pools(program: Program, force: bool = False) -> Program:
    """conv, max_pool and relu as one kernel, forward and backward."""
    return rewrite(program, [_conv_pool], force)


def join_conv_grads(program: Program, force: bool = False) -> Program:
    """The gradients of a small convolution's weight and bias as one kernel."""
    return rewrite(program, [_conv_grads], force)


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
def _conv_pool(
    conv: Instruction, pool: Instruction, relu: Instruction | None, spread: Instruction | None,
    slope: Instruction | None, to_input: Instruction | None, to_weight: Instruction | None,
    to_bias: Instruction | None, new_sums: Instruction | None, new: Callable[..., Slot],
) -> list[Made] | None:  # fmt: skip
    to_bias = to_bias or new_sums
    if not _side_by_side(pool) or (slope is not None) != (spread is not None and relu is not None):
        return None
    top = (relu or pool).outputs[0]
    if slope is not None and slope.inputs[1] is not top:
        return None
    how = {**conv.attrs, "window": pool.attrs["kernel"]}
    places = new(top.shape, np.uint8, top)
    outs = (top, places)
    made = {
        "conv": joined(CONV_POOL, conv.inputs, {**how, "relu": relu is not None}, outs, pool.line)
    }
    if spread is None:
        return [made]
    g = (slope or spread).inputs[0]
    if g.dtype != conv.outputs[0].dtype or g.shape != top.shape:
        return None
    how["y_shape"] = conv.outputs[0].shape
    if to_input is not None:
        given, attrs = (g, places, to_input.inputs[1]), {**to_input.attrs, **how}
        made["to_input"] = joined(
            CONV_POOL_GRAD_INPUT, given, attrs, to_input.outputs, to_input.line
        )
    if to_weight is None:
        return [made] if to_bias is None else None
    if to_bias is not None and not _sums_channels(to_bias):
        return None
    gw = to_weight.outputs[0]  # a bias's gradient that nobody asked for has room made for it
    sums = new(gw.shape[:1], gw.dtype, gw) if to_bias is None else to_bias.outputs[0]
    given, attrs = (g, places, to_weight.inputs[1]), {**to_weight.attrs, **how}
    both = joined(CONV_POOL_GRADS, given, attrs, (gw, sums), to_weight.line)
    bias_at = "new_sums" if to_bias is new_sums else "to_bias"
    late = [] if to_bias is None else [{**made, bias_at: both}]
    return [{**made, "to_weight": both}, *late]


def _side_by_side(pool: Instruction) -> bool:
    """Whether windows neither overlap nor reach over the edge."""
    how, (x, y) = pool.attrs, (pool.inputs[0].shape, pool.outputs[0].shape)
    kernel = how["kernel"]
    return (
        len(kernel) == 2 and how["stride"] == kernel and not any(how["padding"])
        and how["dilation"] == (1, 1) and y[2:] == tuple([n // k for n, k in zip(x[2:], kernel)])
    )  # fmt: skip


def _sums_channels(ins: Instruction) -> bool:
    """Whether a sum is the bias's gradient."""
    how = ins.attrs
    dims = how.get("dim")
    return dims is not None and set(dims) == {0, 2, 3} and not how.get("keepdim") and len(how) == 2


@rule(_CONV_GRADS, grad=first("conv_grad_weight"), sums=reader("sum", of="grad<0"))
def _conv_grads(grad: Instruction, sums: Instruction) -> Instruction | None:
    if not _sums_channels(sums):
        return None
    outs = (*grad.outputs, *sums.outputs)
    return joined(_CONV_GRADS, grad.inputs, grad.attrs, outs, grad.line)
