"""Loss layers with a margin: hinge, ranking and triplet losses."""

from __future__ import annotations

from collections.abc import Callable

from ...core.tensor import Tensor
from .. import functional as F
from ._loss_base import _Loss, _WeightedLoss
from .distance import PairwiseDistance


class MultiMarginLoss(_WeightedLoss):
    """Hinge loss of one right class: its score should beat every other by a margin.

    Args:
        p: the power of each term, 1 or 2.
        margin: by how much.
        weight: (C,), a factor per class.
        reduction: "mean", "sum", or "none" for one loss per sample.
        size_average, reduce: the old form of `reduction`; deprecated.

    Shape:
        input (N, C) or (C,), target (N,) or () of class numbers -> one number, or (N,).

    Example:
        >>> nn.MultiMarginLoss()(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([3]))
        tensor(0.3250)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"weight must be None or a 1-D tensor, got {weight.dim()} dimensions")
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input,
            target,
            p=self.p,
            margin=self.margin,
            weight=self.weight,
            reduction=self.reduction,
        )


class HingeEmbeddingLoss(_Loss):
    """Loss of distances: the distance of similar pairs, max(0, margin - distance) of others.

    Args:
        margin: how far apart pairs that are not similar should be.
        reduction: "mean", "sum", or "none" for one loss per element.
        size_average, reduce: the old form of `reduction`; deprecated.

    Shape:
        input (*), target (*) of 1 (similar) and -1 -> one number, or (*) if not reduced.

    Example:
        >>> nn.HingeEmbeddingLoss()(torch.tensor([0.2, 0.4]), torch.tensor([1, -1]))
        tensor(0.4000)
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class _PairLoss(_Loss):
    """A loss of two inputs, with a margin."""

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class CosineEmbeddingLoss(_PairLoss):
    """Loss of angles: 1 - cos of similar pairs, max(0, cos - margin) of others.

    Args:
        margin: the cosine that pairs that are not similar may have, between -1 and 1.
        reduction: "mean", "sum", or "none" for one loss per sample.
        size_average, reduce: the old form of `reduction`; deprecated.

    Shape:
        input1 (N, D), input2 (N, D), target (N,) of 1 (similar) and -1; or without N -> one number,
        or (N,) if not reduced.

    Example:
        >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
        >>> y = torch.tensor([[1.0, 0.0], [0.6, 0.8]])
        >>> nn.CosineEmbeddingLoss(reduction="none")(x, y, torch.tensor([1, -1]))
        tensor([0.0000, 0.6000])
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class MarginRankingLoss(_PairLoss):
    """Loss of an order: max(0, -target (input1 - input2) + margin).

    Args:
        margin: by how much the larger input should be larger.
        reduction: "mean", "sum", or "none" for one loss per element.
        size_average, reduce: the old form of `reduction`; deprecated.

    Shape:
        input1 (*), input2 (*), target (*): 1 if input1 should be larger, else -1 -> one number,
        or (*) if not reduced.

    Example:
        >>> x, y = torch.tensor([3.0]), torch.tensor([2.5])
        >>> nn.MarginRankingLoss(margin=1.0)(x, y, torch.tensor([1]))
        tensor(0.5000)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class TripletMarginLoss(_Loss):
    """The anchor should be nearer to the positive than to the negative, by a margin.

    Args:
        margin: by how much.
        p: which norm the distance is.
        eps: added to differences, so that the distance can be differentiated at 0.
        swap: use the distance of positive and negative where it is smaller (Balntas, 2016).
        reduction: "mean", "sum", or "none" for one loss per sample.
        size_average, reduce: the old form of `reduction`; deprecated.

    Shape:
        anchor, positive, negative: (N, D) or (D,) -> one number, or (N,) if not reduced.

    Example:
        >>> a, p, n = torch.zeros(1, 2), torch.ones(1, 2), torch.full((1, 2), 3.0)
        >>> nn.TripletMarginLoss(margin=5.0)(a, p, n)
        tensor(2.1716)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with a distance function of your own.

    Args:
        distance_function: of two tensors; `PairwiseDistance` if None.
        margin: by how much the anchor should be nearer to the positive.
        swap: use the distance of positive and negative where it is smaller.
        reduction: "mean", "sum", or "none" for one loss per sample.

    Shape:
        anchor, positive, negative: what the function takes -> one number, or (N,) if not reduced.

    Example:
        >>> def city(x, y): return (x - y).abs().sum(-1)
        >>> a, p, n = torch.zeros(1, 2), torch.ones(1, 2), torch.full((1, 2), 3.0)
        >>> nn.TripletMarginWithDistanceLoss(distance_function=city, margin=5.0)(a, p, n)
        tensor(1.)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                "TripletMarginWithDistanceLoss: expected margin to be greater than 0, got "
                f"{margin} instead"
            )
        self.distance_function = (
            distance_function if distance_function is not None else PairwiseDistance()
        )
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
