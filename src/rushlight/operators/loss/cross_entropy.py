"""Losses of class targets: negative log-likelihood and cross entropy."""

from __future__ import annotations

import math
from math import prod
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule, Shaped
from ...base.shapes import whole
from ...core.inplace import may_change
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.facts import Facts, Rows
from ...runtime.thread import CASTING, here
from ..layers.softmax import log_softmax, softmax
from ..made_of.guards import one_dtype, only_for, refuse_grad, title
from ..made_of.precision import widen
from ..made_of.reference import by_reference
from .reduction import legacy_reduction, reduced

# -- negative log-likelihood --------------------------------------------------------------------


def _check_classes(xp: ArrayModule, target: Array, ignore_index: int, classes: int) -> None:
    """IndexError for a class that does not exist; on the CPU only, a GPU would have to wait."""
    if xp is not np or not target.size:
        return
    low, high = target.min(), target.max()
    if low >= 0 and high < classes:
        return
    bad = target[((target < 0) | (target >= classes)) & (target != ignore_index)]
    if bad.size:
        raise IndexError(f"Target {bad.flat[0]} is out of bounds.")


def _nll_parts(xp: ArrayModule, target: Array, weight: Array | None, ignore_index: int, dtype: Any) -> tuple:
    """Which targets count, class numbers that can be indices, and weights (0 if ignored)."""
    valid = target != ignore_index
    safe = xp.where(valid, target, 0)
    if weight is None:
        return valid, safe, valid.astype(dtype)
    return valid, safe, xp.where(valid, weight[safe], 0).astype(dtype, copy=False)


def _by_class(x: Array) -> Any:
    """[N, C, d1, ...] as [N, C, d1 * ...]."""
    return x.reshape(x.shape[0], x.shape[1], prod(x.shape[2:]))


def _class_places(xp: ArrayModule, safe: Array) -> tuple:
    """Where in `_by_class` the targets' entries lie."""
    n, rest = safe.shape[0], prod(safe.shape[1:])
    return xp.arange(n)[:, None], safe.reshape(n, rest), xp.arange(rest)[None]


@only_for("fV", "nll_loss_out_frame")
def _nll_body(
    xp: ArrayModule, x: Array, target: Array, weight: Array | None, *, ignore_index: int, reduction: str
) -> tuple:
    _check_classes(xp, target, ignore_index, x.shape[1])
    wide = widen(xp, x)
    weight = None if weight is None else widen(xp, weight)
    valid, safe, w = _nll_parts(xp, target, weight, ignore_index, wide.dtype)
    picked = _by_class(wide)[_class_places(xp, safe)].reshape(safe.shape)
    loss = xp.where(valid, -w * picked, 0)  # an infinite loss stays visible behind a weight of 0
    total = w.sum(dtype=wide.dtype)
    if reduction == "mean":
        loss = loss.sum(dtype=wide.dtype) / total
    elif reduction == "sum":
        loss = loss.sum(dtype=wide.dtype)
    return loss.astype(x.dtype), total


def _nll_grad_body(
    xp: ArrayModule, gy: Array, target: Array, weight: Array | None, total: Array, *, shape: tuple, ignore_index: int,
    reduction: str,
) -> Any:  # fmt: skip
    weight = None if weight is None else widen(xp, weight)
    valid, safe, w = _nll_parts(xp, target, weight, ignore_index, total.dtype)
    g = -w * widen(xp, gy)
    if reduction == "mean":
        g = g / total
    out = xp.zeros(shape, total.dtype)
    _by_class(out)[_class_places(xp, safe)] = xp.where(valid, g, 0).reshape(shape[0], prod(shape[2:]))
    return out.astype(gy.dtype)


def _nll_meta(x: Shaped, target: Shaped, weight: Shaped | None, *, ignore_index: int, reduction: str) -> list:
    shape = target.shape if reduction == "none" else ()
    total = np.dtype(np.float32) if x.dtype.itemsize == 2 else x.dtype
    return [(shape, x.dtype), ((), total)]


_nll = Op(
    _nll_body,
    "nll_loss",
    meta=_nll_meta,
    facts=Facts(
        positions=Rows(dim=1, ignored="ignore_index"),
        vmap="nll",
        layout="plain",
        autocast="float32",
        aten="nll_loss_forward",
    ),
)
_nll_grad = Op(
    _nll_grad_body,
    "nll_loss_grad",
    meta=lambda gy, *_, shape, **__: (shape, gy.dtype),
    facts=Facts(refuses="checked", vmap="nll_grad", aten="nll_loss_backward"),
)


@_nll.backward
def _nll_backward(
    g: Any, x_shape: tuple, target: Tensor, weight: Any, out1: Tensor, ignore_index: int, reduction: str
) -> tuple:
    gx = _nll_grad(g, target, weight, out1.detach(), shape=x_shape, ignore_index=ignore_index, reduction=reduction)
    return gx, None, None


_nll_grad.derivative(  # linear in gy; the transpose of that map is the loss itself
    gy=lambda g, target, weight, ignore_index, reduction: _nll(
        g, target, weight, ignore_index=ignore_index, reduction=reduction
    )[0]
)


def _is_class_index(d: Any) -> bool:
    return d.kind in "iu" and d.itemsize == (8 if d.kind == "i" else 1)


def _check_nll(input: Tensor, target: Tensor, weight: Any) -> None:
    x, t = input._a.shape, target._a.shape
    if len(x) < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {len(x)})")
    if len(x) > 1 and (not t or x[0] != t[0]):
        raise ValueError(f"Expected input batch_size ({x[0]}) to match target batch_size ({t[0] if t else 0}).")
    if len(x) > 2 and x[2:] != t[1:]:
        raise RuntimeError(
            f"Expected target size {[x[0], *x[2:]]}, got {list(t)}. The class dimension is dim 1 of "
            "the input and absent from the target."
        )
    if len(x) == 2 and len(t) != 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not _is_class_index(target._a.dtype):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {title(target.dtype)}; class indices need .long()"
        )
    classes = x[1] if len(x) > 1 else x[0]
    if weight is not None and weight._a.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but "
            f"got weight tensor of shape: {list(weight._a.shape)}"
        )
    one_dtype(input, weight)


@public("functional")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """As `nn.NLLLoss`, as one call."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    _check_nll(input, target, weight)
    refuse_grad("nll_loss_forward", weight=weight)
    single = input._a.ndim == 1
    if single:
        if target._a.size != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target._a.size}")
        input, target = input.unsqueeze(0), target.reshape(1)
    loss = _nll(input, target, weight, ignore_index=whole(ignore_index, "ignore_index"), reduction=reduction)[0]
    return loss.reshape(()) if single and reduction == "none" else loss


# -- cross entropy ------------------------------------------------------------------------------


def _cross_entropy_body(
    xp: ArrayModule, x: Array, target: Array, *, ignore_index: int, reduction: str, wide: bool
) -> tuple:
    """The loss of 2-D logits and class numbers; each row's maximum and sum of exp(x - maximum).

    The derivative needs only these two numbers per row beside the logits, so no second array of
    their size is kept. Half precision is computed in float32, and returned in it if `wide`.
    """
    _check_classes(xp, target, ignore_index, x.shape[1])
    z = widen(xp, x)
    valid = target != ignore_index
    rows = xp.arange(target.shape[0])
    tops = z.max(axis=1, keepdims=True) if z.size else z.sum(axis=1, keepdims=True)
    z = z - tops
    at = z[rows, xp.where(valid, target, 0)]
    sums = xp.exp(z, out=z).sum(axis=1, keepdims=True)
    loss = xp.where(valid, xp.log(sums[:, 0]) - at, 0)
    if reduction == "mean":
        loss = loss.sum(dtype=z.dtype) / valid.sum().astype(z.dtype)
    elif reduction == "sum":
        loss = loss.sum(dtype=z.dtype)
    return loss.astype(z.dtype if wide else x.dtype), xp.concatenate([tops, sums], axis=1)


def _cross_entropy_grad_body(
    xp: ArrayModule, gy: Array, x: Array, stats: Array, target: Array, *, ignore_index: int, reduction: str
) -> Any:
    """(probabilities - one-hot target) * gradient, over the number of targets for a mean."""
    valid = target != ignore_index
    g = widen(xp, gy)
    if reduction == "mean":
        g = g / valid.sum().astype(g.dtype)
    g = xp.where(valid, g, 0)
    out = widen(xp, x) - stats[:, :1]
    xp.exp(out, out=out)
    out /= stats[:, 1:]
    out *= g[:, None]
    rows = xp.arange(target.shape[0])
    out[rows, xp.where(valid, target, 0)] -= g
    return out.astype(x.dtype, copy=False)


def _cross_entropy_meta(x: Any, target: Any, *, ignore_index: int, reduction: str, wide: bool) -> list:
    computed = np.dtype(np.float32) if x.dtype.itemsize == 2 else x.dtype
    shape = target.shape if reduction == "none" else ()
    return [(shape, computed if wide else x.dtype), ((x.shape[0], 2), computed)]


cross_entropy_fused = Op(
    _cross_entropy_body, "cross_entropy_fused", meta=_cross_entropy_meta,
    grad_name="NllLossBackward0", new_gradients=True, widens_itself=True, facts=Facts(positions=Rows(dim=1, ignored="ignore_index"), vmap="cross_entropy", autocast="float32", aten="cross_entropy_loss entropy"),
)  # fmt: skip
cross_entropy_fused.viewed = ("x",)
cross_entropy_grad = Op(
    _cross_entropy_grad_body, "cross_entropy_grad",
    meta=lambda gy, x, stats, target, **_: (x.shape, x.dtype), facts=Facts(vmap="cross_entropy_grad"),
)  # fmt: skip


@cross_entropy_fused.backward
def _cross_entropy_backward(
    g: Tensor, x: Tensor, target: Tensor, out1: Tensor, ignore_index: int, reduction: str
) -> tuple:
    how = {"ignore_index": ignore_index, "reduction": reduction}
    return cross_entropy_grad(g, x, out1.detach(), target, **how), None


def _cross_entropy_grad_formula(
    gy: Tensor, x: Tensor, stats: Tensor, target: Tensor, ignore_index: int, reduction: str
) -> Tensor:
    """The same in tensor ops of the logits, because `stats` depends on them, too."""
    probs = softmax(x, 1, dtype=stats.dtype)
    valid = target.ne(ignore_index)
    classes = x._a.shape[1]
    safe = target.masked_fill(~valid, 0)
    hot = safe.unsqueeze(1) == target.new_tensor(list(range(classes))).unsqueeze(0)
    gy = gy.to(stats.dtype)
    if reduction == "mean":
        gy = gy / valid.sum()
    scale = gy * valid.to(probs.dtype)
    return ((probs - hot.to(probs.dtype)) * scale.unsqueeze(1)).to(x.dtype)


by_reference(cross_entropy_grad, _cross_entropy_grad_formula)


@public("functional")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """As `nn.CrossEntropyLoss`, as one call."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    x, t = input._a, target._a
    if (
        x.ndim == 2 and t.ndim == 1 and weight is None and not label_smoothing
        and x.dtype.kind in "fV" and _is_class_index(t.dtype) and x.shape[0] == t.shape[0]
    ):  # fmt: skip
        wide = bool(here.state & CASTING) and here.casts.widens(cross_entropy_fused, input)
        loss = cross_entropy_fused(
            input, target, ignore_index=whole(ignore_index, "ignore_index"), reduction=reduction, wide=wide
        )[0]
        return may_change(loss, input)  # PyTorch keeps log probabilities
    if x.ndim < 1:
        raise RuntimeError("cross_entropy: input needs a class dimension")
    at = 0 if x.ndim == 1 else 1
    log_probs = log_softmax(input, at)
    if x.shape == t.shape:
        if t.dtype.kind not in "fV":
            raise RuntimeError(
                f"Expected floating point type for target with class probabilities, got {title(target.dtype)}"
            )
        return _soft_targets(log_probs, target, weight, reduction, label_smoothing, at)
    if label_smoothing:
        return _smoothed(log_probs, target, weight, ignore_index, reduction, label_smoothing, at)
    return nll_loss(log_probs, target, weight, None, ignore_index, None, reduction)


