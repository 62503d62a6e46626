"""Group norm with SiLU behind it, as in the networks that draw: one kernel forward, one backward, nothing kept between."""

from __future__ import annotations

from ..joined.group_norm import GROUP_NORM_SILU, GROUP_NORM_SILU_GRAD
from ..program.instructions import Instruction, Program
from ..program.match import Made, first, joined, reader, rewrite, rule
from ..program.slots import Slot


def join_group_norms(program: Program, force: bool = False) -> Program:
    """group norm + SiLU and their derivatives, joined; `force` on any device."""
    return rewrite(program, [_group_norm], force)


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
def _group_norm(
    norm: Instruction, scale: Instruction, shift: Instruction, act: Instruction,
    slope: Instruction | None, to_bias: Instruction | None, to_hat: Instruction | None,
    back: Instruction | None, by_hat: Instruction | None, to_weight: Instruction | None,
) -> list[Made] | None:  # fmt: skip
    x, out = norm.inputs[0], act.outputs[0]
    weight, bias = _per_channel(scale, out), _per_channel(shift, out)
    if weight is None or bias is None or norm.inputs[1:] != (None, None) or len(x.shape) != 3:
        return None
    if not out.dense or out.size != x.size or x.shape[0] != out.shape[0]:
        return None
    attrs = {"eps": norm.attrs["eps"], "shape": out.shape}
    outs = (out, *norm.outputs[1:])
    made = joined(GROUP_NORM_SILU, (x, weight, bias), attrs, outs, act.line)
    if slope is None:
        return [{"norm": made}, {"act": made}]
    if not (to_bias and to_hat and back and by_hat and to_weight):
        return None
    factors = [s.number for s in to_hat.reads], [s.storage.number for s in by_hat.reads]
    if weight.number not in factors[0] or norm.outputs[0].storage.number not in factors[1]:
        return None
    if back.inputs[1] is not x or to_weight.outputs[0].shape != weight.shape:
        return None
    given = (slope.inputs[0], x, weight, bias, *norm.outputs[1:])
    grads = (back.outputs[0], to_weight.outputs[0], to_bias.outputs[0])
    late = joined(GROUP_NORM_SILU_GRAD, given, attrs, grads, slope.line)
    return [{"norm": made, "slope": late}, {"act": made, "slope": late}]


def _per_channel(ins: Instruction, out: Slot) -> Slot | None:
    """The operand of a product or a sum that has one number for each channel of the images."""
    wanted = (1, out.shape[1], *[1] * (len(out.shape) - 2)) if len(out.shape) > 2 else None
    found = [s for s in ins.reads if s.shape == wanted and s.dtype == out.dtype and s.dense]
    return found[0] if len(found) == 1 and not ins.attrs else None
