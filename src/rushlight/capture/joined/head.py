"""Kernels that a pass makes of a classifier's last layer and its loss: what they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...runtime.door import Kernel
from . import epilogues  # noqa: F401 - registers the parts
from .parts import Part, generic_by

if TYPE_CHECKING:
    from ...base.protocols import Array


def step_by_parts(
    part: Part, x: Array, w: Array, b: Array | None, target: Array, gy: Array, mask: Array | None, *, logits: bool, **attrs: Any
) -> tuple:  # fmt: skip
    """(loss, gradient by the logits, by x where `mask` is positive), and the logits if asked for."""
    z = part("linear", x, w, b)
    loss, g = part("cross_entropy_step", z, target, gy, **attrs)
    gx = part("mm", g, w) if mask is None else part("mm_masked", g, w, mask)
    return (loss, g, gx, z) if logits else (loss, g, gx)


def whole_by_parts(
    part: Part, x: Array, w: Array, b: Array | None, target: Array, gy: Array, mask: Array | None, *, logits: bool, **attrs: Any
) -> tuple:  # fmt: skip
    """(loss, gradient by x, by the weight, by the bias), and the logits if asked for."""
    z = part("linear", x, w, b)
    loss, g = part("cross_entropy_step", z, target, gy, **attrs)
    grads = part("linear_backward", g, x, w, mask)
    return (loss, *grads, z) if logits else (loss, *grads)


HEAD_STEP = Kernel("head_step", generic_by(step_by_parts))
HEAD_WHOLE = Kernel("head_whole", generic_by(whole_by_parts))

JOINED_HEADS = frozenset(("head_step", "head_whole"))
