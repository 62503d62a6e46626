"""Normalisation over batches, layers, groups and instances."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..core.inplace import change
from ..core.modes import no_grad
from ..core.op import Op
from ..core.public import public
from ..core.tensor import Tensor
from .precision import widen
from .reference import by_reference

# -- batch norm ---------------------------------------------------------------------------------
#
# Contract of the kernels, which engines override by name (w, b may be None; C is dim 1 of x):
#   batch_norm_train(x, weight, bias, *, eps) -> out, mean [C], invstd [C]
#   batch_norm_grad(gy, x, weight, mean, invstd, *, eps) -> gx, gw [C], gb [C]
#   layer_norm(x, weight, bias, *, dims, eps) -> out, mean, rstd (the last `dims` dims are 1)
#   layer_norm_grad(gy, x, weight, mean, rstd, *, dims, eps) -> gx, gw, gb (of the last `dims` dims)
# Statistics are float32 when x is half precision. The derivatives' eps is already inside invstd; it is
# an attribute so that they can be differentiated again.


def _channels(a: Any, ndim: int) -> Any:
    return a.reshape((1, -1) + (1,) * (ndim - 2))


def _others(ndim: int) -> tuple[int, ...]:
    return (0, *range(2, ndim))


def _stat_dtype(x: Any) -> Any:
    return np.dtype(np.float32) if x.dtype.itemsize == 2 else x.dtype


def _batch_norm_train_body(xp: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> tuple:
    wide = widen(xp, x)
    axes = _others(x.ndim)
    mean = wide.mean(axis=axes)
    out = wide - _channels(mean, x.ndim)
    var = (out * out).mean(axis=axes)
    invstd = 1 / xp.sqrt(var + eps)
    scale = invstd if weight is None else invstd * widen(xp, weight)
    out *= _channels(scale, x.ndim)
    if bias is not None:
        out += _channels(widen(xp, bias), x.ndim)
    return out.astype(x.dtype, copy=False), mean, invstd.astype(mean.dtype, copy=False)


def _batch_norm_grad_body(
    xp: Any, gy: Any, x: Any, weight: Any, mean: Any, invstd: Any, *, eps: float
) -> tuple:
    n = x.size // x.shape[1]
    axes = _others(x.ndim)
    g = widen(xp, gy)
    hat = widen(xp, x) - _channels(mean, x.ndim)
    hat *= _channels(invstd, x.ndim)
    gb = g.sum(axis=axes)
    gw = (g * hat).sum(axis=axes)
    hat *= _channels(gw / -n, x.ndim)
    hat += g
    hat -= _channels(gb / n, x.ndim)
    scale = invstd if weight is None else invstd * widen(xp, weight)
    hat *= _channels(scale, x.ndim)
    kind = x.dtype if weight is None else weight.dtype
    return (
        hat.astype(x.dtype, copy=False),
        gw.astype(kind, copy=False),
        gb.astype(kind, copy=False),
    )


def _batch_norm_meta(x: Any, weight: Any, bias: Any, *, eps: float) -> list:
    stat = ((x.shape[1],), _stat_dtype(x))
    return [(x.shape, x.dtype), stat, stat]


def _batch_norm_grad_meta(
    gy: Any, x: Any, weight: Any, mean: Any, invstd: Any, *, eps: float
) -> list:
    one = ((x.shape[1],), x.dtype if weight is None else weight.dtype)
    return [(x.shape, x.dtype), one, one]


batch_norm_train = Op(
    _batch_norm_train_body, "batch_norm_train", meta=_batch_norm_meta,
    grad_name="NativeBatchNormBackward0",
)  # fmt: skip
batch_norm_grad = Op(_batch_norm_grad_body, "batch_norm_grad", meta=_batch_norm_grad_meta)


@batch_norm_train.backward
def _batch_norm_backward(
    g: Tensor, x: Tensor, weight: Any, out1: Tensor, out2: Tensor, needs: list, eps: float
) -> tuple:
    if g is None:
        return None, None, None
    gx, gw, gb = batch_norm_grad(g, x, weight, out1, out2, eps=eps)
    return gx, gw if needs[1] else None, gb if needs[2] else None


def _standardised(x: Tensor, dims: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor]:
    """x hat and 1 / standard deviation, as functions of x alone."""
    centred = x - x.mean(dims, keepdim=True)
    scale = ((centred * centred).mean(dims, keepdim=True) + eps) ** -0.5
    return centred * scale, scale


def _batch_norm_grad_formula(
    gy: Tensor, x: Tensor, weight: Any, mean: Tensor, invstd: Tensor, eps: float
) -> tuple:
    dims = _others(x.ndim)
    hat, scale = _standardised(x, dims, eps)
    inner = gy - gy.mean(dims, keepdim=True) - hat * (gy * hat).mean(dims, keepdim=True)
    if weight is not None:
        scale = scale * weight.reshape((1, -1) + (1,) * (x.ndim - 2))
    return inner * scale, (gy * hat).sum(dims), gy.sum(dims)


by_reference(batch_norm_grad, _batch_norm_grad_formula)


def _running_mean_body(xp: Any, running: Any, mean: Any, *, momentum: float) -> Any:
    return (running * (1 - momentum) + mean * momentum).astype(running.dtype)


def _running_var_body(
    xp: Any, running: Any, invstd: Any, *, momentum: float, eps: float, n: int
) -> Any:
    unbiased = (invstd**-2.0 - eps) * (n / max(n - 1, 1))
    return (running * (1 - momentum) + unbiased * momentum).astype(running.dtype)


_running_mean = Op(
    _running_mean_body, "running_mean_update", meta=lambda r, m, **_: (r.shape, r.dtype)
)
_running_var = Op(
    _running_var_body, "running_var_update", meta=lambda r, m, **_: (r.shape, r.dtype)
)


def _batch_norm_eval_body(
    xp: Any, x: Any, weight: Any, bias: Any, mean: Any, var: Any, *, eps: float
) -> Any:
    wide = widen(xp, x)
    scale = 1 / xp.sqrt(widen(xp, var) + eps)
    if weight is not None:
        scale = scale * widen(xp, weight)
    shift = -widen(xp, mean) * scale
    if bias is not None:
        shift = shift + widen(xp, bias)
    out = wide * _channels(scale.astype(wide.dtype, copy=False), x.ndim)
    out += _channels(shift, x.ndim)
    return out.astype(x.dtype, copy=False)


batch_norm_eval = Op(
    _batch_norm_eval_body, "batch_norm_eval", meta=lambda x, *_, **__: (x.shape, x.dtype)
)


def _batch_norm_eval_formula(
    x: Tensor, weight: Any, bias: Any, mean: Tensor, var: Tensor, eps: float
) -> Tensor:
    shape = (1, -1) + (1,) * (x.ndim - 2)
    scale = (var + eps) ** -0.5
    if weight is not None:
        scale = scale * weight
    out = (x - mean.reshape(shape)) * scale.reshape(shape)
    out = out if bias is None else out + bias.reshape(shape)
    return out.to(x.dtype)


by_reference(batch_norm_eval, _batch_norm_eval_formula)


def _check_per_channel(x: Tensor, named: dict[str, Any]) -> None:
    channels = x._a.shape[1]
    for name, t in named.items():
        if t is not None and t._a.size != channels:
            raise RuntimeError(
                f"{name} should contain {channels} elements not {t._a.size}"
            )


@public("functional")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel (dim 1) normalised over all other dims, by batch or by running statistics."""
    shape = input._a.shape
    if len(shape) < 2:
        raise ValueError(f"expected at least 2D input (got {len(shape)}D input)")
    _check_per_channel(
        input,
        {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias},
    )
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "running_mean and running_var must be defined in evaluation mode"
            )
        return batch_norm_eval(input, weight, bias, running_mean, running_var, eps=float(eps))
    n = input._a.size // shape[1] if shape[1] else 0
    if n <= 1 and prod(shape[2:], start=shape[0]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.shape}"
        )
    out, mean, invstd = batch_norm_train(input, weight, bias, eps=float(eps))
    if running_mean is not None or running_var is not None:
        with no_grad():
            if running_mean is not None:
                change(running_mean, _running_mean, mean, momentum=float(momentum))
            if running_var is not None:
                change(running_var, _running_var, invstd, momentum=float(momentum),
                       eps=float(eps), n=n)  # fmt: skip
    return out


