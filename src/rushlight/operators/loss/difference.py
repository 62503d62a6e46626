"""Losses of the difference of two tensors, binary cross entropy, Kullback-Leibler divergence."""

from __future__ import annotations

import warnings
from typing import Any

from ...base.arrays import Array, ArrayModule
from ...base.shapes import Size, broadcast_shapes
from ...core.inplace import may_change
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ...runtime.point import Point
from ..made_of.checks import between_zero_and_one, check_values
from ..made_of.guards import FLOATS, check_kind, only, refuse_grad, title
from ..made_of.precision import in_float32
from ..made_of.promotion import promote
from ..made_of.reference import by_reference
from ..memory.casting import cast_to
from ..pointwise.activation_smooth import logsigmoid
from .reduction import legacy_reduction, loss_meta, reduce_body, reduced

# -- losses of the difference -------------------------------------------------------------------


def _difference_loss(
    name: str,
    value: Any,
    slope: Any,
    slope_formula: Any,
    autocast: Any = "float32",
    aten: str | None = None,
    slope_aten: Any = None,
    *,
    each: Point,
    each_slope: Point,
) -> Op:
    """A loss value(x - y) as one op; its derivative slope(x - y) as another."""

    @in_float32
    def body(xp: ArrayModule, x: Array, y: Array, *, reduction: str, beta: float) -> Any:
        return reduce_body(xp, value(xp, x - y, beta), reduction)

    @in_float32
    def grad_body(xp: ArrayModule, gy: Array, x: Array, y: Array, *, reduction: str, beta: float) -> Any:
        d = slope(xp, x - y, beta)
        d *= gy / d.size if reduction == "mean" and d.size else gy
        return d

    def formula(gy: Tensor, x: Tensor, y: Tensor, reduction: str, beta: float) -> Tensor:
        scale = _tensor_scaled(gy, x, reduction)
        return slope_formula(x - y, beta) * scale

    label = name.removesuffix("_loss") + "_cpu"
    facts = Facts(vmap="loss", autocast=autocast, aten=aten, each=each)
    forward = Op(body, name, rule=only(FLOATS, label), meta=loss_meta, facts=facts)
    backward = Op(
        grad_body,
        name + "_grad",
        meta=lambda gy, x, y, **_: (x.shape, x.dtype),
        facts=Facts(vmap="loss_grad", aten=slope_aten, each=each_slope),
    )
    by_reference(backward, formula)

    def both(g: Tensor, x: Tensor, y: Tensor, needs: list, reduction: str, beta: float) -> tuple:
        gx = backward(g, x, y, reduction=reduction, beta=beta)
        return gx, -gx if needs[1] else None

    forward.backward(both)
    return forward


def _square(xp: ArrayModule, d: Array, beta: float) -> Any:
    return d * d


def _smooth(xp: ArrayModule, d: Array, beta: float) -> Any:
    a = xp.abs(d)
    if beta == 0:
        return a
    return xp.where(a < beta, 0.5 / beta * a * a, a - 0.5 * beta)


def _sign(xp: ArrayModule, d: Array, beta: float) -> Any:
    """-1, 0 or 1, and 0 for NaN, as PyTorch's sign."""
    return (d > 0).astype(d.dtype) - (d < 0)


def _smooth_slope(xp: ArrayModule, d: Array, beta: float) -> Any:
    return _sign(xp, d, beta) if beta == 0 else xp.clip(d / beta, -1, 1)


def _huber(xp: ArrayModule, d: Array, beta: float) -> Any:
    a = xp.abs(d)
    return xp.where(a <= beta, 0.5 * a * a, beta * (a - 0.5 * beta))


