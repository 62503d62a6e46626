"""The less common losses: margins, rankings, triplets and distributions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import int64, title
from ...core.modes import no_grad
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.facts import Facts, Rows, Values
from ..made_of.guards import check_kind, one_dtype, refuse_grad
from ..made_of.precision import in_float32
from ..made_of.reference import by_reference
from ..pointwise.activation_smooth import logsigmoid
from .distance import pairwise_distance
from .reduction import legacy_reduction, reduced


def _gaps(xp: ArrayModule, x: Array, target: Array, margin: float) -> tuple[Any, Any, Any]:
    """By how much each class is too good [N, C], where that counts, and where the right ones are."""
    if xp is np and not ((target >= 0) & (target < x.shape[1])).all():
        raise RuntimeError("target out of range")
    right = (xp.arange(x.shape[0]), target)
    gaps = x.dtype.type(margin) - x[right][:, None] + x
    counts = gaps > 0
    counts[right] = False
    return gaps, counts, right


@in_float32
def _losses(xp: ArrayModule, x: Array, target: Array, weight: Array | None, *, p: int, margin: float) -> Any:
    """The loss of every sample of x (N, C)."""
    gaps, counts, _ = _gaps(xp, x, target, margin)
    terms = gaps if p == 1 else gaps * gaps
    if weight is not None:
        terms = terms * weight[target][:, None]
    # 0 times infinity is NaN: what does not count is left out behind the weight.
    return xp.where(counts, terms, x.dtype.type(0)).sum(1) / x.dtype.type(x.shape[1])


@in_float32
def _grad(xp: ArrayModule, gy: Array, x: Array, target: Array, weight: Array | None, *, p: int, margin: float) -> Any:
    gaps, counts, right = _gaps(xp, x, target, margin)
    by = gy[:, None] / x.dtype.type(x.shape[1])  # first: a mean keeps squares in range
    slopes = xp.broadcast_to(by, x.shape) if p == 1 else 2 * by * gaps
    if weight is not None:
        slopes = slopes * weight[target][:, None]
    slopes = xp.where(counts, slopes, x.dtype.type(0))
    slopes[right] = -slopes.sum(1)
    return slopes


margins = Op(
    _losses,
    "multi_margin_loss",
    grad_name="MultiMarginLossBackward0",
    meta=lambda x, target, weight, **how: (x.shape[:1], x.dtype),
    facts=Facts(positions=Rows(dim=1)),
)
_margins_grad = Op(
    _grad,
    "multi_margin_loss_grad",
    meta=lambda gy, x, target, weight, **how: (x.shape, x.dtype),
    facts=Facts(refuses="checked"),
)
margins.derivative(x=lambda g, x, target, weight, p, margin: _margins_grad(g, x, target, weight, p=p, margin=margin))


def _formula(gy: Tensor, x: Tensor, target: Tensor, weight: Tensor | None, p: int, margin: float) -> Tensor:
    """The derivative in tensor ops."""
    right = target.unsqueeze(1)
    gaps = margin - x.gather(1, right) + x
    rest = ~(gaps > 0).scatter(1, right, False)
    by = (gy / x._a.shape[1]).unsqueeze(1)
    if weight is not None:
        by = by * weight[target].unsqueeze(1)
    slopes = (by * gaps * 2 if p == 2 else by.expand(gaps._a.shape)).masked_fill(rest, 0.0)
    return slopes.scatter(1, right, -slopes.sum(1, keepdim=True))


by_reference(_margins_grad, _formula)


# -- several right classes ------------------------------------------------------------------------


def _is_listed(arrays: Any, attrs: dict[str, Any]) -> bool:
    """Whether targets are classes, or the -1 behind the last of them."""
    x, target = arrays
    return bool(((target >= -1) & (target < x.shape[1])).all())


def _pairs(xp: ArrayModule, x: Array, target: Array) -> tuple[Any, Any, Any]:
    """For each listed class and each other one: the gap [N, L, C], where it counts, and where the class is."""
    classes = x.shape[1]
    if xp is np and not _is_listed((x, target), {}):
        raise RuntimeError("argument #2 'target' is out of range")
    listed = xp.cumprod(target >= 0, axis=1) != 0  # the first -1 ends a row's list
    safe = xp.where(listed, target, 0)
    at = (safe[:, :, None] == xp.arange(classes)) & listed[:, :, None]
    gaps = 1 - xp.take_along_axis(x, safe, 1)[:, :, None] + x[:, None, :]
    counts = (gaps > 0) & listed[:, :, None] & ~at.any(axis=1)[:, None, :]
    return gaps, counts, at


@in_float32
def _label_losses(xp: ArrayModule, x: Array, target: Array) -> Any:
    """The loss of every sample of x (N, C), whose right classes are listed in target (N, C)."""
    gaps, counts, _ = _pairs(xp, x, target)
    return xp.where(counts, gaps, x.dtype.type(0)).sum((1, 2)) / x.dtype.type(x.shape[1])


@in_float32
def _label_grad(xp: ArrayModule, gy: Array, x: Array, target: Array) -> Any:
    _, counts, at = _pairs(xp, x, target)
    right = (at * counts.sum(2)[:, :, None]).sum(1)
    by = gy / x.dtype.type(x.shape[1])
    return (counts.sum(1) - right).astype(x.dtype) * by[:, None]


label_margins = Op(
    _label_losses,
    "multilabel_margin_loss",
    grad_name="MultilabelMarginLossBackward0",
    meta=lambda x, target: (x.shape[:1], x.dtype),
    facts=Facts(refuses=Values((1,), _is_listed)),
)
_label_margins_grad = Op(
    _label_grad,
    "multilabel_margin_loss_grad",
    meta=lambda gy, x, target: (x.shape, x.dtype),
    facts=Facts(refuses="checked"),
)
label_margins.derivative(x=lambda g, x, target: _label_margins_grad(g, x, target))


def _label_slopes(x: Tensor, target: Tensor) -> Tensor:
    """The derivative of each sample's loss [N, C]; it is constant where it exists."""
    return _label_margins_grad(x.new_ones(x._a.shape[:1]).detach(), x.detach(), target)


