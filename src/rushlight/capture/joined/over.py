"""Kernels that write their result over one of their inputs."""

from __future__ import annotations

from ...base.arrays import Array, ArrayModule
from ...operators.loss.cross_entropy import cross_entropy_grad
from ...runtime.door import Kernel


def _cross_entropy_grad_over(
    xp: ArrayModule, gy: Array, x: Array, stats: Array, target: Array, *, ignore_index: int, reduction: str
) -> None:
    how = {"ignore_index": ignore_index, "reduction": reduction}
    x[...] = cross_entropy_grad.kernel.generic(xp, gy, x, stats, target, **how)


CROSS_ENTROPY_GRAD_OVER = Kernel("cross_entropy_grad_over", _cross_entropy_grad_over, mutates=(1,))

OVER = {"cross_entropy_grad": (CROSS_ENTROPY_GRAD_OVER, 1)}  # and which input goes
