"""Layer normalisation: the trailing dims brought to mean 0 and variance 1, or to a mean square of 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import finfo, float32
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.guards import check_kind, norm_dtypes, only_for
from ..made_of.precision import rounds, widen
from ..made_of.reference import by_reference

# Contract of the kernels, which engines override by name (weight, bias may be None):
#   layer_norm(x, weight, bias, *, dims, eps) -> out, mean, rstd (the last `dims` dims are 1)
#   layer_norm_grad(gy, x, weight, mean, rstd, *, dims, eps) -> gx, gw, gb (of the last `dims` dims)
#   rms_norm(x, weight, *, dims, eps) -> out, rstd
#   rms_norm_grad(gy, x, weight, rstd, *, dims, eps) -> gx, gw
# Statistics are float32 when x is half precision. The derivative's eps is already inside rstd; it is an
# attribute so that the derivative can be differentiated again.


def statistics_dtype(x: Any) -> Any:
    return np.dtype(np.float32) if x.dtype.itemsize == 2 else x.dtype


@only_for("fV", "LayerNormKernelImpl")
@rounds("0--")
def _layer_norm_body(
    xp: ArrayModule, x: Array, weight: Array | None, bias: Array | None, *, dims: int, eps: float
) -> tuple:
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


@rounds("122")
def _layer_norm_grad_body(
    xp: ArrayModule, gy: Array, x: Array, weight: Array | None, mean: Array, rstd: Array, *, dims: int, eps: float
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
    return (hat.astype(x.dtype, copy=False), gw.astype(kind, copy=False), gb.astype(kind, copy=False))


def _layer_norm_meta(x: Any, weight: Any, bias: Any, *, dims: int, eps: float) -> list:
    stat = (x.shape[: x.ndim - dims] + (1,) * dims, statistics_dtype(x))
    return [(x.shape, x.dtype), stat, stat]


def _layer_norm_grad_meta(gy: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, dims: int, eps: float) -> list:
    one = (x.shape[x.ndim - dims :], x.dtype if weight is None else weight.dtype)
    return [(x.shape, x.dtype), one, one]


layer_norm_op = Op(
    _layer_norm_body,
    "layer_norm",
    meta=_layer_norm_meta,
    grad_name="NativeLayerNormBackward0",
    facts=Facts(
        vmap="norm_of_rows",
        layout="plain",
        autocast={"cuda": "float32"},
        aten="native_layer_norm layer_norm",
        onnx="layer_norm",
    ),
)
layer_norm_grad = Op(
    _layer_norm_grad_body, "layer_norm_grad", meta=_layer_norm_grad_meta, facts=Facts(aten="native_layer_norm_backward")
)


@layer_norm_op.backward
def _layer_norm_backward(
    g: Tensor, x: Tensor, weight: Any, out1: Tensor, out2: Tensor, needs: list, dims: int, eps: float
) -> tuple:
    if g is None:
        return None, None, None
    gx, gw, gb = layer_norm_grad(g, x, weight, out1, out2, dims=dims, eps=eps)
    return gx, gw if needs[1] else None, gb if needs[2] else None


def standardised(x: Tensor, dims: tuple[int, ...], eps: float) -> tuple[Tensor, Tensor]:
    """The normalised x and 1 / standard deviation, in tensor ops of x."""
    centred = x - x.mean(dims, keepdim=True)
    scale = ((centred * centred).mean(dims, keepdim=True) + eps) ** -0.5
    return centred * scale, scale


def _layer_norm_grad_formula(
    gy: Tensor, x: Tensor, weight: Any, mean: Tensor, rstd: Tensor, dims: int, eps: float
) -> tuple:
    axes = tuple(range(x.ndim - dims, x.ndim))
    lead = tuple(range(x.ndim - dims))
    hat, scale = standardised(x, axes, eps)
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
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """As `nn.LayerNorm`, with weight and bias of `normalized_shape`, or without."""
    normalized = tuple([int(s) for s in normalized_shape])
    _check_normalized(input, normalized, weight, bias)
    norm_dtypes(input, weight, bias)
    return layer_norm_op(input, weight, bias, dims=len(normalized), eps=float(eps))[0]


@public("torch", name="layer_norm")
def _torch_layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """As `nn.functional.layer_norm`.

    Args:
        cudnn_enable: accepted, and not used.
    """
    return layer_norm(input, normalized_shape, weight, bias, eps)


@public("torch")
def native_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """As `layer_norm`, with the mean and 1 / standard deviation of every row."""
    normalized = tuple([int(s) for s in normalized_shape])
    _check_normalized(input, normalized, weight, bias)
    norm_dtypes(input, weight, bias)
    made: Any = layer_norm_op(input, weight, bias, dims=len(normalized), eps=float(eps))
    shape = (*input._a.shape[: -len(normalized)], *(1,) * len(normalized))
    kind = (input if weight is None else weight).dtype
    return (made[0], made[1].detach().reshape(shape).to(kind), made[2].detach().reshape(shape).to(kind))


# -- root mean square norm ----------------------------------------------------------------------


@only_for("fVc", "rms_norm")
@rounds("0-")
def _rms_norm_body(xp: ArrayModule, x: Array, weight: Array | None, *, dims: int, eps: float) -> tuple:
    wide = widen(xp, x)
    axes = tuple(range(x.ndim - dims, x.ndim))
    rstd = 1 / xp.sqrt((wide * wide).mean(axis=axes, keepdims=True) + eps)
    rstd = rstd.astype(wide.dtype, copy=False)
    out = wide * rstd
    if weight is not None:
        out *= widen(xp, weight)
    return out.astype(x.dtype, copy=False), rstd


@rounds("12")
def _rms_norm_grad_body(
    xp: ArrayModule, gy: Array, x: Array, weight: Array | None, rstd: Array, *, dims: int, eps: float
) -> tuple:
    axes = tuple(range(x.ndim - dims, x.ndim))
    if x.dtype.kind == "c":
        x, rstd, weight = x.conj(), rstd.conj(), None if weight is None else weight.conj()
    g = widen(xp, gy)
    hat = widen(xp, x) * rstd
    gw = (g * hat).sum(axis=tuple(range(x.ndim - dims)))
    if weight is not None:
        g = g * widen(xp, weight)
    hat *= -(g * hat).mean(axis=axes, keepdims=True)
    hat += g
    hat *= rstd
    kind = x.dtype if weight is None else weight.dtype
    return hat.astype(x.dtype, copy=False), gw.astype(kind, copy=False)


def _rms_norm_meta(x: Any, weight: Any, *, dims: int, eps: float) -> list:
    return [(x.shape, x.dtype), (x.shape[: x.ndim - dims] + (1,) * dims, statistics_dtype(x))]


def _rms_norm_grad_meta(gy: Any, x: Any, weight: Any, rstd: Any, *, dims: int, eps: float) -> list:
    kind = x.dtype if weight is None else weight.dtype
    return [(x.shape, x.dtype), (x.shape[x.ndim - dims :], kind)]


rms_norm_op = Op(
    _rms_norm_body, "rms_norm", meta=_rms_norm_meta, facts=Facts(vmap="norm_of_rows", layout="image", onnx="rms_norm")
)
rms_norm_grad = Op(_rms_norm_grad_body, "rms_norm_grad", meta=_rms_norm_grad_meta)


@rms_norm_op.backward
def _rms_norm_backward(g: Tensor, x: Tensor, weight: Any, out1: Tensor, needs: list, dims: int, eps: float) -> tuple:
    if g is None:
        return None, None
    gx, gw = rms_norm_grad(g, x, weight, out1, dims=dims, eps=eps)
    return gx, gw if needs[1] else None


def _rms_norm_grad_formula(gy: Tensor, x: Tensor, weight: Any, rstd: Tensor, dims: int, eps: float) -> tuple:
    axes = tuple(range(x.ndim - dims, x.ndim))
    lead = tuple(range(x.ndim - dims))
    if x.is_complex():
        x, weight = x.conj(), None if weight is None else weight.conj()
    scale = ((x * x).mean(axes, keepdim=True) + eps) ** -0.5
    hat = x * scale
    gw = (gy * hat).sum(lead) if lead else gy * hat
    g = gy if weight is None else gy * weight
    return (g - hat * (g * hat).mean(axes, keepdim=True)) * scale, gw


by_reference(rms_norm_grad, _rms_norm_grad_formula)


@public("torch", "functional")
def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """As `nn.RMSNorm`, with a weight of `normalized_shape`, or without."""
    normalized = tuple([int(s) for s in normalized_shape])
    _check_normalized(input, normalized, weight, None)
    if eps is None:
        check_kind(input, "fVc", "rms_norm")
        eps = finfo(
            input.dtype if input._a.dtype.itemsize > 2 else float32
        ).eps  # half precision is computed in float32
    return rms_norm_op(input, weight, dims=len(normalized), eps=float(eps))[0]