# -- layer norm ---------------------------------------------------------------------------------


def _layer_norm_body(xp: Any, x: Any, weight: Any, bias: Any, *, dims: int, eps: float) -> tuple:
    wide = widen(xp, x)
    axes = tuple(range(x.ndim - dims, x.ndim))
    mean = wide.mean(axis=axes, keepdims=True)
    out = wide - mean
    rstd = 1 / xp.sqrt((out * out).mean(axis=axes, keepdims=True) + eps)
    rstd = rstd.astype(wide.dtype, copy=False)
    out *= rstd
    if weight is not None:
        out *= widen(xp, weight)
    if bias is not None:
        out += widen(xp, bias)
    return out.astype(x.dtype, copy=False), mean, rstd


def _layer_norm_grad_body(
    xp: Any, gy: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, dims: int, eps: float
) -> tuple:
    axes = tuple(range(x.ndim - dims, x.ndim))
    lead = tuple(range(x.ndim - dims))
    g = widen(xp, gy)
    hat = widen(xp, x) - mean
    hat *= rstd
    gb = g.sum(axis=lead)
    gw = (g * hat).sum(axis=lead)
    if weight is not None:
        g = g * widen(xp, weight)
    slope = (g * hat).mean(axis=axes, keepdims=True)
    hat *= -slope
    hat += g
    hat -= g.mean(axis=axes, keepdims=True)
    hat *= rstd
    kind = x.dtype if weight is None else weight.dtype
    return (
        hat.astype(x.dtype, copy=False),
        gw.astype(kind, copy=False),
        gb.astype(kind, copy=False),
    )


