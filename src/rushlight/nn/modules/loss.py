"""Loss layers: each holds its settings and calls the function of the same name."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ...base.device import device
from ...base.dtypes import dtype
from ...core.tensor import Tensor
from ...operators.loss.reduction import legacy_reduction
from .. import functional as F
from .distance import PairwiseDistance
from .linear import Linear
from .module import Module

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss",
    "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss",
    "LinearCrossEntropyLoss", "MSELoss",
    "MarginRankingLoss", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss",
    "NLLLoss", "NLLLoss2d", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss",
    "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]  # fmt: skip


class _Loss(Module):
    """The base class of losses: holds `reduction`."""

    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = legacy_reduction(size_average, reduce, reduction)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """A loss with a weight per class or element."""

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class MultiMarginLoss(_WeightedLoss):
    """Hinge loss of one right class: its score should beat every other by a margin.

    Args:
        p: the power of each term, 1 or 2.
        margin: by how much.
        weight: (C,), a factor per class.
        reduction: "mean", "sum", or "none" for one loss per sample.

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
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class HingeEmbeddingLoss(_Loss):
    """Loss of distances: the distance of similar pairs, max(0, margin - distance) of others.

    Args:
        margin: how far apart pairs that are not similar should be.
        reduction: "mean", "sum", or "none" for one loss per element.

    Shape:
        input (*), target (*) of 1 (similar) and -1 -> one number, or (*) if not reduced.

    Example:
        >>> nn.HingeEmbeddingLoss()(torch.tensor([0.2, 0.4]), torch.tensor([1, -1]))
        tensor(0.4000)
    """

    def __init__(
        self, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class _PairLoss(_Loss):
    """A loss of two inputs, with a margin."""

    def __init__(
        self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class CosineEmbeddingLoss(_PairLoss):
    """Loss of angles: 1 - cos of similar pairs, max(0, cos - margin) of others.

    Args:
        margin: the cosine that pairs that are not similar may have, between -1 and 1.
        reduction: "mean", "sum", or "none" for one loss per sample.

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
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_PairLoss):
    """Loss of an order: max(0, -target (input1 - input2) + margin).

    Args:
        margin: by how much the larger input should be larger.
        reduction: "mean", "sum", or "none" for one loss per element.

    Shape:
        input1 (*), input2 (*), target (*): 1 if input1 should be larger, else -1 -> one number,
        or (*) if not reduced.

    Example:
        >>> x, y = torch.tensor([3.0]), torch.tensor([2.5])
        >>> nn.MarginRankingLoss(margin=1.0)(x, y, torch.tensor([1]))
        tensor(0.5000)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """The anchor should be nearer to the positive than to the negative, by a margin.

    Args:
        margin: by how much.
        p: which norm the distance is.
        eps: added to differences, so that the distance can be differentiated at 0.
        swap: use the distance of positive and negative where it is smaller (Balntas, 2016).
        reduction: "mean", "sum", or "none" for one loss per sample.

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
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
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
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.distance_function = distance_function if distance_function is not None else PairwiseDistance()
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


@dataclasses.dataclass
class LinearCrossEntropyOptions:
    """How PyTorch cuts the batch into pieces; rushlight computes it whole, so nothing here has effect.

    Args:
        allow_retain_graph, batch_chunk_size, chunking_method, acc_policy, acc_dtype: PyTorch's
            settings.

    Example:
        >>> nn.LinearCrossEntropyOptions().chunking_method
        'auto'
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        method, _, factor = (self.chunking_method or "auto").partition(":")
        if method != "auto" and not (method == "aspect_ratio" and int(factor or "1") > 0):
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        if self.batch_chunk_size is not None and self.batch_chunk_size < 1:
            raise ValueError(f"batch_chunk_size must be positive int or None, got {self.batch_chunk_size!r}")


class LinearCrossEntropyLoss(Module):
    """A classifier's last Linear and its cross entropy as one layer.

    Args:
        in_features: width of the input.
        num_classes: number of classes.
        out_features: further dimensions of the scores, behind the classes.
        bias: True gives the Linear a bias.
        reduction, weight, ignore_index, label_smoothing: as in `CrossEntropyLoss`.
        options: how PyTorch cuts the batch into pieces to save memory; the scores are computed whole here.

    Shape:
        input (N, in_features), target (N,) of class numbers -> one number, or (N,) if not reduced.

    Attributes:
        linear: the Linear.

    Example:
        >>> loss = nn.LinearCrossEntropyLoss(4, 3)
        >>> _ = nn.init.zeros_(loss.linear.weight)
        >>> loss(torch.zeros(2, 4), torch.tensor([0, 2])).item()
        1.0986123085021973
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__()
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        self.in_features = in_features
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.reduction = reduction
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        self.register_buffer("weight", weight)
        self.linear = Linear(in_features, num_classes * prod(self.out_features), bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


class L1Loss(_Loss):
    """Mean absolute difference of input and target.

    Args:
        reduction: "mean", "sum", or "none" for one loss per element.

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

    Shape:
        input (*), target (*) -> one number, or (*) if not reduced.

    Example:
        >>> x, y = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 5.0])
        >>> nn.SmoothL1Loss(reduction="none")(x, y)
        tensor([0.0000, 2.5000])
    """

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean", beta: float = 1.0
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
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


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
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
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
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class KLDivLoss(_Loss):
    """Kullback-Leibler divergence of a target distribution from log probabilities.

    Args:
        reduction: "batchmean" (the divergence: the sum divided by N), "mean" (over elements),
            "sum" or "none".
        log_target: the target holds log probabilities, too.

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

    Shape:
        input (N, C), target (N, C) -> one number, or (N,) if not reduced.

    Example:
        >>> nn.MultiLabelSoftMarginLoss()(torch.tensor([[3.0, -2.0]]), torch.tensor([[1.0, 0.0]]))
        tensor(0.0878)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


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

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
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
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )
