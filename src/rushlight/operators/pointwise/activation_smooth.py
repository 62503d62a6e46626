"""Smooth activation functions: exponential, sigmoid-like and gated ones."""

from __future__ import annotations

import math
from typing import Any

from ...base.arrays import Array, ArrayModule, Shaped
from ...base.fits import computable
from ...base.formats import contiguous_format
from ...base.shapes import wrap_dim
from ...core.op import Op
from ...core.public import into_same, publish
from ...core.tensor import Tensor
from ...runtime.door import KERNELS
from ...runtime.facts import Facts
from ...runtime.point import Point
from ..made_of.guards import check_kind
from ..made_of.precision import in_float32
from ..made_of.reference import by_reference
from ..shape.join import cat
from .activation_make import activation, inplace_of, run

# -- elu, selu, celu ----------------------------------------------------------------------------


def _elu_body(xp: ArrayModule, x: Array, *, alpha: float, scale: float, inner: float) -> Any:
    low = xp.expm1(xp.minimum(x, 0) * inner)
    return xp.where(x > 0, x * scale, low * (alpha * scale))


def _elu_grad_body(xp: ArrayModule, gy: Array, x: Array, *, alpha: float, scale: float, inner: float) -> Any:
    low = xp.exp(xp.minimum(x, 0) * inner) * (inner * alpha * scale)
    return gy * xp.where(x > 0, x.dtype.type(scale), low)


def _elu_formula(gy: Tensor, x: Tensor, alpha: float, scale: float, inner: float) -> Tensor:
    low = (x.clamp(max=0) * inner).exp() * (inner * alpha * scale)
    return gy * low.masked_fill(x > 0, scale)


_elu = activation(
    "elu",
    _elu_body,
    _elu_grad_body,
    _elu_formula,
    point=Point(
        "x | alpha scale inner",
        "x * scale if x > 0 else expm1(x * inner) * (alpha * scale)",
        engine="x * scale if x > 0 else expm1_low(min(x, 0) * inner) * (alpha * scale)",
        cost="DEAR",
    ),
    slope=Point(
        "gy x | alpha scale inner",
        "gy * (scale if x > 0 else exp(x * inner) * (inner * alpha * scale))",
        engine="gy * (scale if x > 0 else exp(min(x, 0) * inner) * (inner * alpha * scale))",
        cost="DEAR",
    ),
    facts=Facts(onnx="elu"),
    grad_facts=Facts(aten="elu_backward"),
)

