"""Batch normalisation over the batches of all ranks: sums of all, then each rank normalises its own."""

from __future__ import annotations

from typing import Any

from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...distributed.nn.functional import all_reduce
from ...operators.shape.join import cat

__all__ = ["normalised"]


def normalised(layer: Any, x: Tensor, group: Any) -> Tensor:
    """Normalise `x` by the mean and variance of the batches of all ranks, whose sizes may differ.

    The mean is computed first, then the squared distances from it: a sum of squares alone would
    lose digits if the mean is large.
    """
    axes = [d for d in range(x.dim()) if d != 1]
    wide = x.float() if x.element_size() < 4 else x
    shape = [1, -1] + [1] * (x.dim() - 2)
    count = float(x.numel() // x.shape[1])
    sums = all_reduce(cat([wide.sum(axes), wide.new_full((1,), count)]), group=group)
    total = sums[-1]
    mean = sums[:-1] / total
    away = wide - mean.reshape(shape)
    var = all_reduce((away * away).sum(axes), group=group) / total
    out = away * (var + layer.eps).rsqrt().reshape(shape)
    if layer.weight is not None:
        out = out * layer.weight.reshape(shape)
    if layer.bias is not None:
        out = out + layer.bias.reshape(shape)
    _remember(layer, mean, var, total)
    return out.to(x.dtype)


def _remember(layer: Any, mean: Tensor, var: Tensor, total: Tensor) -> None:
    """Update the running statistics, with the unbiased variance, as BatchNorm does."""
    if not (layer.training and layer.track_running_stats):
        return
    with no_grad():
        layer.num_batches_tracked.add_(1)
        factor = layer.momentum
        if factor is None:  # the plain average of all batches
            factor = 1.0 / float(layer.num_batches_tracked)
        unbiased = var * (total / (total - 1).clamp(min=1))
        layer.running_mean.lerp_(mean.detach().to(layer.running_mean.dtype), factor)
        layer.running_var.lerp_(unbiased.detach().to(layer.running_var.dtype), factor)