_label_margins_grad.derivative(gy=lambda g, x, target: (g * _label_slopes(x, target)).sum(1), x=lambda g: g * 0.0)


# -- margins ------------------------------------------------------------------------------------


def _positive_part(x: Tensor) -> Tensor:
    return x.clamp(min=0)


@public("torch", "functional")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """As `nn.HingeEmbeddingLoss`, as a function."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    near = input.masked_fill(target == -1, 0.0)
    far = _positive_part(margin - input).masked_fill(target == 1, 0.0)
    return reduced(near + far, reduction)


@public("torch", "functional")
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """As `nn.CosineEmbeddingLoss`, as a function."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if target._a.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    wanted = target._a.ndim + 1
    if input1._a.ndim != wanted or input2._a.ndim != wanted:
        raise RuntimeError(
            f"{wanted - 1}D target tensor expects {wanted}D input tensors, but found inputs with "
            f"sizes {list(input1._a.shape)} and {list(input2._a.shape)}."
        )
    size1 = (input1 * input1).sum(-1) + 1e-12
    size2 = (input2 * input2).sum(-1) + 1e-12
    cosine = (input1 * input2).sum(-1) / (size1 * size2).sqrt()
    same = (1 - cosine).masked_fill(target != 1, 0.0)
    other = _positive_part(cosine - margin).masked_fill(target != -1, 0.0)
    return reduced(same + other, reduction)


