"""Norms joined with their neighbours: sums, relu, SiLU and casts, forward and backward."""

from __future__ import annotations

from typing import Any

from ..joined import norms as batch
from ..joined.group_norm import GROUP_NORM_SILU, GROUP_NORM_SILU_GRAD
from ..joined.residual import ADD_NORMS, MIXED_GRADS, MIXED_NORMS, NORM_GRADS_ADD
from ..program.instructions import Instruction
from ..program.match import Found, Joining, alike, first, joined, maker, reader, rule
from ..program.slots import Slot


def _other_of(add: Instruction | None, y: Slot) -> Slot | None:
    """The other of two different arrays, laid out as `y` is, that are added; None for anything else."""
    if add is None or add.attrs or not alike(*add.inputs, *add.outputs, y):
        return None
    a, b = add.inputs
    return None if a.number == b.number else b if a.number == y.number else a


# -- batch norm, the sum and the relu behind it -----------------------------------------------------

# Without and with another summand.
_FORWARD = {
    "batch_norm_train": (batch.BATCH_NORM_RELU, batch.BATCH_NORM_ADD_RELU),
    "batch_norm_eval": (batch.BATCH_NORM_EVAL_RELU, batch.BATCH_NORM_EVAL_ADD_RELU),
}


@rule(
    *_FORWARD["batch_norm_train"], *_FORWARD["batch_norm_eval"],
    norm=first(*_FORWARD),
    add=reader("add", of="norm", optional=True),
    relu=reader("relu", of=("add", "norm")),
    statistics=reader("running_statistics", of="norm.1", optional=True),
)  # fmt: skip
def _batch_norm(m: Found) -> Any:
    norm, (y, *kept), (out,) = m.norm, m.norm.outputs, m.relu.outputs
    other = _other_of(m.add, y)
    if out.strides != y.strides or (m.add is not None and other is None):
        return None
    inputs = norm.inputs if other is None else (*norm.inputs, other)
    kernel = _FORWARD[norm.name][other is not None]
    made = norm.replaced(kernel=kernel, inputs=inputs, outputs=(out, *kept))
    if m.statistics is None:
        return [{"norm": made}, {"relu": made}]
    # The other summand may be made behind the norm: then the statistics are updated behind them both.
    late = [] if m.add is None else [{"add": made, "relu": m.statistics}]
    return [{"norm": made, "statistics": m.statistics}, *late]


@rule(
    batch.BATCH_NORM_RELU_GRAD,
    slope=first("relu_grad"),
    relu=maker("relu", of="slope<1", stays=True),
    norm=maker("batch_norm_train", of="relu<0", stays=True),
    back=reader("batch_norm_grad", of="slope", at=0),
)
def _batch_norm_grad(m: Found) -> Any:
    """The sign of relu's result is found again from x, weight and bias, which must be as they were."""
    norm = m.norm
    if not _is_of(m.back, norm) or m.relu.outputs[0].strides != norm.outputs[0].strides:
        return None
    inputs = (m.slope.inputs[0], *norm.inputs, *norm.outputs[1:])
    made = (batch.BATCH_NORM_RELU_GRAD, inputs, norm.attrs, m.back.outputs, m.slope.line)
    return {"back": joined(*made)}


@rule(
    batch.BATCH_NORM_ADD_RELU_GRAD,
    slope=first("relu_grad"),
    relu=maker("relu", of="slope<1", stays=True),
    add=maker("add", of="relu<0", stays=True, optional=True),
    norm=maker("batch_norm_train", of=("add<*", "relu<0"), stays=True),
    back=reader("batch_norm_grad", of="slope", at=0),
    total=maker("add", of="slope<0", optional=True),
)
def _batch_norm_add_grad(m: Found) -> Any:
    """Gradients of both summands, from one gradient or from two that only this one wants the sum of."""
    g, y = m.slope.inputs
    if not _is_of(m.back, m.norm) or (m.total is not None and _other_of(m.total, g) is None):
        return None
    inputs = (*((g, None) if m.total is None else m.total.inputs), y, *m.back.inputs[1:])
    outs = (m.slope.outputs[0], *m.back.outputs)
    made = (batch.BATCH_NORM_ADD_RELU_GRAD, inputs, m.norm.attrs, outs, m.slope.line)
    return {"slope": joined(*made)}


def _is_of(back: Instruction, norm: Instruction) -> bool:
    """Whether a derivative is that of a batch norm."""
    wanted = (*norm.inputs[:2], *norm.outputs[1:])
    return [getattr(a, "number", a) for a in back.inputs[1:]] == [
        getattr(b, "number", b) for b in wanted
    ]


# Backward first: it looks for the instructions that forward will replace.
join_batch_norms = Joining(_batch_norm_grad, _batch_norm_add_grad, _batch_norm)

# -- layer and root-mean-square norms, and residual sums ---------------------------------------------


@rule(*ADD_NORMS.values(), add=first("add"), norm=reader(*ADD_NORMS, of="add", at=0))
def _residual(m: Found) -> Any:
    total = m.add.outputs[0]
    if _other_of(m.add, total) is None or not total.dense:
        return None
    inputs, outs = (*m.add.inputs, *m.norm.inputs[1:]), (*m.norm.outputs, total)
    return joined(ADD_NORMS[m.norm.name], inputs, m.norm.attrs, outs, m.norm.line)


@rule(*NORM_GRADS_ADD.values(), back=first(*NORM_GRADS_ADD), add=reader("add", of="back"))
def _residual_grad(m: Found) -> Any:
    back, gx = m.back, m.back.outputs[0]
    more = _other_of(m.add, gx)
    if more is None or not gx.dense:
        return None
    outs = (m.add.outputs[0], *back.outputs[1:])
    return joined(NORM_GRADS_ADD[back.name], (*back.inputs, more), back.attrs, outs, back.line)


