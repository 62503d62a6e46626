"""Loss layers: each holds its settings and calls the function of the same name."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ...core.tensor import Tensor
from .. import functional as F
from ._linear_cross_entropy import LinearCrossEntropyLoss
from ._loss_base import _Loss, _WeightedLoss
from ._margin_loss import (
    CosineEmbeddingLoss,
    HingeEmbeddingLoss,
    MarginRankingLoss,
    MultiMarginLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss",
    "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss",
    "LinearCrossEntropyLoss", "MSELoss",
    "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss",
    "NLLLoss", "NLLLoss2d", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss",
    "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]  # fmt: skip


class L1Loss(_Loss):
    """Mean absolute difference of input and target.

    Args:
        reduction: "mean", "sum", or "none" for one loss per element.
        size_average, reduce: the old form of `reduction`; deprecated.

    Shape:
        input (*), target (*) -> one number, or (*) if not reduced.

    Example:
        >>> x, y = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0])
        >>> nn.L1Loss()(x, y)
        tensor(1.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """Mean squared difference of input and target.

    Args:
        reduction: "mean", "sum", or "none" for one loss per element.
        size_average, reduce: the old form of `reduction`; deprecated.

    Shape:
        input (*), target (*) -> one number, or (*) if not reduced.

    Example:
        >>> x, y = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0])
        >>> nn.MSELoss()(x, y)
        tensor(4.5000)
        >>> nn.MSELoss(reduction="none")(x, y)
        tensor([0., 9.])
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Squared difference where it is small, absolute difference where it is large.

    Args:
        beta: where the square, 0.5 d^2 / beta, becomes the line d - 0.5 beta; not negative.
        reduction: "mean", "sum", or "none" for one loss per element.
        size_average, reduce: the old form of `reduction`; deprecated.

    Shape:
        input (*), target (*) -> one number, or (*) if not reduced.

    Example:
        >>> x, y = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0])
        >>> nn.SmoothL1Loss(reduction="none")(x, y)
        tensor([0.0000, 2.5000])
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Squared difference where it is small, a line where it is large; outliers weigh less.

    Args:
        delta: where the square, 0.5 d^2, becomes the line delta (d - 0.5 delta).
        reduction: "mean", "sum", or "none" for one loss per element.

    Shape:
        input (*), target (*) -> one number, or (*) if not reduced.

    Example:
        >>> x, y = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0])
        >>> nn.HuberLoss(reduction="none")(x, y)
        tensor([0.0000, 2.5000])
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class NLLLoss(_WeightedLoss):
    """Minus the log probability of the target class; the input comes from `LogSoftmax`.

    With weights, the mean is the sum of weighted losses divided by the sum of weights.

    Args:
        weight: (C,), a factor per class.
        ignore_index: a target that does not count.
        reduction: "mean", "sum", or "none" for one loss per sample.
        size_average, reduce: the old form of `reduction`; deprecated.

    Shape:
        input (N, C) or (C,) or (N, C, *), target (N) or () or (N, *) of class
        numbers -> one number, or the target's shape if not reduced.

    Example:
        >>> log_p = torch.tensor([[0.7, 0.3], [0.1, 0.9]]).log()
        >>> nn.NLLLoss()(log_p, torch.tensor([0, 1]))
        tensor(0.2310)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class NLLLoss2d(NLLLoss):
    """As `NLLLoss`, with the old name for images (N, C, H, W); deprecated."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement "
            "and see https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)


class CrossEntropyLoss(_WeightedLoss):
    """Cross entropy of scores (logits) with the right classes: softmax and `NLLLoss` in one.

    Args:
        weight: (C,), a factor per class.
        ignore_index: a target class that does not count.
        label_smoothing: between 0 and 1: this share of the target goes to all classes alike.
        reduction: "mean", "sum", or "none" for one loss per sample.
        size_average, reduce: the old form of `reduction`; deprecated.

    Shape:
        input (N, C), (C,) or (N, C, *); target (N), () or (N, *) of class numbers, or
        probabilities of the input's shape -> one number, or (N, *) if not reduced.

    Raises:
        IndexError: if a class number is out of range.
        ValueError: if the batch sizes of input and target differ.
        RuntimeError: if dtypes or other sizes do not fit.

    Example:
        >>> scores = torch.tensor([[2.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
        >>> nn.CrossEntropyLoss()(scores, torch.tensor([0, 1]))
        tensor(0.1672)
        >>> nn.CrossEntropyLoss(label_smoothing=0.1)(scores, torch.tensor([0, 1]))
        tensor(0.3339)
        >>> nn.CrossEntropyLoss()(scores, torch.tensor([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]))
        tensor(0.6672)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class PoissonNLLLoss(_Loss):
    """Minus the log likelihood of counts under Poisson distributions.

    Args:
        log_input: the input is the logarithm of the rate.
        full: add an approximation (Stirling's) of the term log(target!).
        eps: added to the rate before its logarithm is taken, if `log_input` is False.
        reduction: "mean", "sum", or "none" for one loss per element.
        size_average, reduce: the old form of `reduction`; deprecated.

    Shape:
        input (*), target (*) -> one number, or (*) if not reduced.

    Example:
        >>> nn.PoissonNLLLoss()(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 3.0]))
        tensor(0.3591)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(_Loss):
    """Minus the log likelihood of targets under normal distributions of given mean and variance.

    Args:
        full: add the constant 0.5 log(2 pi).
        eps: the smallest variance.
        reduction: "mean", "sum", or "none" for one loss per element.

    Shape:
        input (N, *), target (N, *), var (N, *) or without the last dimension, or with size 1
        there -> one number, or (N, *) if not reduced.

    Raises:
        ValueError: if a variance is negative.

    Example:
        >>> mean, target, var = torch.zeros(2), torch.tensor([0.0, 2.0]), torch.ones(2)
        >>> nn.GaussianNLLLoss()(mean, target, var)
        tensor(1.)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class KLDivLoss(_Loss):
    """Kullback-Leibler divergence of a target distribution from log probabilities.

    Args:
        reduction: "batchmean" (the divergence: the sum divided by N), "mean" (over elements),
            "sum" or "none".
        log_target: the target holds log probabilities, too.
        size_average, reduce: the old form of `reduction`; deprecated.

    Shape:
        input (*), target (*) -> one number, or (*) if not reduced.

    Example:
        >>> p, q = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.9, 0.1]])
        >>> nn.KLDivLoss(reduction="batchmean")(q.log(), p)
        tensor(0.5108)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(_WeightedLoss):
    """Binary cross entropy of probabilities; `BCEWithLogitsLoss` takes scores instead.

    Args:
        weight: a factor per element.
        reduction: "mean", "sum", or "none" for one loss per element.
        size_average, reduce: the old form of `reduction`; deprecated.

    Shape:
        input (*), target (*) -> one number, or (*) if not reduced.

    Raises:
        RuntimeError: if an input is not between 0 and 1.

    Example:
        >>> nn.BCELoss()(torch.tensor([0.9, 0.2]), torch.tensor([1.0, 0.0]))
        tensor(0.1643)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Binary cross entropy of scores (logits): sigmoid and `BCELoss` in one, without overflow.

    Args:
        weight: a factor per element.
        pos_weight: a factor of the positive part, for instance one per class.
        reduction: "mean", "sum", or "none" for one loss per element.
        size_average, reduce: the old form of `reduction`; deprecated.

    Shape:
        input (*), target (*) -> one number, or (*) if not reduced.

    Example:
        >>> nn.BCEWithLogitsLoss()(torch.tensor([3.0, -2.0]), torch.tensor([1.0, 0.0]))
        tensor(0.0878)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class SoftMarginLoss(_Loss):
    """Logistic loss of targets 1 and -1: log(1 + exp(-target input)).

    Args:
        reduction: "mean", "sum", or "none" for one loss per element.
        size_average, reduce: the old form of `reduction`; deprecated.

    Shape:
        input (*), target (*) -> one number, or (*) if not reduced.

    Example:
        >>> nn.SoftMarginLoss()(torch.tensor([3.0, -2.0]), torch.tensor([1.0, -1.0]))
        tensor(0.0878)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """Hinge loss of several right classes per sample: each should beat every wrong one by 1.

    Args:
        reduction: "mean", "sum", or "none" for one loss per sample.
        size_average, reduce: the old form of `reduction`; deprecated.

    Shape:
        input (N, C) or (C,), target of the same shape: class numbers, then -1 -> one number,
        or (N,).

    Example:
        >>> x = torch.tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> nn.MultiLabelMarginLoss()(x, torch.tensor([[3, 0, -1, 1]]))
        tensor(0.8500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Mean over classes of the binary cross entropy of each; targets are 0 or 1.

    Args:
        weight: (C,), a factor per class.
        reduction: "mean", "sum", or "none" for one loss per sample.
        size_average, reduce: the old form of `reduction`; deprecated.

    Shape:
        input (N, C), target (N, C) -> one number, or (N,) if not reduced.

    Example:
        >>> nn.MultiLabelSoftMarginLoss()(torch.tensor([[3.0, -2.0]]), torch.tensor([[1.0, 0.0]]))
        tensor(0.0878)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(
            input, target, weight=self.weight, reduction=self.reduction
        )


class CTCLoss(_Loss):
    """Connectionist temporal classification: minus the log likelihood over all alignments.

    Args:
        blank: the class that means "nothing".
        reduction: "mean" (divided by target lengths, then over samples), "sum" or "none".
        zero_infinity: count losses of sequences that cannot be aligned as zero.

    Shape:
        log_probs (T, N, C), targets (N, S) or all in one (sum of lengths,), input_lengths (N,),
        target_lengths (N,) -> one number, or (N,) if not reduced.

    Example:
        >>> log_probs = torch.full((4, 1, 3), 1 / 3).log()
        >>> nn.CTCLoss()(log_probs, torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2]))
        tensor(0.8432)
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor | Sequence[int],
        target_lengths: Tensor | Sequence[int],
    ) -> Tensor:
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )
