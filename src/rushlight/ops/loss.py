"""The common losses: cross entropy, negative log-likelihood, squared, absolute and binary ones."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..base.shapes import Size, broadcast_shapes
from ..core.op import Op
from ..core.public import public
from ..core.tensor import Tensor
from .precision import in_float32, widen
from .reference import by_reference
from .softmax import log_softmax_op, softmax_grad

# -- reduction ----------------------------------------------------------------------------------


def legacy_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """`reduction`, or what the two old flags mean."""
    if size_average is None and reduce is None:
        if reduction not in ("none", "mean", "sum"):
            raise ValueError(f"{reduction} is not a valid value for reduction")
        return reduction
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    ret = "none" if not reduce else "mean" if size_average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{ret}' instead.",
        stacklevel=3,
    )
    return ret


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """The element losses averaged, summed or as they are."""
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss


def _reduce(xp: Any, loss: Any, reduction: str) -> Any:
    if reduction == "mean":
        return loss.mean(dtype=loss.dtype)
    return loss.sum(dtype=loss.dtype) if reduction == "sum" else loss


def _loss_meta(x: Any, y: Any, *, reduction: str, **attrs: Any) -> tuple:
    return (x.shape if reduction == "none" else ()), x.dtype


# -- losses of the difference -------------------------------------------------------------------


def _difference_loss(name: str, value: Any, slope: Any, slope_formula: Any) -> Op:
    """A loss value(x - y) as one op; its derivative slope(x - y) as another."""

    @in_float32
    def body(xp: Any, x: Any, y: Any, *, reduction: str, beta: float) -> Any:
        return _reduce(xp, value(xp, x - y, beta), reduction)

    @in_float32
    def grad_body(xp: Any, gy: Any, x: Any, y: Any, *, reduction: str, beta: float) -> Any:
        d = slope(xp, x - y, beta)
        d *= gy / d.size if reduction == "mean" and d.size else gy
        return d

    def formula(gy: Tensor, x: Tensor, y: Tensor, reduction: str, beta: float) -> Tensor:
        scale = gy / x._a.size if reduction == "mean" else gy
        return slope_formula(x - y, beta) * scale

    forward = Op(body, name, meta=_loss_meta)
    backward = Op(grad_body, name + "_grad", meta=lambda gy, x, y, **_: (x.shape, x.dtype))
    by_reference(backward, formula)

    def both(g: Tensor, x: Tensor, y: Tensor, needs: list, reduction: str, beta: float) -> tuple:
        gx = backward(g, x, y, reduction=reduction, beta=beta)
        return gx, -gx if needs[1] else None

    forward.backward(both)
    return forward


def _square(xp: Any, d: Any, beta: float) -> Any:
    return d * d


def _smooth(xp: Any, d: Any, beta: float) -> Any:
    a = xp.abs(d)
    if beta == 0:
        return a
    return xp.where(a < beta, 0.5 / beta * a * a, a - 0.5 * beta)


def _smooth_slope(xp: Any, d: Any, beta: float) -> Any:
    return xp.sign(d) if beta == 0 else xp.clip(d / beta, -1, 1)


def _huber(xp: Any, d: Any, beta: float) -> Any:
    a = xp.abs(d)
    return xp.where(a <= beta, 0.5 * a * a, beta * (a - 0.5 * beta))


_mse = _difference_loss("mse_loss", _square, lambda xp, d, beta: d * 2, lambda d, beta: d * 2)
_l1 = _difference_loss(
    "l1_loss", lambda xp, d, beta: xp.abs(d), lambda xp, d, beta: xp.sign(d),
    lambda d, beta: d.sign(),
)  # fmt: skip
_smooth_l1 = _difference_loss(
    "smooth_l1_loss", _smooth, _smooth_slope,
    lambda d, beta: d.sign() if beta == 0 else (d / beta).clamp(-1, 1),
)  # fmt: skip
_huber_op = _difference_loss(
    "huber_loss", _huber, lambda xp, d, beta: xp.clip(d, -beta, beta),
    lambda d, beta: d.clamp(-beta, beta),
)  # fmt: skip


def _matched(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both of one shape and dtype; a warning when they had to be broadcast."""
    if input._a.shape != target._a.shape:
        warnings.warn(
            f"Using a target size ({Size(target._a.shape)}) that is different to the input size "
            f"({Size(input._a.shape)}). This will likely lead to incorrect results due to "
            "broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )
        shape = broadcast_shapes(input._a.shape, target._a.shape)
        input, target = input.expand(shape), target.expand(shape)
    if input._a.dtype != target._a.dtype:
        from .promotion import promote

        input, target = promote((input, target))
    return input, target


def _weighted_square(name: str, loss: Tensor, weight: Tensor, reduction: str) -> Tensor:
    if weight._a.shape != loss._a.shape:
        raise ValueError("Inputs and weights must have the same size.")
    loss = loss * weight
    if reduction == "mean":
        return loss.sum() / weight.sum()
    return reduced(loss, reduction)


@public("functional")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean squared error."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = _matched(input, target)
    if weight is not None:
        loss = _mse(input, target, reduction="none", beta=0.0)
        return _weighted_square("mse_loss", loss, weight, reduction)
    return _mse(input, target, reduction=reduction, beta=0.0)


@public("functional")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean absolute error."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = _matched(input, target)
    if weight is not None:
        loss = _l1(input, target, reduction="none", beta=0.0)
        return _weighted_square("l1_loss", loss, weight, reduction)
    return _l1(input, target, reduction=reduction, beta=0.0)


@public("functional")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared below `beta`, absolute above."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    input, target = _matched(input, target)
    return _smooth_l1(input, target, reduction=reduction, beta=float(beta))


@public("functional")
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half the square below `delta`, `delta` times the distance above."""
    reduction = legacy_reduction(None, None, reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    input, target = _matched(input, target)
    if weight is not None:
        loss = _huber_op(input, target, reduction="none", beta=float(delta))
        return _weighted_square("huber_loss", loss, weight, reduction)
    return _huber_op(input, target, reduction=reduction, beta=float(delta))


# -- negative log-likelihood --------------------------------------------------------------------


def _check_classes(xp: Any, target: Any, ignore_index: int, classes: int) -> None:
    """IndexError for a class that does not exist; CuPy would stall on the look, so only NumPy."""
    if xp is not np or not target.size:
        return
    low, high = target.min(), target.max()
    if low >= 0 and high < classes:
        return
    bad = target[((target < 0) | (target >= classes)) & (target != ignore_index)]
    if bad.size:
        raise IndexError(f"Target {bad.flat[0]} is out of bounds.")


def _nll_parts(xp: Any, target: Any, weight: Any, ignore_index: int, dtype: Any) -> tuple:
    """Each target's class made safe to index with, and its weight (0 where ignored)."""
    valid = target != ignore_index
    safe = xp.where(valid, target, 0)
    if weight is None:
        return safe, valid.astype(dtype)
    return safe, weight[safe] * valid.astype(dtype)


def _nll_body(
    xp: Any, x: Any, target: Any, weight: Any, *, ignore_index: int, reduction: str
) -> tuple:
    _check_classes(xp, target, ignore_index, x.shape[1])
    wide = widen(xp, x)
    weight = None if weight is None else widen(xp, weight)
    safe, w = _nll_parts(xp, target, weight, ignore_index, wide.dtype)
    picked = xp.take_along_axis(wide, safe[:, None], 1)[:, 0]
    loss = xp.where(w == 0, 0, -w * picked)
    total = w.sum(dtype=wide.dtype)
    if reduction == "mean":
        loss = loss.sum(dtype=wide.dtype) / total
    elif reduction == "sum":
        loss = loss.sum(dtype=wide.dtype)
    return loss.astype(x.dtype), total


def _nll_grad_body(
    xp: Any, gy: Any, target: Any, weight: Any, total: Any, *, shape: tuple, ignore_index: int,
    reduction: str,
) -> Any:  # fmt: skip
    weight = None if weight is None else widen(xp, weight)
    safe, w = _nll_parts(xp, target, weight, ignore_index, total.dtype)
    g = -w * widen(xp, gy)
    if reduction == "mean":
        g = g / total
    out = xp.zeros(shape, total.dtype)
    xp.put_along_axis(out, safe[:, None], xp.where(w == 0, 0, g)[:, None], 1)
    return out.astype(gy.dtype)


def _nll_meta(x: Any, target: Any, weight: Any, *, ignore_index: int, reduction: str) -> list:
    shape = target.shape if reduction == "none" else ()
    total = np.dtype(np.float32) if x.dtype.itemsize == 2 else x.dtype
    return [(shape, x.dtype), ((), total)]


_nll = Op(_nll_body, "nll_loss", meta=_nll_meta)
_nll_grad = Op(
    _nll_grad_body, "nll_loss_grad", meta=lambda gy, *_, shape, **__: (shape, gy.dtype)
)


@_nll.backward
def _nll_backward(
    g: Any, x_shape: tuple, target: Tensor, weight: Any, out1: Tensor, ignore_index: int,
    reduction: str,
) -> tuple:  # fmt: skip
    gx = _nll_grad(
        g, target, weight, out1.detach(), shape=x_shape, ignore_index=ignore_index,
        reduction=reduction,
    )  # fmt: skip
    return gx, None, None


_nll_grad.derivative(  # linear in gy, with the loss itself as its transpose
    gy=lambda g, target, weight, ignore_index, reduction: _nll(
        g, target, weight, ignore_index=ignore_index, reduction=reduction
    )[0]
)


def _check_nll(input: Tensor, target: Tensor, weight: Any) -> None:
    x, t = input._a.shape, target._a.shape
    if len(x) < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {len(x)})")
    if len(x) > 1 and (not t or x[0] != t[0]):
        raise ValueError(
            f"Expected input batch_size ({x[0]}) to match target batch_size ({t[0] if t else 0})."
        )
    if len(x) > 2 and x[2:] != t[1:]:
        raise RuntimeError(
            f"Expected target size {[x[0], *x[2:]]}, got {list(t)}. The class dimension is dim 1 of "
            "the input and absent from the target."
        )
    if len(x) == 2 and len(t) != 1:
        raise RuntimeError(
            "0D or 1D target tensor expected, multi-target not supported; for class probabilities "
            "use a floating point target of the input's shape"
        )
    if target._a.dtype.kind not in "iu":
        raise RuntimeError(
            f"expected scalar type Long but found {target.dtype}; class indices need .long()"
        )
    classes = x[1] if len(x) > 1 else x[0]
    if weight is not None and weight._a.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but "
            f"got weight tensor of shape: {list(weight._a.shape)}"
        )


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
    """The negative of the log-probability at each target class."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    _check_nll(input, target, weight)
    single = input._a.ndim == 1
    if single:
        input, target = input.unsqueeze(0), target.reshape(1)
    loss = _nll(input, target, weight, ignore_index=int(ignore_index), reduction=reduction)[0]
    return loss.reshape(()) if single and reduction == "none" else loss


# -- cross entropy ------------------------------------------------------------------------------


def _cross_entropy_body(
    xp: Any, x: Any, target: Any, *, ignore_index: int, reduction: str
) -> tuple:
    """The loss of 2-D logits and class indices, and the probabilities its derivative wants."""
    _check_classes(xp, target, ignore_index, x.shape[1])
    wide = widen(xp, x)
    valid = target != ignore_index
    rows = xp.arange(target.shape[0])
    z = wide - wide.max(axis=1, keepdims=True) if wide.size else wide
    at = z[rows, xp.where(valid, target, 0)]
    probs = xp.exp(z)
    sums = probs.sum(axis=1, keepdims=True)
    probs /= sums
    loss = xp.where(valid, xp.log(sums[:, 0]) - at, 0)
    if reduction == "mean":
        loss = loss.sum(dtype=wide.dtype) / valid.sum().astype(wide.dtype)
    elif reduction == "sum":
        loss = loss.sum(dtype=wide.dtype)
    return loss.astype(x.dtype), probs.astype(x.dtype)


def _cross_entropy_grad_body(
    xp: Any, gy: Any, probs: Any, target: Any, *, ignore_index: int, reduction: str
) -> Any:
    """(probabilities - one-hot target) * gradient, over the number of targets for a mean."""
    valid = target != ignore_index
    g = widen(xp, gy)
    if reduction == "mean":
        g = g / valid.sum().astype(g.dtype)
    g = xp.where(valid, g, 0)
    out = widen(xp, probs) * g[:, None]
    rows = xp.arange(target.shape[0])
    out[rows, xp.where(valid, target, 0)] -= g
    return out.astype(gy.dtype)


def _cross_entropy_meta(x: Any, target: Any, *, ignore_index: int, reduction: str) -> list:
    return [(target.shape if reduction == "none" else (), x.dtype), (x.shape, x.dtype)]


cross_entropy_fused = Op(
    _cross_entropy_body, "cross_entropy_fused", meta=_cross_entropy_meta,
    grad_name="NllLossBackward0",
)  # fmt: skip
cross_entropy_grad = Op(
    _cross_entropy_grad_body, "cross_entropy_grad",
    meta=lambda gy, probs, target, **_: (probs.shape, probs.dtype),
)  # fmt: skip


@cross_entropy_fused.backward
def _cross_entropy_backward(
    gs: list, target: Tensor, out1: Tensor, ignore_index: int, reduction: str
) -> tuple:
    gx = None
    if gs[0] is not None:
        gx = cross_entropy_grad(
            gs[0], out1, target, ignore_index=ignore_index, reduction=reduction
        )
    if gs[1] is not None:  # only when the derivative itself was differentiated
        through = softmax_grad(gs[1], out1, dim=1)
        gx = through if gx is None else gx + through
    return gx, None


def _cross_entropy_grad_formula(
    gy: Tensor, probs: Tensor, target: Tensor, ignore_index: int, reduction: str
) -> Tensor:
    valid = target != ignore_index
    classes = probs._a.shape[1]
    safe = target.masked_fill(~valid, 0)
    hot = safe.unsqueeze(1) == target.new_tensor(list(range(classes))).unsqueeze(0)
    if reduction == "mean":
        gy = gy / valid.sum()
    scale = gy * valid.to(probs.dtype)
    return (probs - hot.to(probs.dtype)) * scale.unsqueeze(1)


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
    """The cross entropy of logits with class indices or class probabilities."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    x, t = input._a, target._a
    if (
        x.ndim == 2 and t.ndim == 1 and weight is None and not label_smoothing
        and x.dtype.kind in "fV" and t.dtype.kind in "iu" and x.shape[0] == t.shape[0]
    ):  # fmt: skip
        return cross_entropy_fused(
            input, target, ignore_index=int(ignore_index), reduction=reduction
        )[0]
    if x.ndim < 1:
        raise RuntimeError("cross_entropy: input needs a class dimension")
    at = 0 if x.ndim == 1 else 1
    log_probs = log_softmax_op(input, dim=at)
    if x.shape == t.shape and t.dtype.kind in "fV":
        return _soft_targets(log_probs, target, weight, reduction, label_smoothing, at)
    if label_smoothing:
        return _smoothed(log_probs, target, weight, ignore_index, reduction, label_smoothing, at)
    return nll_loss(log_probs, target, weight, None, ignore_index, None, reduction)