_mse = _difference_loss(
    "mse_loss",
    _square,
    lambda xp, d, beta: d * 2,
    lambda d, beta: d * 2,
    aten="mse_loss loss",
    slope_aten="mse_loss_backward",
    each=Point("x y | beta", "(x - y) * (x - y)", cost="CHEAP", loss=True),
    each_slope=Point("x y | beta", "(x - y) * 2", cost="CHEAP", loss=True),
)
_l1 = _difference_loss(
    "l1_loss", lambda xp, d, beta: xp.abs(d), _sign,
    lambda d, beta: d.sign(), aten="l1_loss loss",
    each=Point("x y | beta", "abs(x - y)", cost="CHEAP", loss=True),
    each_slope=Point("x y | beta", "T(x > y) - T(x < y)", engine="sign(x - y)", cost="CHEAP", loss=True),
)  # fmt: skip
_l1.viewed = ("x", "y")
_smooth_l1 = _difference_loss(
    "smooth_l1_loss", _smooth, _smooth_slope,
    lambda d, beta: d.sign() if beta == 0 else (d / beta).clamp(-1, 1),
    slope_aten="smooth_l1_loss_backward",
    each=Point("x y | beta", "0.5 / beta * (x - y) * (x - y) if abs(x - y) < beta else abs(x - y) - 0.5 * beta",
               engine="steep * abs(x - y) * abs(x - y) if abs(x - y) < beta else abs(x - y) - half", cost="CHEAP", loss=True),
    each_slope=Point("x y | beta", "T(x > y) - T(x < y) if beta == 0 else min(max((x - y) / beta, -1), 1)",
                     engine="clip((x - y) / beta, -1, 1)", cost="CHEAP", loss=True),
)  # fmt: skip
_huber_op = _difference_loss(
    "huber_loss", _huber, lambda xp, d, beta: xp.clip(d, -beta, beta),
    lambda d, beta: d.clamp(-beta, beta), {"cpu": "float32"},
    each=Point("x y | beta", "0.5 * (x - y) * (x - y) if abs(x - y) <= beta else beta * (abs(x - y) - 0.5 * beta)",
               engine="0.5 * abs(x - y) * abs(x - y) if abs(x - y) <= beta else beta * (abs(x - y) - half)", cost="CHEAP", loss=True),
    each_slope=Point("x y | beta", "min(max(x - y, -beta), beta)", engine="clip(x - y, -beta, beta)", cost="CHEAP", loss=True),
)  # fmt: skip