join_residuals = Joining(_residual, _residual_grad)

# -- the casts around them: halves in, halves out, while they compute and keep float32 ---------------

_ADDING = {f"add_{norm}": norm for norm in MIXED_NORMS}
_GRADS = {f"{norm}_grad{adds}": norm for norm in MIXED_GRADS for adds in ("", "_add")}


def _casts(cast: Instruction | None, widens: bool) -> bool:
    """Whether a cast makes float32 of halves, or halves of float32; also where there is none."""
    if cast is None:
        return True
    sizes = cast.inputs[0].dtype.itemsize, cast.outputs[0].dtype.itemsize
    floats = all(s.dtype.kind in "fV" for s in (cast.inputs[0], cast.outputs[0]))
    return floats and sizes == ((2, 4) if widens else (4, 2))


@rule(
    *MIXED_NORMS.values(),
    norm=first(*MIXED_NORMS, *_ADDING),
    before=maker("cast", of="norm<0|norm<1", optional=True),
    after=reader("cast", of="norm", at=0, optional=True),
)
def _mixed(m: Found) -> Any:
    norm, before, after = m.norm, m.before, m.after
    if not (_casts(before, True) and _casts(after, False)) or before is after:
        return None
    x, *rest = norm.inputs
    other = rest.pop(0) if norm.name in _ADDING else None
    if before is not None:
        if x is before.outputs[0]:  # a sum does not ask which comes first
            x, other = other, x
        if other is not before.outputs[0] or x is other:  # it is a view of what was cast
            return None
        other = before.inputs[0]
    if x is None or x.dtype.name != "float32" or (other is not None and not other.dense):
        return None
    y = norm.outputs[0] if after is None else after.outputs[0]
    attrs = {**norm.attrs, "to": None if after is None else after.attrs["to"]}
    kernel = MIXED_NORMS[_ADDING.get(norm.name, norm.name)]
    return joined(kernel, (x, other, *rest), attrs, (y, *norm.outputs[1:]), norm.line)


@rule(
    *MIXED_GRADS.values(),
    back=first(*_GRADS),
    before=maker("cast", of="back<0"),
    after=reader("cast", of="back", at=0, optional=True),
)
def _mixed_grad(m: Found) -> Any:
    """The gradient that goes out is written twice where somebody wants it in halves, too."""
    back, g, x = m.back, m.before.inputs[0], m.back.inputs[1]
    if not (_casts(m.before, True) and _casts(m.after, False)) or x.dtype.name != "float32":
        return None
    if m.before.outputs[0] is not back.inputs[0] or not g.dense:
        return None
    also = () if m.after is None else m.after.outputs
    if also and also[0].dtype != g.dtype:
        return None
    inputs = (g, *back.inputs[1:], *([] if back.name.endswith("_add") else [None]))
    attrs, outs = {**back.attrs, "also": bool(also)}, (*back.outputs, *also)
    return joined(MIXED_GRADS[_GRADS[back.name]], inputs, attrs, outs, back.line)


join_mixed_norms = Joining(_mixed, _mixed_grad)

# -- group norm with SiLU behind it, as in the networks that draw ------------------------------------


@rule(
    GROUP_NORM_SILU,
    norm=first("layer_norm"),
    scale=reader("mul", of="norm", whole_views=True),
    shift=reader("add", of="scale"),
    act=reader("silu", of="shift"),
    slope=reader("silu_grad", of="shift", at=1, maybe=True),
    to_bias=reader("sum_to_size", of="slope", maybe=True),
    to_hat=reader("mul", of="slope", maybe=True),
    back=reader("layer_norm_grad", of="to_hat", at=0, whole_views=True, maybe=True),
    by_hat=reader("mul", of="slope", maybe=True),
    to_weight=reader("sum_to_size", of="by_hat", maybe=True),
)
def _group_norm(m: Found) -> Any:
    (x, *affine), (hat, *kept), (out,) = m.norm.inputs, m.norm.outputs, m.act.outputs
    weight, bias = _per_channel(m.scale, out), _per_channel(m.shift, out)
    if weight is None or bias is None or affine != [None, None] or len(x.shape) != 3:
        return None
    if not out.dense or out.size != x.size or x.shape[0] != out.shape[0]:
        return None
    attrs = {"eps": m.norm.attrs["eps"], "shape": out.shape}
    made = joined(GROUP_NORM_SILU, (x, weight, bias), attrs, (out, *kept), m.act.line)
    if m.slope is None:
        return [{"norm": made}, {"act": made}]
    if not (m.to_bias and m.to_hat and m.back and m.by_hat and m.to_weight):
        return None
    if weight.number not in [s.number for s in m.to_hat.reads] or m.back.inputs[1] is not x:
        return None
    gw, gb = m.to_weight.outputs[0], m.to_bias.outputs[0]
    if gw.shape != weight.shape or hat.storage not in [s.storage for s in m.by_hat.reads]:
        return None
    given = (m.slope.inputs[0], x, weight, bias, *kept)
    grads = (m.back.outputs[0], gw, gb)
    late = joined(GROUP_NORM_SILU_GRAD, given, attrs, grads, m.slope.line)
    return [{"norm": made, "slope": late}, {"act": made, "slope": late}]


def _per_channel(ins: Instruction, out: Slot) -> Slot | None:
    """The operand of a product or a sum that has one number for each channel of the images."""
    wanted = (1, out.shape[1], *[1] * (len(out.shape) - 2)) if len(out.shape) > 2 else None
    found = [s for s in ins.reads if s.shape == wanted and s.dtype == out.dtype and s.dense]
    return found[0] if len(found) == 1 and not ins.attrs else None


join_group_norms = Joining(_group_norm)
