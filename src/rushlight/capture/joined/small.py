"""Which convolutions of a program our own kernels for few channels take."""

from __future__ import annotations

from ...runtime.cuda.small.conv_sizes import fits
from ..program.instructions import Instruction
from ..program.slots import Slot

_TYPES = frozenset(("float32", "float16", "bfloat16"))


def is_small(ins: Instruction) -> bool:
    """Whether a conv or a conv_grad_weight is one for them."""
    back = ins.name == "conv_grad_weight"
    x, w_shape = (
        (ins.inputs[1], ins.outputs[0].shape) if back else (ins.inputs[0], ins.inputs[1].shape)
    )
    if any(s.dtype != x.dtype for s in ins.inputs if s.__class__ is Slot):
        return False
    how = ins.attrs
    small = fits(x.dtype, x.size, w_shape, how["dilation"], how["groups"])
    return small and x.dtype.name in _TYPES
