"""The focal loss of RetinaNet (Lin et al. 2017)."""

from __future__ import annotations

from ...core.tensor import Tensor
from ...nn.functional import binary_cross_entropy_with_logits
from ._losses import reduced

__all__ = ["sigmoid_focal_loss"]


def sigmoid_focal_loss(
    inputs: Tensor,
    targets: Tensor,
    alpha: float = 0.25,
    gamma: float = 2,
    reduction: str = "none",
) -> Tensor:
    """Binary cross-entropy in which what is already right counts little.

    Args:
        inputs: logits of any shape.
        targets: 0 or 1 (or between) for each of them, as floats.
        alpha: the weight of the positive class between 0 and 1, or -1 for no weights.
        gamma: how much right answers are discounted.
        reduction: "none", "mean" or "sum".

    Raises:
        ValueError: for another alpha or reduction.

    Example:
        >>> from rushlight.vision import ops
        >>> ops.sigmoid_focal_loss(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 1.0]))
        tensor([0.0433, 0.0057])
    """
    if not 0 <= alpha <= 1 and alpha != -1:
        raise ValueError(
            f"Invalid alpha value: {alpha}. alpha must be in the range [0,1] or -1 for ignore."
        )
    p = inputs.sigmoid()
    loss = binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    right = p * targets + (1 - p) * (1 - targets)
    loss = loss * (1 - right) ** gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    return reduced(loss, reduction) if reduction != "mean" else loss.mean()