def _matched(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Bring both to one shape and dtype; warn if they were broadcast."""
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
        input, target = promote((input, target))
    return input, target


def _weighted(loss: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """Losses times their weights; the mean is divided by the sum of weights."""
    _check_weight(loss, weight)
    if reduction == "mean":
        return (loss * weight).sum() / weight.sum()
    return reduced(loss * weight, reduction)


def _check_weight(loss: Tensor, weight: Tensor) -> None:
    if weight._a.shape != loss._a.shape:
        raise ValueError("Weights and input must have the same size.")


@public("functional")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """As `nn.MSELoss`, as a function; `weight` multiplies the squares."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = _matched(input, target)
    if weight is not None:
        loss = _mse(input, target, reduction="none", beta=0.0)
        return _weighted(loss, weight, reduction)
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
    """As `nn.L1Loss`, as a function; `weight` multiplies the differences."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    input, target = _matched(input, target)
    if input._a.dtype.kind == "c":
        loss = (input - target).abs()
        return reduced(loss, reduction) if weight is None else _weighted(loss, weight, reduction)
    if weight is not None:
        loss = _l1(input, target, reduction="none", beta=0.0)
        return _weighted(loss, weight, reduction)
    return may_change(_l1(input, target, reduction=reduction, beta=0.0), input, target)


@public("functional")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """As `nn.SmoothL1Loss`, as a function."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if not beta >= 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    input, target = _matched(input, target)
    return _smooth_l1(input, target, reduction=reduction, beta=float(beta))


@public("functional")
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """As `nn.HuberLoss`, as a function; `weight` multiplies the losses."""
    reduction = legacy_reduction(None, None, reduction)
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    kind = input.dtype
    input, target = _matched(input, target)
    if weight is not None:
        loss = _huber_op(input, target, reduction="none", beta=float(delta))
        _check_weight(loss, weight)
        return reduced(loss * weight, reduction)  # here PyTorch divides by the number of elements
    loss = _huber_op(input, target, reduction=reduction, beta=float(delta))
    return loss if target.dtype == kind else loss.to(kind)  # this loss alone has the input's dtype


# -- binary cross entropy -----------------------------------------------------------------------
#
# Both ops: (x, t, *, reduction) -> loss; name_grad(gy, x, t, *, reduction) -> gx.


def _scaled(gy: Array, x: Array, reduction: str) -> Any:
    return gy / x.size if reduction == "mean" and x.size else gy


def _tensor_scaled(gy: Tensor, x: Tensor, reduction: str) -> Tensor:
    return gy / max(x._a.size, 1) if reduction == "mean" else gy


@in_float32
def _bce_body(xp: ArrayModule, x: Array, t: Array, *, reduction: str) -> Any:
    # The logarithm is at least -100, so that the loss of a wrong 0 or 1 is finite.
    loss = (t - 1) * xp.maximum(xp.log1p(-x), -100) - t * xp.maximum(xp.log(x), -100)
    return reduce_body(xp, loss, reduction)


@in_float32
def _bce_grad_body(xp: ArrayModule, gy: Array, x: Array, t: Array, *, reduction: str) -> Any:
    return (x - t) / xp.maximum((1 - x) * x, 1e-12) * _scaled(gy, x, reduction)


@in_float32
def _bce_logits_body(xp: ArrayModule, x: Array, t: Array, *, reduction: str) -> Any:
    loss = xp.maximum(x, 0) - x * t + xp.log1p(xp.exp(-xp.abs(x)))
    return reduce_body(xp, loss, reduction)


@in_float32
def _bce_logits_grad_body(xp: ArrayModule, gy: Array, x: Array, t: Array, *, reduction: str) -> Any:
    return (1 / (1 + xp.exp(-x)) - t) * _scaled(gy, x, reduction)


def _grad_meta(gy: Any, x: Any, t: Any, **attrs: Any) -> tuple:
    return x.shape, x.dtype


_bce = Op(
    _bce_body,
    "binary_cross_entropy",
    meta=loss_meta,
    facts=Facts(
        vmap="loss",
        autocast={"cpu": "float32", "cuda": "refused"},
        each=Point("x y", "(y - 1) * max(log1p(-x), -100) - y * max(log(x), -100)"),
    ),
)
_bce_grad = Op(
    _bce_grad_body,
    "binary_cross_entropy_grad",
    meta=_grad_meta,
    facts=Facts(
        vmap="loss_grad", aten="binary_cross_entropy_backward", each=Point("x y", "(x - y) / max((1 - x) * x, 1e-12)")
    ),
)
by_reference(
    _bce_grad, lambda gy, x, t, reduction: ((x - t) / ((1 - x) * x).clamp(min=1e-12) * _tensor_scaled(gy, x, reduction))
)
_bce.derivative(
    x=lambda g, x, t, reduction: _bce_grad(g, x, t, reduction=reduction),
    t=lambda g, x, reduction: (((1 - x).log() - x.log()) * _tensor_scaled(g, x, reduction)),
)
_bce_logits = Op(
    _bce_logits_body,
    "binary_cross_entropy_with_logits",
    meta=loss_meta,
    facts=Facts(
        vmap="loss",
        autocast="float32",
        each=Point(
            "x y", "max(x, 0) - x * y + log1p(exp(-abs(x)))", engine="logits_loss(x, y)", cost="DEAR", loss=True
        ),
    ),
)
_bce_logits_grad = Op(
    _bce_logits_grad_body,
    "binary_cross_entropy_with_logits_grad",
    meta=_grad_meta,
    facts=Facts(vmap="loss_grad", each=Point("x y", "sigmoid(x) - y", cost="DEAR", loss=True)),
)
by_reference(_bce_logits_grad, lambda gy, x, t, reduction: (x.sigmoid() - t) * _tensor_scaled(gy, x, reduction))
_bce_logits.derivative(
    x=lambda g, x, t, reduction: _bce_logits_grad(g, x, t, reduction=reduction),
    t=lambda g, x, reduction: -x * _tensor_scaled(g, x, reduction),
)


_NO_PROBABILITIES = "all elements of input should be between 0 and 1; for logits use binary_cross_entropy_with_logits"


@public("functional")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """As `nn.BCELoss`, as a function."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if input._a.shape != target._a.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )
    check_values(between_zero_and_one, input, _NO_PROBABILITIES)
    if input._a.dtype != target._a.dtype:
        raise RuntimeError(f"Found dtype {title(target.dtype)} but expected {title(input.dtype)}")
    check_kind(input, "fV", "binary_cross_entropy")
    refuse_grad("binary_cross_entropy", weight=weight)
    if weight is None:
        return _bce(input, target, reduction=reduction)
    return reduced(_bce(input, target, reduction="none") * weight, reduction)


@public("functional")
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """As `nn.BCEWithLogitsLoss`, as a function."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if input._a.shape != target._a.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    d = target.dtype
    _check_logits(input, target, weight, pos_weight)
    if weight is None and pos_weight is None and input.dtype is d:
        return _bce_logits(input, target, reduction=reduction)
    input, target = promote((input, target))
    if pos_weight is None:
        loss = _bce_logits(input, target, reduction="none")
    else:
        loss = (1 - target) * input - ((pos_weight - 1) * target + 1) * logsigmoid(input)
    loss = loss if weight is None else loss * weight
    return reduced(cast_to(loss, d), reduction)  # PyTorch writes into 1 - target


def _check_logits(x: Tensor, target: Tensor, weight: Any, pos_weight: Any) -> None:
    check_kind(x, "fV", "log_sigmoid_cpu")
    if target._a.dtype.kind not in "fV":
        raise RuntimeError(
            f"result type {title(x.dtype)} can't be cast to the desired output type {title(target.dtype)}"
        )
    name = "binary_cross_entropy_with_logits"
    refuse_grad(name, weight=weight, pos_weight=pos_weight)


@public("torch", name="binary_cross_entropy_with_logits")
def _torch_bce_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: Any = 1
) -> Tensor:
    """As `nn.functional.binary_cross_entropy_with_logits`; `reduction` is 0 for none, 1 mean, 2 sum."""
    return binary_cross_entropy_with_logits(input, target, weight, reduction=reduction, pos_weight=pos_weight)


# -- Kullback-Leibler divergence ----------------------------------------------------------------


@public("functional")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """As `nn.KLDivLoss`, as a function."""
    batchmean = reduction == "batchmean"
    if size_average is not None or reduce is not None or not batchmean:
        reduction = legacy_reduction(size_average, reduce, reduction)
        batchmean = False
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            stacklevel=2,
        )
    if input._a.dtype.kind in "biu" or target._a.dtype.kind in "biu":
        raise RuntimeError("kl_div: Integral inputs not supported.")
    if log_target:
        loss = target.exp() * (target - input)
    else:
        loss = target.xlogy(target) - target * input
    if batchmean:
        return loss.sum() / input._a.shape[0] if input._a.ndim else loss.sum()
    return reduced(loss, reduction)


@public("torch", name="kl_div")
def _torch_kl_div(input: Tensor, target: Tensor, reduction: Any = 1, *, log_target: bool = False) -> Tensor:
    """As `nn.functional.kl_div`; `reduction` is 0 for none, 1 for mean, 2 for sum."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kl_div(input, target, reduction=reduction, log_target=log_target)