@public("torch", "functional")
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """As `nn.MarginRankingLoss`, as a function."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not input1._a.ndim == input2._a.ndim == target._a.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return reduced(_positive_part(-target * (input1 - input2) + float(margin)), reduction)


@public("functional")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """As `nn.MultiMarginLoss`, as a function."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    check_kind(input, "fV", "multi_margin_loss_cpu_kernel")
    refuse_grad("multi_margin_loss", weight=weight)
    if input._a.ndim > 2 or 0 in input._a.shape[-1:]:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input._a.shape)}"
        )
    x = input if input._a.ndim > 1 else input.reshape(1, -1)
    t = target.reshape(-1)
    if t._a.size != x._a.shape[0]:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{x._a.shape[0]}], but got "
            f"{list(target._a.shape)}. Input has shape {list(input._a.shape)}."
        )
    classes = x._a.shape[1]
    if weight is not None and weight._a.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    if weight is not None and weight._a.size != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight._a.shape)}")
    if target.dtype is not int64:
        raise RuntimeError(f"expected scalar type Long but found {title(target.dtype)}")
    one_dtype(input, weight)
    loss = margins(x, t, weight, p=p, margin=margin)
    if not target._a.ndim:
        loss = loss.reshape(())
    return reduced(loss, reduction)


@public("functional")
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """As `nn.MultiLabelMarginLoss`, as a function."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    classes = input._a.shape[-1] if input._a.ndim else 1
    if input._a.ndim > 2 or not classes:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input._a.shape)}"
        )
    if input._a.shape != target._a.shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target._a.shape)} for input of size: {list(input._a.shape)}"
        )
    x, t = input.reshape(-1, classes), target.reshape(-1, classes)
    check_kind(input, "fV", "multilabel_margin_loss_forward_out_frame")
    loss = label_margins(x, t)
    return reduced(loss if input._a.ndim > 1 else loss.reshape(()), reduction)


@public("functional")
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """As `nn.MultiLabelSoftMarginLoss`, as a function."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduced(loss.mean(-1), reduction)


@public("functional")
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """As `nn.SoftMarginLoss`, as a function."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    return reduced(-logsigmoid(input * target), reduction)


# -- triplets -----------------------------------------------------------------------------------


@public("torch", "functional")
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """As `nn.TripletMarginLoss`, as a function."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return pairwise_distance(a, b, p, eps)

    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


@public("functional")
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """As `nn.TripletMarginWithDistanceLoss`, as a function."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    reduction = legacy_reduction(None, None, reduction)
    distance = distance_function or pairwise_distance
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def _triplet(
    anchor: Tensor, positive: Tensor, negative: Tensor, distance: Callable, margin: float, swap: bool, reduction: str
) -> Tensor:
    dims = [x._a.ndim for x in (anchor, positive, negative)]
    if len(set(dims)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D "
            "inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced(_positive_part(margin + near - far), reduction)


# -- likelihoods --------------------------------------------------------------------------------


@public("functional")
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """As `nn.PoissonNLLLoss`, as a function."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if log_input:
        loss = input.exp() - target * input
    else:
        loss = input - target * (input + eps).log()
    if full:  # Stirling's approximation of log(target!)
        safe = target.masked_fill(target <= 1, 2.0)
        stirling = safe * safe.log() - safe + 0.5 * (2 * math.pi * safe).log()
        loss = loss + stirling.masked_fill(target <= 1, 0.0)
    return reduced(loss, reduction)


def _one_is_shared(shape: tuple[int, ...], given: tuple[int, ...]) -> bool:
    """Whether two shapes differ in one dim, which has size 1 in the second."""
    return len(shape) == len(given) and [b for a, b in zip(shape, given) if a != b] == [1]


@public("functional")
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """As `nn.GaussianNLLLoss`, as a function."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = input.detach().new_full(input._a.shape, float(var))
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    shape, given = input._a.shape, var._a.shape
    if given != shape:
        if shape[:-1] == given:
            var = var.unsqueeze(-1)
        elif var._a.ndim and not _one_is_shared(shape, given):
            raise ValueError("var is of incorrect size")
    with no_grad():  # the clamp is not part of the derivative
        lift = var.clamp(min=eps) - var
    var = var + lift
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)
