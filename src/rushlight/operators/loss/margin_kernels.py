"""The kernels of multi_margin_loss and multilabel_margin_loss: by how much right classes fail to beat others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.op import Op
from ...core.tensor import Tensor
from ...runtime.facts import Facts, Rows, Values
from ..made_of.precision import in_float32
from ..made_of.reference import by_reference

if TYPE_CHECKING:
    from ...base.array_module import ArrayModule
    from ...base.protocols import Array


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
def _losses(
    xp: ArrayModule, x: Array, target: Array, weight: Array | None, *, p: int, margin: float
) -> Any:
    """The loss of every sample of x (N, C)."""
    gaps, counts, _ = _gaps(xp, x, target, margin)
    terms = gaps if p == 1 else gaps * gaps
    if weight is not None:
        terms = terms * weight[target][:, None]
    # 0 times infinity is NaN: what does not count is left out behind the weight.
    return xp.where(counts, terms, x.dtype.type(0)).sum(1) / x.dtype.type(x.shape[1])


@in_float32
def _grad(
    xp: ArrayModule, gy: Array, x: Array, target: Array, weight: Array | None, *, p: int, margin: float
) -> Any:  # fmt: skip
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
margins.derivative(
    x=lambda g, x, target, weight, p, margin: _margins_grad(
        g, x, target, weight, p=p, margin=margin
    )
)


def _formula(
    gy: Tensor, x: Tensor, target: Tensor, weight: Tensor | None, p: int, margin: float
) -> Tensor:
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


_label_margins_grad.derivative(
    gy=lambda g, x, target: (g * _label_slopes(x, target)).sum(1),
    x=lambda g: g * 0.0,
)
