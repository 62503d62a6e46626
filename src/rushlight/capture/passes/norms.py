"""Norms joined with their neighbours: sums, relu, SiLU and casts, forward and backward."""

from __future__ import annotations

from typing import Any

from ...operators.layers.batch_norm import RUNNING, batch_norm_grad, batch_norm_train
from ...operators.layers.layer_norm import layer_norm_grad, layer_norm_op
from ...operators.memory.casting import cast_op
from ...operators.pointwise.activation import relu_grad, relu_op
from ...operators.pointwise.activation_smooth import silu_op
from ...operators.pointwise.arithmetic import add_op, mul_op
from ...operators.reduce.sums import sum_to_op
from ..joined import norms as batch
from ..joined.norms import ADD_NORMS, GROUP_NORM_SILU, GROUP_NORM_SILU_GRAD, MIXED_GRADS, MIXED_NORMS, NORM_GRADS_ADD
from ..program.instructions import Instruction
from ..program.match import Found, Joining, alike, first, joined, maker, other, reader, rule, same
from ..program.slots import Slot


def _are_added(add: Instruction | None) -> bool:
    """Whether an instruction, if there is one, adds two different arrays that lie in memory in the same way."""
    if add is None:
        return True
    return not add.attrs and alike(*add.inputs, *add.outputs) and not same(*add.inputs)


# -- batch norm, the sum and the relu behind it -----------------------------------------------------

# Without and with another summand.
_FORWARD = {
    "batch_norm_train": (batch.BATCH_NORM_RELU, batch.BATCH_NORM_ADD_RELU),
    "batch_norm_eval": (batch.BATCH_NORM_EVAL_RELU, batch.BATCH_NORM_EVAL_ADD_RELU),
}


@rule(
    *_FORWARD["batch_norm_train"], *_FORWARD["batch_norm_eval"],
    norm=first(*_FORWARD),
    summed=reader(add_op, of="norm", optional=True),
    act=reader(relu_op, of=("summed", "norm")),
    statistics=reader(RUNNING, of="norm.1", optional=True),
)  # fmt: skip
def _batch_norm(m: Found) -> Any:
    norm, (y, *kept), (out,) = m.norm, m.norm.outputs, m.act.outputs
    if out.strides != y.strides or not _are_added(m.summed):
        return None
    more = () if m.summed is None else (other(m.summed, y),)
    kernel, inputs = _FORWARD[norm.name][len(more)], (*norm.inputs, *more)
    made = norm.replaced(kernel=kernel, inputs=inputs, outputs=(out, *kept))
    if m.statistics is None:
        return [{"norm": made}, {"act": made}]
    # The other summand may be made behind the norm: then the statistics are updated behind them both.
    late = [{"summed": made, "act": m.statistics}] if more else []
    return [{"norm": made, "statistics": m.statistics}, *late]


@rule(
    batch.BATCH_NORM_RELU_GRAD, batch.BATCH_NORM_ADD_RELU_GRAD,
    slope=first(relu_grad),
    act=maker(relu_op, of="slope<1", stays=True),
    summed=maker(add_op, of="act<0", stays=True, optional=True),
    norm=maker(batch_norm_train, of=("summed<*", "act<0"), stays=True),
    back=reader(batch_norm_grad, of="slope", at=0),
    total=maker(add_op, of="slope<0", optional=True),
)  # fmt: skip
def _batch_norm_grad(m: Found) -> Any:
    """Gradients of both summands, from one gradient or from two that only this one wants the sum of.

    Without another summand the sign of relu's result is found again from x, weight and bias, which must be as they were.
    """
    norm, back, (g, y), outs = m.norm, m.back, m.slope.inputs, m.back.outputs
    if not _is_of(back, norm) or not _are_added(m.total):
        return None
    total = {} if m.total is None else {"total": m.total}
    given = (*(m.total.inputs if total else (g, None)), y, *back.inputs[1:])
    both = joined(batch.BATCH_NORM_ADD_RELU_GRAD, given, norm.attrs, (*m.slope.outputs, *outs))
    if m.summed is not None or y.strides != norm.outputs[0].strides:
        return {"slope": both}
    given = (g, *norm.inputs, *norm.outputs[1:])
    one = joined(batch.BATCH_NORM_RELU_GRAD, given, norm.attrs, outs)
    return [{**total, "back": one}, {"slope": both}]


def _is_of(back: Instruction, norm: Instruction) -> bool:
    """Whether a derivative is that of a batch norm."""
    return all(map(same, back.inputs[1:], (*norm.inputs[:2], *norm.outputs[1:])))


# Backward first: it looks for the instructions that forward will replace.
join_batch_norms = Joining(_batch_norm_grad, _batch_norm)

# -- layer and root-mean-square norms, and residual sums ---------------------------------------------


@rule(*ADD_NORMS.values(), summed=first(add_op), norm=reader(*ADD_NORMS, of="summed", at=0))
def _residual(m: Found) -> Any:
    total = m.summed.outputs[0]
    if not _are_added(m.summed) or not total.dense:
        return None
    inputs, outs = (*m.summed.inputs, *m.norm.inputs[1:]), (*m.norm.outputs, total)
    return joined(ADD_NORMS[m.norm.name], inputs, m.norm.attrs, outs)


@rule(*NORM_GRADS_ADD.values(), back=first(*NORM_GRADS_ADD), summed=reader(add_op, of="back"))
def _residual_grad(m: Found) -> Any:
    back, (gx, *grads) = m.back, m.back.outputs
    if not _are_added(m.summed) or not gx.dense:
        return None
    inputs, outs = (*back.inputs, other(m.summed, gx)), (*m.summed.outputs, *grads)
    return joined(NORM_GRADS_ADD[back.name], inputs, back.attrs, outs)


