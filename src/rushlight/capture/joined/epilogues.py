"""Joined kernels of products: what follows a product in the kernel that computes it, the last layer with its loss, casts."""

from __future__ import annotations

from typing import Any

from ...base.arrays import Array, ArrayModule
from ...operators.layers.linear import linear_grads, linear_op
from ...operators.loss.cross_entropy import cross_entropy_fused, cross_entropy_grad
from ...operators.matrix.matmul import mm_nn
from ...operators.pointwise.activation import relu_grad
from ...operators.pointwise.activation_smooth import gelu_op
from ...runtime.door import Kernel
from .proof import Part, generic_by, join


def _linear_relu(xp: ArrayModule, x: Array, w: Array, b: Array | None) -> Any:
    return xp.maximum(linear_op.kernel.generic(xp, x, w, b), 0)


def _linear_gelu(xp: ArrayModule, x: Array, w: Array, b: Array | None) -> Any:
    return gelu_op.kernel.generic(xp, linear_op.kernel.generic(xp, x, w, b), approximate="tanh")


def _mm_masked(xp: ArrayModule, g: Array, w: Array, y: Array | None) -> Any:
    gx = mm_nn.kernel.generic(xp, g, w)
    return gx if y is None else relu_grad.kernel.generic(xp, gx, y)


def _linear_backward(xp: ArrayModule, g: Array, x: Array, w: Array, y: Array | None) -> tuple:
    return (_mm_masked(xp, g, w, y), *LINEAR_GRADS.generic(xp, g, x))


def _cross_entropy_step(
    xp: ArrayModule, x: Array, target: Array, gy: Array, *, ignore_index: int, reduction: str
) -> tuple:
    attrs = {"ignore_index": ignore_index, "reduction": reduction}
    wide = gy.dtype != x.dtype  # the loss has its gradient's dtype
    loss, stats = cross_entropy_fused.kernel.generic(xp, x, target, wide=wide, **attrs)
    return loss, cross_entropy_grad.kernel.generic(xp, gy, x, stats, target, **attrs)


def _gelu_grad_sums(part: Part, gy: Array, x: Array, **how: Any) -> tuple:
    g = part("gelu_grad", gy, x, **how)
    return g, part("sum", g, dim=tuple(range(g.ndim - 1)), keepdim=False)


LINEAR_RELU = Kernel("linear_relu", _linear_relu)
LINEAR_GELU = Kernel("linear_gelu", _linear_gelu)  # by tanh, as libraries compute it
LINEAR_GRADS = linear_grads.kernel
MM_MASKED = Kernel("mm_masked", _mm_masked)  # g w where y, the relu in front of the layer, is positive
LINEAR_BACKWARD = Kernel("linear_backward", _linear_backward)  # of the input, the weight, the bias
GELU_GRAD_SUMS = join("gelu_grad_sums", _gelu_grad_sums)  # and the gradient of the bias in front
CROSS_ENTROPY_STEP = Kernel("cross_entropy_step", _cross_entropy_step)  # loss and gradient

JOINED = frozenset(
    [k.name for k in (LINEAR_RELU, LINEAR_GELU, LINEAR_GRADS, MM_MASKED, LINEAR_BACKWARD, CROSS_ENTROPY_STEP)]
)


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


def _by(part: Part, *xs: Array, **how: Any) -> tuple:
    return tuple([part("cast", x, **how) for x in xs])


CASTS = join("casts", _by)