def _class_weight(weight: Tensor, ndim: int, at: int) -> Tensor:
    shape = [1] * ndim
    shape[at] = -1
    return weight.reshape(shape)


def _soft_targets(
    log_probs: Tensor, target: Tensor, weight: Any, reduction: str, smoothing: float, at: int
) -> Tensor:
    classes = log_probs._a.shape[at]
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    if weight is not None:
        log_probs = log_probs * _class_weight(weight, log_probs.ndim, at)
    loss = -(log_probs * target).sum(at)
    if reduction == "mean":
        return loss.sum() / max(loss._a.size, 1)
    return reduced(loss, reduction)


def _smoothed(
    log_probs: Tensor, target: Tensor, weight: Any, ignore_index: int, reduction: str,
    smoothing: float, at: int,
) -> Tensor:  # fmt: skip
    """(1 - s) * the loss of the target + s * the mean loss over all classes."""
    classes = log_probs._a.shape[at]
    hard = nll_loss(log_probs, target, weight, None, ignore_index, None, reduction)
    if weight is not None:
        log_probs = log_probs * _class_weight(weight, log_probs.ndim, at)
    soft = -log_probs.sum(at)
    ignored = target == ignore_index
    soft = soft.masked_fill(ignored, 0.0)
    if reduction == "mean":
        if weight is None:
            count: Any = (~ignored).sum()
        else:
            count = weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0.0).sum()
        soft = soft.sum() / count
    else:
        soft = reduced(soft, reduction)
    return hard * (1 - smoothing) + soft * (smoothing / classes)