join_residuals = Joining(_residual, _residual_grad)

# -- the casts around them: halves in, halves out, while they compute and keep float32 ---------------

_ADDING = {f"add_{norm}": norm for norm in MIXED_NORMS}
_GRADS = {f"{norm}_grad{adds}": norm for norm in MIXED_GRADS for adds in ("", "_add")}


def _casts(before: Instruction | None, after: Instruction | None) -> bool:
    """Whether the cast in front makes float32 of halves, and the one behind halves of float32, where they are there."""
    for cast, sizes in ((before, (2, 4)), (after, (4, 2))):
        ends = [] if cast is None else [cast.inputs[0].dtype, cast.outputs[0].dtype]
        if ends and (tuple([d.itemsize for d in ends]) != sizes or any(d.kind not in "fV" for d in ends)):
            return False
    return True


@rule(
    *MIXED_NORMS.values(),
    norm=first(*MIXED_NORMS, *_ADDING),
    before=maker(cast_op, of="norm<0|norm<1", optional=True),
    after=reader(cast_op, of="norm", at=0, optional=True),
)
def _mixed(m: Found) -> Any:
    norm, before, after = m.norm, m.before, m.after
    if not _casts(before, after) or before is after:
        return None
    x, *rest = norm.inputs
    more = rest.pop(0) if norm.name in _ADDING else None
    if before is not None:
        if x is before.outputs[0]:  # a sum does not ask which comes first
            x, more = more, x
        if more is not before.outputs[0] or x is more:  # it is a view of what was cast
            return None
        more = before.inputs[0]
    if x is None or x.dtype.name != "float32" or (more is not None and not more.dense):
        return None
    y = norm.outputs[0] if after is None else after.outputs[0]
    attrs = {**norm.attrs, "to": None if after is None else after.attrs["to"]}
    kernel = MIXED_NORMS[_ADDING.get(norm.name, norm.name)]
    return joined(kernel, (x, more, *rest), attrs, (y, *norm.outputs[1:]))


@rule(
    *MIXED_GRADS.values(),
    back=first(*_GRADS),
    before=maker(cast_op, of="back<0"),
    after=reader(cast_op, of="back", at=0, optional=True),
)
def _mixed_grad(m: Found) -> Any:
    """The gradient that goes out is written twice where somebody wants it in halves, too."""
    back, g, (wide, x, *rest) = m.back, m.before.inputs[0], m.back.inputs
    also = () if m.after is None else m.after.outputs
    if not _casts(m.before, m.after) or m.before.outputs[0] is not wide or not g.dense:
        return None
    if x.dtype.name != "float32" or any(s.dtype != g.dtype for s in also):
        return None
    inputs = (g, x, *rest, *([] if back.name.endswith("_add") else [None]))
    attrs = {**back.attrs, "also": bool(also)}
    return joined(MIXED_GRADS[_GRADS[back.name]], inputs, attrs, (*back.outputs, *also))


join_mixed_norms = Joining(_mixed, _mixed_grad)

# -- group norm with SiLU behind it, as in the networks that draw ------------------------------------


@rule(
    GROUP_NORM_SILU,
    norm=first(layer_norm_op),
    scale=reader(mul_op, of="norm", whole_views=True),
    shift=reader(add_op, of="scale"),
    act=reader(silu_op, of="shift"),
    slope=reader(silu_op.slope, of="shift", at=1, maybe=True),
    to_bias=reader(sum_to_op, of="slope", maybe=True),
    to_hat=reader(mul_op, of="slope", maybe=True),
    back=reader(layer_norm_grad, of="to_hat", at=0, whole_views=True, maybe=True),
    by_hat=reader(mul_op, of="slope", maybe=True),
    to_weight=reader(sum_to_op, of="by_hat", maybe=True),
)
def _group_norm(m: Found) -> Any:
    (x, *affine), (hat, *kept), (out,) = m.norm.inputs, m.norm.outputs, m.act.outputs
    weight, bias = _per_channel(m.scale, out), _per_channel(m.shift, out)
    if weight is None or bias is None or affine != [None, None] or len(x.shape) != 3:
        return None
    if not out.dense or out.size != x.size or x.shape[0] != out.shape[0]:
        return None
    attrs = {"eps": m.norm.attrs["eps"], "shape": out.shape}
    made = joined(GROUP_NORM_SILU, (x, weight, bias), attrs, (out, *kept))
    if m.slope is None:
        return [{"norm": made}, {"act": made}]
    if not (m.to_bias and m.to_hat and m.back and m.by_hat and m.to_weight):
        return None
    if other(m.to_hat, weight) is None or m.back.inputs[1] is not x:
        return None
    gw, gb = m.to_weight.outputs[0], m.to_bias.outputs[0]
    if gw.shape != weight.shape or hat.storage not in [s.storage for s in m.by_hat.reads]:
        return None
    given, grads = (m.slope.inputs[0], x, weight, bias, *kept), (m.back.outputs[0], gw, gb)
    late = joined(GROUP_NORM_SILU_GRAD, given, attrs, grads)
    return [{"norm": made, "slope": late}, {"act": made, "slope": late}]


def _per_channel(ins: Instruction, out: Slot) -> Slot | None:
    """The operand of a product or a sum that has one number for each channel of the images."""
    wanted = (1, out.shape[1], *[1] * (len(out.shape) - 2)) if len(out.shape) > 2 else None
    found = [s for s in ins.reads if s.shape == wanted and s.dtype == out.dtype and s.dense]
    return found[0] if len(found) == 1 and not ins.attrs else None


join_group_norms = Joining(_group_norm)