def _class_weight(weight: Tensor, ndim: int, at: int) -> Tensor:
    shape = [1] * ndim
    shape[at] = -1
    return weight.reshape(shape)


def _each(smoothing: float, classes: int) -> float:
    """The share of the smoothing for each class; for 0 classes what a float division gives."""
    return smoothing / classes if classes else math.inf


def _soft_targets(log_probs: Tensor, target: Tensor, weight: Any, reduction: str, smoothing: float, at: int) -> Tensor:
    classes = log_probs._a.shape[at]
    if smoothing:
        target = target * (1 - smoothing) + _each(smoothing, classes)
    if weight is not None:
        log_probs = log_probs * _class_weight(weight, log_probs.ndim, at)
    loss = -(log_probs * target).sum(at)
    if reduction == "mean":
        return loss.sum() / (loss._a.size if classes else 0)  # the mean of nothing is NaN
    return reduced(loss, reduction)


def _smoothed(
    log_probs: Tensor, target: Tensor, weight: Any, ignore_index: int, reduction: str, smoothing: float, at: int
) -> Tensor:
    """(1 - s) * the loss of the target + s * the mean loss over all classes."""
    classes = log_probs._a.shape[at]
    hard = nll_loss(log_probs, target, weight, None, ignore_index, None, reduction)
    if weight is not None:
        log_probs = log_probs * _class_weight(weight, log_probs.ndim, at)
    soft = -log_probs.sum(at)
    ignored = target.eq(ignore_index)
    soft = soft.masked_fill(ignored, 0.0)
    if reduction == "mean":
        if weight is None:
            count: Any = (~ignored).sum()
        else:
            count = weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0.0).sum()
        soft = soft.sum() / count
    else:
        soft = reduced(soft, reduction)
    return hard * (1 - smoothing) + soft * _each(smoothing, classes)