def _layer_norm_meta(x: Any, weight: Any, bias: Any, *, dims: int, eps: float) -> list:
    stat = (x.shape[: x.ndim - dims] + (1,) * dims, _stat_dtype(x))
    return [(x.shape, x.dtype), stat, stat]


def _layer_norm_grad_meta(
    gy: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, dims: int, eps: float
) -> list:
    one = (x.shape[x.ndim - dims :], x.dtype if weight is None else weight.dtype)
    return [(x.shape, x.dtype), one, one]


layer_norm_op = Op(
    _layer_norm_body, "layer_norm", meta=_layer_norm_meta, grad_name="NativeLayerNormBackward0"
)
layer_norm_grad = Op(_layer_norm_grad_body, "layer_norm_grad", meta=_layer_norm_grad_meta)


@layer_norm_op.backward
def _layer_norm_backward(
    g: Tensor, x: Tensor, weight: Any, out1: Tensor, out2: Tensor, needs: list, dims: int,
    eps: float,
) -> tuple:  # fmt: skip
    if g is None:
        return None, None, None
    gx, gw, gb = layer_norm_grad(g, x, weight, out1, out2, dims=dims, eps=eps)
    return gx, gw if needs[1] else None, gb if needs[2] else None


def _layer_norm_grad_formula(
    gy: Tensor, x: Tensor, weight: Any, mean: Tensor, rstd: Tensor, dims: int, eps: float
) -> tuple:
    axes = tuple(range(x.ndim - dims, x.ndim))
    lead = tuple(range(x.ndim - dims))
    hat, scale = _standardised(x, axes, eps)
    gb = gy.sum(lead) if lead else gy
    gw = (gy * hat).sum(lead) if lead else gy * hat
    g = gy if weight is None else gy * weight
    inner = g - g.mean(axes, keepdim=True) - hat * (g * hat).mean(axes, keepdim=True)
    return inner * scale, gw, gb


by_reference(layer_norm_grad, _layer_norm_grad_formula)


def _check_normalized(x: Tensor, normalized: tuple, weight: Any, bias: Any) -> None:
    if not normalized:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t._a.shape != normalized:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(t._a.shape)} and normalized_shape = {list(normalized)}"
            )
    shape = x._a.shape
    if len(shape) < len(normalized) or shape[len(shape) - len(normalized) :] != normalized:
        want = ", ".join(["*", *map(str, normalized)])
        raise RuntimeError(
            f"Given normalized_shape={list(normalized)}, expected input with shape [{want}], but "
            f"got input of size{list(shape)}"
        )


@public("functional")
def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """The last dims, as many as `normalized_shape` has, brought to mean 0 and variance 1."""
    normalized = tuple([int(s) for s in normalized_shape])
    _check_normalized(input, normalized, weight, bias)
    return layer_norm_op(input, weight, bias, dims=len(normalized), eps=float(eps))[0]
