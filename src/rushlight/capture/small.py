"""Which convolutions of a program our own kernels for few channels take."""

from __future__ import annotations

from .program import Instruction, Slot

# As in backend/cuda/conv_small.py, which cannot be imported where there is no GPU.
_MOST_INNER = 200
_MOST_OUTER = 32
_TYPES = frozenset(("float32", "float16", "bfloat16"))


def is_small(ins: Instruction) -> bool:
    """Whether a conv or a conv_grad_weight is one for them."""
    x = ins.inputs[1] if ins.name == "conv_grad_weight" else ins.inputs[0]
    w = ins.outputs[0].shape if ins.name == "conv_grad_weight" else ins.inputs[1].shape
    slots = [s for s in ins.inputs if s.__class__ is Slot]
    if len(w) != 4 or ins.attrs["groups"] != 1 or ins.attrs["dilation"] != (1, 1):
        return False
    if any(s.dtype != x.dtype for s in slots) or x.dtype.name not in _TYPES:
        return False
    o, c, r, s = w
    return 4 <= r * s <= 49 and c * r * s <= _MOST_INNER and o <= _MOST_OUTER and x.size > 0
