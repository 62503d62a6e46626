"""A classifier's last layer and its loss in one: linear_cross_entropy."""

from __future__ import annotations

from typing import Any

from ...core.public import public
from ...core.tensor import Tensor
from ..layers.linear import linear
from .cross_entropy import cross_entropy


@public("functional")
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`.

    Args:
        input: (N, in_features) or (in_features,).
        linear_weight: (C, in_features), or (C, d1, ..., dK, in_features) for K further dimensions of scores.
        target: class numbers, (N,), () or (N, d1, ..., dK); or probabilities of the scores' shape.
        linear_bias: (C,) or (C, d1, ..., dK).
        weight: (C,), a factor per class.
        reduction: "mean", "sum", or "none" for one loss per sample.
        ignore_index: a target class that does not count.
        label_smoothing: between 0 and 1: this share of the target goes to all classes alike.
        options: how PyTorch cuts the batch into pieces to save memory; the scores are computed whole here.

    Raises:
        RuntimeError: if sizes do not fit.

    Example:
        >>> x, w = torch.tensor([[2.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> F.linear_cross_entropy(x, w, torch.tensor([0]))
        tensor(0.1269)
    """
    rows, shape = tuple(input._a.shape), tuple(linear_weight._a.shape)
    if len(rows) not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {len(rows)}")
    if len(shape) < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {len(shape)}")
    if rows[-1] != shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {rows[-1]} and {shape[-1]}, respectively"
        )
    scores = shape[:-1]
    if linear_bias is not None and tuple(linear_bias._a.shape) != scores:
        raise RuntimeError(f"expected linear_bias shape {scores}, got {tuple(linear_bias._a.shape)}")
    if len(scores) > 1 and len(rows) == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {shape} requires batched input, "
            f"(N, {shape[-1]}), got unbatched input with shape {rows}"
        )
    if ignore_index is not None and tuple(target._a.shape) == (*rows[:-1], *scores):
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight.flatten(0, -2), bias).reshape((*rows[:-1], *scores))
    left_out = -100 if ignore_index is None else ignore_index
    return cross_entropy(logits, target, weight, None, left_out, None, reduction, label_smoothing)
