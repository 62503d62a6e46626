"""Norms as one kernel with what is around them: relus, casts, residuals, their gradients."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import from_np
from ...operators.layers.batch_norm import batch_norm_grad
from ...operators.made_of.precision import widen
from ...operators.pointwise.activation import relu_grad
from ...operators.pointwise.activation_smooth import silu_op
from .proof import Part, join

if TYPE_CHECKING:
    import numpy as np

    from ...base.dtypes import dtype


def _train(part: Part, x: Array, weight: Array | None, bias: Array | None, *other: Array, **how: Any) -> tuple:
    y, *statistics = part("batch_norm_train", x, weight, bias, **how)
    return (part("relu", part("add", y, *other) if other else y), *statistics)


def _eval(part: Part, *arrays: Array | None, **how: Any) -> Any:
    y, other = part("batch_norm_eval", *arrays[:5], **how), arrays[5:]
    return part("relu", part("add", y, *other) if other else y)


def _positive(part: Part, arrays: list, attrs: dict) -> list:
    """A variance is not negative."""
    return [*arrays[:4], part("abs", arrays[4]), *arrays[5:]]


def _relu_grad(
    xp: ArrayModule,
    g: Array,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    mean: Array,
    invstd: Array,
    *,
    eps: float,
) -> tuple:
    """The sign of relu's output is found again from the normalised numbers."""
    shape = (1, -1) + (1,) * (x.ndim - 2)
    scale = invstd if weight is None else invstd * weight
    y = (x - mean.reshape(shape)) * scale.reshape(shape)
    y = y if bias is None else y + bias.reshape(shape)
    masked = relu_grad.kernel.generic(xp, g, y.astype(x.dtype)).astype(g.dtype, copy=False)
    return batch_norm_grad.kernel.generic(xp, masked, x, weight, mean, invstd, eps=eps)


def _relu_grad_by(
    part: Part, g: Array, x: Array, weight: Array | None, bias: Array | None, mean: Array, invstd: Array, **how: Any
) -> Any:
    y = part("batch_norm_train", x, weight, bias, **how)[0]
    return part("batch_norm_grad", part("relu_grad", g, part("relu", y)), x, weight, mean, invstd, **how)


def _of_x(part: Part, arrays: list, attrs: dict) -> list:
    """Statistics are made anew, to fit the numbers of x."""
    affine = arrays[1:4] if len(arrays) == 6 else [*arrays[3:5], None]
    return [*arrays[:-2], *part("batch_norm_train", *affine, **attrs)[1:]]


def _add_relu_grad(
    part: Part,
    g: Array,
    more: Array | None,
    y: Array,
    x: Array,
    weight: Array | None,
    mean: Array,
    invstd: Array,
    **how: Any,
) -> tuple:
    masked = part("relu_grad", g if more is None else part("add", g, more), y)
    return (masked, *part("batch_norm_grad", masked, x, weight, mean, invstd, **how))


BATCH_NORM_RELU = join("batch_norm_relu", _train)
BATCH_NORM_ADD_RELU = join("batch_norm_add_relu", _train)
BATCH_NORM_EVAL_RELU = join("batch_norm_eval_relu", _eval, _positive)
BATCH_NORM_EVAL_ADD_RELU = join("batch_norm_eval_add_relu", _eval, _positive)
BATCH_NORM_RELU_GRAD = join("batch_norm_relu_grad", _relu_grad_by, _of_x, _relu_grad)
# Gradients of the other summand, x, weight and bias, from one or two gradients of the output y.
BATCH_NORM_ADD_RELU_GRAD = join("batch_norm_add_relu_grad", _add_relu_grad, _of_x)


def _affine(part: Part, x: Array, weight: Array, bias: Array, eps: float, shape: tuple) -> tuple:
    """x normalised, which has a row for every group, its statistics, and what SiLU is taken of, as images."""
    hat, *statistics = part("layer_norm", x, None, None, dims=1, eps=eps)
    images = hat.reshape(shape)
    return images, statistics, part("add", part("mul", images, weight), bias)


def _forward(part: Part, x: Array, weight: Array, bias: Array, **how: Any) -> tuple:
    _, statistics, y = _affine(part, x, weight, bias, **how)
    return (part("silu", y), *statistics)


def _backward_by(
    part: Part, g: Array, x: Array, weight: Array, bias: Array, mean: Array, rstd: Array, **how: Any
) -> tuple:
    images, _, y = _affine(part, x, weight, bias, **how)
    slope = part("silu_grad", g, y)
    gb = part("sum_to_size", slope, shape=bias.shape)
    gw = part("sum_to_size", part("mul", slope, images), shape=weight.shape)
    e = part("mul", slope, weight).reshape(x.shape)
    return part("layer_norm_grad", e, x, None, mean, rstd, dims=1, eps=how["eps"])[0], gw, gb