# Chosen so that mean 0 and variance 1 stay as they are (Klambauer et al. 2017).
_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def _run_elu(x: Tensor, alpha: float, scale: float, inner: float, inplace: bool) -> Tensor:
    attrs = {"alpha": float(computable(alpha, x._a.dtype)), "scale": scale, "inner": inner}
    return run(_elu, x, inplace, **attrs)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """As `nn.ELU`, as a function."""
    return _run_elu(input, alpha, 1.0, 1.0, inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """As `nn.SELU`, as a function."""
    return _run_elu(input, _SELU_ALPHA, _SELU_SCALE, 1.0, inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """As `nn.CELU`, as a function."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _run_elu(input, alpha, 1.0, 1.0 / alpha, inplace)


# -- gelu ---------------------------------------------------------------------------------------

_SQRT_HALF = math.sqrt(0.5)
_PDF_SCALE = 1.0 / math.sqrt(2.0 * math.pi)
_TANH_SCALE = math.sqrt(2.0 / math.pi)
_TANH_CUBE = 0.044715


def _normal_cdf(xp: ArrayModule, x: Array) -> Any:
    return 0.5 * (1 + KERNELS["erf"].generic(xp, x * _SQRT_HALF))


def _tanh_inner(x: Array | Tensor) -> Any:
    return _TANH_SCALE * (x + _TANH_CUBE * x * x * x)


def _gelu_body(xp: ArrayModule, x: Array, *, approximate: str) -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1 + xp.tanh(_tanh_inner(x)))
    return x * _normal_cdf(xp, x)


def _gelu_grad_body(xp: ArrayModule, gy: Array, x: Array, *, approximate: str) -> Any:
    if approximate == "tanh":
        t = xp.tanh(_tanh_inner(x))
        slope = _TANH_SCALE * (1 + 3 * _TANH_CUBE * x * x)
        return gy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)
    return gy * (_normal_cdf(xp, x) + x * _PDF_SCALE * xp.exp(-0.5 * x * x))


def _gelu_formula(gy: Tensor, x: Tensor, approximate: str) -> Tensor:
    if approximate == "tanh":
        t = _tanh_inner(x).tanh()
        slope = _TANH_SCALE * (1 + 3 * _TANH_CUBE * x * x)
        return gy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)
    cdf = 0.5 * (1 + (x * _SQRT_HALF).erf())
    return gy * (cdf + x * _PDF_SCALE * (-0.5 * x * x).exp())


gelu_op = activation(
    "gelu",
    _gelu_body,
    _gelu_grad_body,
    _gelu_formula,
    point=Point(
        "x | approximate",
        {
            "none": "x * (near_cdf(x) if NARROW else cdf(x))",
            "tanh": "x * near_tanh_cdf(x) if NARROW else 0.5 * x * (1 + tanh(gelu_inner(x)))",
        },
        cost="2 * DEAR",
        by_hand=True,
    ),
    slope=Point(
        "gy x | approximate",
        {
            "none": "gy * (near_gelu_slope(x) if NARROW else cdf(x) + x * 0.39894228040143267794 * exp(-0.5 * x * x))",
            "tanh": "gy * (near_tanh_slope(x) if NARROW else 0.5 * (1 + tanh(gelu_inner(x))) + 0.5 * x * (1 - tanh(gelu_inner(x)) * tanh(gelu_inner(x))) * gelu_inner_slope(x))",
        },
        engine={"none": "gy * gelu_slope(x)", "tanh": "gy * gelu_tanh_slope(x)"},
        cost="3 * DEAR",
        by_hand=True,
    ),
    label="GeluKernelImpl",
    facts=Facts(onnx="gelu", aten="gelu approximated"),
    grad_facts=Facts(aten="gelu_backward"),
)


def gelu(input: Tensor, *, approximate: str = "none", out: Any = None) -> Tensor:
    """As `nn.GELU`, as a function."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    made = gelu_op(input, approximate=approximate)
    return made if out is None else into_same(out, made, input)


# -- silu, mish, softplus, softsign, tanhshrink, logsigmoid -------------------------------------


def _sigmoid(xp: ArrayModule, x: Array) -> Any:
    return 1 / (1 + xp.exp(-x))


def _softplus(xp: ArrayModule, x: Array) -> Any:
    return xp.maximum(x, 0) + xp.log1p(xp.exp(-xp.abs(x)))


def _silu_grad_body(xp: ArrayModule, gy: Array, x: Array) -> Any:
    s = _sigmoid(xp, x)
    return gy * (s * (1 + x * (1 - s)))


def _silu_formula(gy: Tensor, x: Tensor) -> Tensor:
    s = x.sigmoid()
    return gy * (s * (1 + x * (1 - s)))


silu_op = activation(
    "silu",
    lambda xp, x: x * _sigmoid(xp, x),
    _silu_grad_body,
    _silu_formula,
    point=Point("x", "x * sigmoid(x)", cost="DEAR"),
    slope=Point(
        "gy x",
        "gy * (sigmoid(x) * (1 + x * (1 - sigmoid(x))))",
        engine="gy * sigmoid(x) * (1 + x * (1 - sigmoid(x)))",
        cost="DEAR",
    ),
    facts=Facts(onnx="silu"),
    grad_facts=Facts(aten="silu_backward"),
)


def _mish_grad_body(xp: ArrayModule, gy: Array, x: Array) -> Any:
    t = xp.tanh(_softplus(xp, x))
    return gy * (t + x * _sigmoid(xp, x) * (1 - t * t))


def _mish_formula(gy: Tensor, x: Tensor) -> Tensor:
    t = _softplus_op(x, beta=1.0, limit=20.0).tanh()
    return gy * (t + x * x.sigmoid() * (1 - t * t))


_mish = activation(
    "mish",
    lambda xp, x: x * xp.tanh(_softplus(xp, x)),
    _mish_grad_body,
    _mish_formula,
    point=Point("x", "x * tanh(softplus1(x))", cost="3 * DEAR"),
    slope=Point(
        "gy x",
        "gy * (tanh(softplus1(x)) + x * sigmoid(x) * (1 - tanh(softplus1(x)) * tanh(softplus1(x))))",
        engine="gy * mish_slope(x)",
        cost="3 * DEAR",
    ),
    facts=Facts(onnx="soft"),
    grad_facts=Facts(aten="mish_backward"),
)


def _softplus_body(xp: ArrayModule, x: Array, *, beta: float, limit: float) -> Any:
    return xp.where(x * beta > limit, x, _softplus(xp, x * beta) / beta)


def _softplus_grad_body(xp: ArrayModule, gy: Array, x: Array, *, beta: float, limit: float) -> Any:
    return xp.where(x * beta > limit, gy, gy * _sigmoid(xp, x * beta))


def _softplus_formula(gy: Tensor, x: Tensor, beta: float, limit: float) -> Tensor:
    return (gy * (x * beta).sigmoid()).where(x * beta <= limit, gy)


_softplus_op = activation(
    "softplus",
    _softplus_body,
    _softplus_grad_body,
    _softplus_formula,
    point=Point("x | beta limit", "x if x * beta > limit else softplus1(x * beta) / beta", cost="2 * DEAR"),
    slope=Point("gy x | beta limit", "gy if x * beta > limit else gy * sigmoid(x * beta)", cost="2 * DEAR"),
    facts=Facts(autocast={"cuda": "float32"}, onnx="soft"),
    grad_facts=Facts(aten="softplus_backward"),
)
_softsign = activation(
    "softsign",
    lambda xp, x: x / (1 + xp.abs(x)),
    lambda xp, gy, x: gy / xp.square(1 + xp.abs(x)),
    lambda gy, x: gy / (1 + x.abs()) ** 2,
    point=Point("x", "x / (1 + abs(x))"),
    slope=Point("gy x", "gy / ((1 + abs(x)) * (1 + abs(x)))"),
    facts=Facts(onnx="unary Softsign"),
)
_tanhshrink = activation(
    "tanhshrink",
    lambda xp, x: x - xp.tanh(x),
    lambda xp, gy, x: gy * xp.square(xp.tanh(x)),
    lambda gy, x: gy * x.tanh() ** 2,
    point=Point("x", "x - tanh(x)"),
    slope=Point("gy x", "gy * (tanh(x) * tanh(x))"),
    facts=Facts(onnx="shrink"),
)
_logsigmoid = activation(
    "logsigmoid",
    lambda xp, x: xp.minimum(x, 0) - xp.log1p(xp.exp(-xp.abs(x))),
    lambda xp, gy, x: gy * _sigmoid(xp, -x),
    lambda gy, x: gy * (-x).sigmoid(),
    point=Point(
        "x",
        "(x if x < 0 else x if x != x else 0) - log1p(exp(-abs(x)))",
        engine="logsigmoid(x)",
        cost="2 * DEAR",
        by_hand=True,
    ),
    slope=Point("gy x", "gy * sigmoid(-x)", cost="DEAR"),
    label="log_sigmoid_cpu",
    facts=Facts(layout="plain", aten="log_sigmoid_forward", onnx="soft"),
    grad_facts=Facts(aten="log_sigmoid_backward"),
)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """As `nn.SiLU`, as a function."""
    if input._a.dtype.kind == "c":
        made = input * input.sigmoid()
        return input.copy_(made) if inplace else made
    return run(silu_op, input, inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """As `nn.Mish`, as a function."""
    return run(_mish, input, inplace)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0, *, out: Any = None) -> Tensor:
    """As `nn.Softplus`, as a function."""
    kind = input._a.dtype
    attrs = {"beta": float(computable(beta, kind)), "limit": float(computable(threshold, kind))}
    return into_same(out, _softplus_op(input, **attrs), input)


def softsign(input: Tensor) -> Tensor:
    """Compute x / (1 + |x|).

    Example:
        >>> F.softsign(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([-0.6667,  0.0000,  0.6667])
    """
    if input._a.dtype.kind == "c":
        return input / (input.abs() + 1)
    return _softsign(input if input._a.dtype.kind not in "iu" else input.float())


def tanhshrink(input: Tensor) -> Tensor:
    """Compute x - tanh(x).

    Example:
        >>> F.tanhshrink(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([-1.0360,  0.0000,  1.0360])
    """
    if input._a.dtype.kind == "c":
        return input - input.tanh()
    return _tanhshrink(input if input._a.dtype.kind not in "biu" else input.float())


def logsigmoid(input: Tensor, *, out: Any = None) -> Tensor:
    """Compute log(sigmoid(x)) without overflow.

    Example:
        >>> F.logsigmoid(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([-2.1269, -0.6931, -0.1269])
    """
    return into_same(out, _logsigmoid(input))


# -- gates --------------------------------------------------------------------------------------


def _halves(x: Array, dim: int) -> tuple[Any, Any]:
    half = x.shape[dim] // 2
    at = (slice(None),) * dim
    return x[(*at, slice(half))], x[(*at, slice(half, None))]


@in_float32
def _glu_body(xp: ArrayModule, x: Array, *, dim: int) -> Any:
    first, second = _halves(x, dim)
    return first * KERNELS["sigmoid"].generic(xp, second)


@in_float32
def _glu_grad_body(xp: ArrayModule, gy: Array, x: Array, *, dim: int) -> Any:
    first, second = _halves(x, dim)
    gate = KERNELS["sigmoid"].generic(xp, second)
    return xp.concatenate([gy * gate, (1 - gate) * gate * gy * first], axis=dim)


def _glu_grad_formula(gy: Tensor, x: Tensor, dim: int) -> Tensor:
    half = x._a.shape[dim] // 2
    gate = x.narrow(dim, half, half).sigmoid()
    return cat([gy * gate, (1 - gate) * gate * gy * x.narrow(dim, 0, half)], dim)


def _glu_meta(x: Shaped, *, dim: int) -> tuple:
    return (*x.shape[:dim], x.shape[dim] // 2, *x.shape[dim + 1 :]), x.dtype


_glu_grad = by_reference(
    Op(_glu_grad_body, "glu_grad", meta=lambda gy, x, *, dim: (x.shape, x.dtype), facts=Facts(vmap="along")),
    _glu_grad_formula,
)
_glu = Op(_glu_body, "glu", meta=_glu_meta, facts=Facts(vmap="along", one_kernel={"cpu": True})).derivative(
    x=lambda g, x, dim: _glu_grad(g, x, dim=dim)
)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """As `nn.GLU`, as a function."""
    shape = input._a.shape
    if not shape:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    at = wrap_dim(dim, len(shape))
    if shape[at] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {at} is size {shape[at]}")
    check_kind(input, "fV", "glu_cpu")
    if _glu.joins(input):
        return _glu(input, dim=at)
    half = shape[at] // 2
    return input.narrow(at, 0, half) * input.narrow(at, half, half).sigmoid()


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Draw random shares that sum to 1 and can be differentiated (Gumbel-softmax).

    Args:
        logits: (..., classes), log probabilities, not necessarily normalised.
        tau: temperature; near 0 the samples are nearly one-hot.
        hard: make samples one-hot; gradients are those of the soft ones.
        eps: not used, kept for old scripts.
        dim: the dimension of classes.

    Example:
        >>> y = F.gumbel_softmax(torch.zeros(3, 4), hard=True)
        >>> y.sum(-1), y.amax(-1)
        (tensor([1., 1., 1.]), tensor([1., 1., 1.]))
    """
    # drawn in the order of the elements, not in that of memory, as PyTorch does
    noise = -logits.detach().clone(memory_format=contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.detach().argmax(dim, keepdim=True)
    picked = soft.detach().new_zeros(soft._a.shape).scatter_(dim, index, 1.0)
    return picked - soft.detach() + soft


for _fn in (elu, selu, celu, gelu, silu, mish, softplus, softsign, tanhshrink, logsigmoid, glu, gumbel_softmax):
    publish("functional", _fn.__name__, _fn)
publish("functional", "elu_", inplace_of(elu))
for _fn in (selu, celu):
    publish("torch", _fn.__name__, _fn)
    publish("torch", _fn.__name__ + "_", inplace_of(_fn))
    publish("functional", _fn.__name__ + "_", inplace_of(_fn))
