"""Cross entropy of half precision logits that were cast to float32: it reads them itself, and rounds its gradient."""

from __future__ import annotations

from ...runtime.door import KERNELS
from ..program.instructions import Instruction, Program
from ..program.match import Made, first, joined, reader, rewrite, rule

_LOSS, _SLOPE = KERNELS["cross_entropy_fused"], KERNELS["cross_entropy_grad"]
_HALVES = frozenset(("float16", "bfloat16"))


def drop_entropy_casts(program: Program, force: bool = False) -> Program:
    """cast + cross entropy, and its derivative + cast, without the float32 arrays; `force` on any device."""
    return rewrite(program, [_entropy], force)


@rule(
    _LOSS,
    _SLOPE,
    cast=first("cast"),
    loss=reader("cross_entropy_fused", of="cast", at=0),
    slope=reader("cross_entropy_grad", of="loss.1", at=2, maybe=True),
    back=reader("cast", of="slope", at=0, maybe=True),
)
def _entropy(
    cast: Instruction, loss: Instruction, slope: Instruction | None, back: Instruction | None
) -> Made | list[Made] | None:
    """The kernels compute in float32 whatever they read, so every bit stays."""
    x, wide = cast.inputs[0], cast.outputs[0]
    if x.dtype.name not in _HALVES or wide.dtype.name != "float32" or x.shape != wide.shape:
        return None
    inputs = (x, *loss.inputs[1:])
    forward = joined(_LOSS, inputs, {**loss.attrs, "wide": True}, loss.outputs, loss.line)
    if slope is None:
        return {"loss": forward}
    if back is None or back.outputs[0].dtype != x.dtype or slope.inputs[1] is not wide:
        return None
    gy, _, *kept = slope.inputs
    gradient = joined(_SLOPE, (gy, x, *kept), slope.attrs, back.outputs, slope.line)
    return [{"loss": forward, "slope": gradient}, {"loss": forward, "back": gradient}]