def _fit(part: Part, arrays: list, attrs: dict) -> list:
    """Statistics are made anew, to fit the numbers of x."""
    return [*arrays[:4], *_affine(part, *arrays[1:4], **attrs)[1]]


def _backward(
    xp: ArrayModule, g: Array, x: Array, weight: Array, bias: Array, mean: Array, rstd: Array, *, eps: float, shape: tuple
) -> tuple:  # fmt: skip
    """Gradients of x, and of weight and bias in their shapes."""
    wide = [widen(xp, a) for a in (x, g, weight, bias)]
    hat = (wide[0] - mean) * rstd
    images = hat.reshape(shape)
    slope = silu_op.slope.kernel.generic(xp, wide[1], images * wide[2] + wide[3])
    axes = tuple([i for i, n in enumerate(weight.shape) if n == 1 and shape[i] != 1])
    gb = slope.sum(axis=axes, keepdims=True)
    gw = (slope * images).sum(axis=axes, keepdims=True)
    e = (slope * wide[2]).reshape(x.shape)
    q = (e * hat).mean(axis=-1, keepdims=True)
    gx = (e - e.mean(axis=-1, keepdims=True) - hat * q) * rstd
    return tuple([a.astype(x.dtype, copy=False) for a in (gx, gw, gb)])


GROUP_NORM_SILU = join("group_norm_silu", _forward)
GROUP_NORM_SILU_GRAD = join("group_norm_silu_grad", _backward_by, _fit, _backward)


def _cast(part: Part, x: Array | None, to: dtype | np.dtype) -> Any:
    """x in a dtype (as NumPy or as users name it), itself where it has that already."""
    to = getattr(to, "np", to)
    if x is None or x.dtype == to:
        return x
    return part("cast", x, to=from_np(to), source=from_np(x.dtype))


def _normed(
    norm: str, part: Part, x: Array, other: Array | None, *affine: Array | None, to: dtype | None = None, **attrs: Any
) -> tuple:
    """The norm of x + other, its statistics, and the sum where there is one."""
    total = x if other is None else part("add", x, _cast(part, other, x.dtype))
    y, *statistics = part(norm, total, *affine, **attrs)
    made = (_cast(part, y, to or x.dtype), *statistics)
    return made if other is None else (*made, total)


def _norm_grads(norm: str, part: Part, *arrays: Any, also: bool = False, **attrs: Any) -> tuple:
    """Gradients of x, with another one added, and of weight and bias; `also`, behind them, that of x in g's dtype."""
    g, x, *rest, more = arrays
    gx, *grads = part(f"{norm}_grad", _cast(part, g, x.dtype), x, *rest, **attrs)
    gx = gx if more is None else part("add", gx, more)
    return (gx, *grads, _cast(part, gx, g.dtype)) if also else (gx, *grads)


def _summed(norm: str, part: Part, *arrays: Any, **attrs: Any) -> tuple:
    """The same with `also`, and behind that its sums over all dims but the last."""
    made = _norm_grads(norm, part, *arrays, also=True, **attrs)
    return (*made, part("sum", made[-1], dim=tuple(range(made[-1].ndim - 1)), keepdim=False))


def _fit_norm(norm: str, part: Part, arrays: list, attrs: dict) -> list:
    """Statistics are made anew, to fit the numbers of x."""
    g, x, weight = arrays[:3]
    affine = (weight, None) if norm == "layer_norm" else (weight,)
    how = {k: v for k, v in attrs.items() if k != "also"}
    return [g, x, weight, *part(norm, x, *affine, **how)[1:], arrays[-1]]


def _norms(name: str) -> dict[str, Any]:
    return {n: join(name.format(n), partial(_normed, n)) for n in ("layer_norm", "rms_norm")}


def _grads(name: str, by: Any = _norm_grads) -> dict[str, Any]:
    kinds = ("layer_norm", "rms_norm")
    return {n: join(name.format(n), partial(by, n), partial(_fit_norm, n)) for n in kinds}


# (x, other, weight, bias) -> result, statistics, x + other; the root-mean-square norm has neither bias nor mean.
ADD_NORMS = _norms("add_{}")
# The same with `to`, the dtype of the result; other, if any, may have another dtype.
MIXED_NORMS = _norms("{}_mixed")
# (g, x, weight, statistics, another gradient of x) -> gradients of x and of the weight and bias.
NORM_GRADS_ADD = {f"{norm}_grad": made for norm, made in _grads("{}_grad_add").items()}
MIXED_GRADS = _grads("{}_grad_mixed")  # of a g that may have another dtype
SUMMED_GRADS = _grads("{}_grad_summed", _summed)  # in halves, too, with the sums of these
