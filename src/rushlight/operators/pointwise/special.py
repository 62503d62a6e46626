"""Special functions: error functions, gamma and its kin, Bessel functions, entropies."""

from __future__ import annotations

import math
from typing import Any

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import finfo
from ...base.shapes import check_size, whole
from ...core.op import Op
from ...core.public import into, public, publish
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ...runtime.point import Point
from ..made_of.guards import FLOATS, no_derivative, only, tensors_only
from ..made_of.pointwise import binary, same_meta, unary
from ..made_of.promotion import promote_float, promote_unary_float
from . import special_kernels as bodies

_EVERYWHERE = ("torch", "Tensor", "special")


def _special(name: str, label: str, doc: str, **options: Any) -> Any:
    rule = only(FLOATS, label, promote_unary_float)
    options.setdefault("places", ("special",))
    options.setdefault("inplace", "Tensor" in options["places"])
    return unary(name, getattr(bodies, name), rule=rule, doc=doc, **options)


# -- error functions ----------------------------------------------------------------------------


def _bell(x: Tensor) -> Tensor:
    return (x * x).neg().exp()


erf = _special(
    "erf", "erf_vml_cpu", "The error function.",
    point=Point("x", "erf(x)", cost="2 * DEAR"),
    example=("torch.tensor([0.0, 0.5]).erf()", "tensor([0.0000, 0.5205])"), places=_EVERYWHERE,
    dx=lambda g, x: g * _bell(x) * (2 / bodies.SQRT_PI), facts=Facts(onnx="unary Erf", sparse="values"),
)  # fmt: skip
erfc = _special(
    "erfc", "erfc_vml_cpu", "`1 - erf(input)`, exact for large numbers too.",
    point=Point("x", "erfc(x)"),
    example=("torch.tensor([0.0, 3.0]).erfc()", "tensor([1.0000e+00, 2.2090e-05])"), places=_EVERYWHERE,
    dx=lambda g, x: g * _bell(x) * (-2 / bodies.SQRT_PI),
)  # fmt: skip
erfinv = _special(
    "erfinv", "erfinv_vml_cpu", "The number whose error function every element is.",
    point=Point("x", "erfinv(x)", cost="3 * DEAR", by_hand=True),
    example=("torch.tensor([0.0, 0.5]).erfinv()", "tensor([0.0000, 0.4769])"), places=_EVERYWHERE,
    dx=lambda g, out: g * (out * out).exp() * (bodies.SQRT_PI / 2), facts=Facts(autocast={"cuda": "float32"}, sparse="values"),
)  # fmt: skip
erfcx = _special(
    "erfcx", "erfcx", "`exp(input ** 2) * erfc(input)`, without overflow.",
    point=Point("x", "erfcx(x)"),
    example=("torch.special.erfcx(torch.tensor([0.0, 10.0]))", "tensor([1.0000, 0.0561])"),
    dx=lambda g, x, out: g * (x * out - 1 / bodies.SQRT_PI) * 2,
)  # fmt: skip
ndtr = _special(
    "ndtr", "ndtr", "The part of the standard normal distribution that lies below every element.",
    point=Point("x", "normcdf(x)"),
    example=("torch.special.ndtr(torch.tensor([0.0, 1.96]))", "tensor([0.5000, 0.9750])"),
    dx=lambda g, x: g * (x * x * -0.5).exp() * (1 / math.sqrt(2 * math.pi)),
)  # fmt: skip
log_ndtr = _special(
    "log_ndtr", "log_ndtr", "The logarithm of `ndtr`, exact for very negative numbers too.",
    example=("torch.special.log_ndtr(torch.tensor([0.0, -10.0]))", "tensor([ -0.6931, -53.2313])"),
    dx=lambda g, x: g / erfcx.op(x * -math.sqrt(0.5)) * math.sqrt(2 / math.pi),
)  # fmt: skip
ndtri = _special(
    "ndtri", "ndtri", "The inverse of `ndtr`: the number below which this part of the normal distribution lies.",
    point=Point("x", "normcdfinv(x)"),
    example=("torch.special.ndtri(torch.tensor([0.5, 0.975]))", "tensor([0.0000, 1.9600])"),
    dx=lambda g, out: g * (out * out * 0.5).exp() * math.sqrt(2 * math.pi),
)  # fmt: skip


# -- gamma --------------------------------------------------------------------------------------

lgamma = _special(
    "lgamma", "lgamma_vml_cpu", "The logarithm of the absolute value of the gamma function.",
    point=Point("x", "lgamma(x)"),
    example=("torch.tensor([1.0, 5.0]).lgamma()", "tensor([0.0000, 3.1781])"),
    places=("torch", "Tensor"), dx=lambda g, x: g * digamma.op(x),
)  # fmt: skip
digamma: Any = _special(
    "digamma", "digamma", "The derivative of `lgamma`.",
    example=("torch.tensor([1.0, 2.0]).digamma()", "tensor([-0.5772,  0.4228])"), places=_EVERYWHERE,
    dx=lambda g, x: g * _polygamma(x, n=1),
)  # fmt: skip
publish("special", "gammaln", lgamma)
publish("special", "psi", digamma)

_polygamma: Any = Op(
    bodies.polygamma, "polygamma", rule=only(FLOATS, "polygamma", promote_unary_float),
    meta=same_meta, facts=Facts(vmap="pointwise", layout="first"),
)  # fmt: skip
_polygamma.derivative(x=lambda g, x, n: g * _polygamma(x, n=n + 1))


@public("torch", "special")
def polygamma(n: int, input: Tensor, *, out: Any = None) -> Tensor:
    """The n-th derivative of `digamma`.

    Args:
        n: how often; 0 is `digamma` itself.

    Raises:
        RuntimeError: for a negative `n`.

    Example:
        >>> torch.polygamma(1, torch.tensor([1.0, 2.0]))
        tensor([1.6449, 0.6449])
    """
    n = whole(n, "n")
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return into(out, digamma.op(input) if n == 0 else _polygamma(input, n=int(n)), input)


@public("Tensor", name="polygamma", inplace=True)
def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of `digamma`.

    Args:
        n: how often; 0 is `digamma` itself.

    Example:
        >>> torch.tensor([1.0, 2.0]).polygamma(1)
        tensor([1.6449, 0.6449])
    """
    return polygamma(n, self)


@public("torch", "Tensor", inplace=True)
def mvlgamma(input: Tensor, p: int, *, out: Any = None) -> Tensor:
    """The logarithm of the gamma function of several dimensions.

    Args:
        p: how many dimensions.

    Raises:
        RuntimeError: if `p` is less than 1.

    Example:
        >>> torch.tensor([2.0, 3.0]).mvlgamma(2)
        tensor([0.4516, 1.5502])
    """
    p = whole(p, "p")
    if input._a.dtype.kind == "b":
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    check_size((*input._a.shape, p), input._a.itemsize)
    total = lgamma.op(input)
    if p > 1:
        input.new_empty((*input._a.shape, p))  # all of which PyTorch computes at once
    for i in range(1, p):
        total = total + lgamma.op(input - i / 2)
    return into(out, (total + p * (p - 1) / 4 * math.log(math.pi)).contiguous())


@public("special")
def multigammaln(input: Tensor, p: int, *, out: Any = None) -> Tensor:
    """As `torch.mvlgamma`."""
    return mvlgamma(input, p, out=out)


def _zeta_dy(g: Tensor, x: Any, y: Tensor) -> Tensor:
    return -(g * x * zeta.op(x + 1, y))


zeta = binary(
    "zeta", bodies.zeta, places=("special",), inplace=False, dx=no_derivative("special_zeta"),
    dy=_zeta_dy,
    rule=only(FLOATS, "zeta", promote_float), doc="The Hurwitz zeta function: the sum of `1 / (k + other) ** input` over k = 0, 1, 2, ...",
    example=("torch.special.zeta(torch.tensor([2.0]), torch.tensor([1.0]))", "tensor([1.6449])"),
)  # fmt: skip


def _incomplete(name: str, sign: float, doc: str, example: tuple[str, str]) -> Any:
    def dy(g: Tensor, x: Any, y: Tensor) -> Tensor:
        density = ((x - 1) * y.log() - y - lgamma.op(x)).exp()
        return g * density * sign

    return binary(
        name, getattr(bodies, name), places=("special",), inplace=False, dx=no_derivative(name),
        dy=dy, doc=doc, example=example,
        rule=tensors_only(name.replace("gammainc", "igamma"), "input", "other", then=only(FLOATS, name, promote_float)), facts=Facts(layout="first"),
    )  # fmt: skip


gammainc = _incomplete(
    "gammainc",
    1.0,
    "The part of the gamma function's integral up to `other`: 0 at zero, 1 at infinity.",
    example=("torch.special.gammainc(torch.tensor([2.0]), torch.tensor([1.0]))", "tensor([0.2642])"),
)
gammaincc = _incomplete(
    "gammaincc",
    -1.0,
    "The part of the gamma function's integral from `other` on: `1 - gammainc`.",
    example=("torch.special.gammaincc(torch.tensor([2.0]), torch.tensor([1.0]))", "tensor([0.7358])"),
)
for _name, _fn in (("igamma", gammainc), ("igammac", gammaincc)):
    public("torch", "Tensor", name=_name, inplace=True)(_fn)


# -- Bessel functions ---------------------------------------------------------------------------


def _near_zero(value: Any, x: Tensor, limit: float) -> Tensor:
    """`value(x)`, or the limit where `x` is so small that its quotient says nothing, and, as in PyTorch, where it is NaN."""
    near = ~(x.abs() > finfo(x.dtype).eps)
    return value(x.masked_fill(near, 1.0)).masked_fill(near, limit)


i0 = _special(
    "i0", "i0_vml_cpu", "The modified Bessel function of the first kind of order 0.",
    point=Point("x", "nan if isinf(x) else bessel_i0(x)"),
    example=("torch.tensor([0.0, 1.0]).i0()", "tensor([1.0000, 1.2661])"), places=_EVERYWHERE,
    dx=lambda g, x: g * i1.op(x),
)  # fmt: skip
i0e = _special(
    "i0e",
    "i0e",
    "`exp(-|input|) * i0(input)`, which does not overflow.",
    example=("torch.special.i0e(torch.tensor([0.0, 100.0]))", "tensor([1.0000, 0.0399])"),
    dx=lambda g, x, out: g * (i1e.op(x) - x.sgn() * out),
)
i1: Any = _special(
    "i1", "i1", "The modified Bessel function of the first kind of order 1.",
    point=Point("x", "nan if isinf(x) else bessel_i1(x)"),
    example=("torch.special.i1(torch.tensor([0.0, 1.0]))", "tensor([0.0000, 0.5652])"),
    dx=lambda g, x, out: g * _near_zero(lambda x: i0.op(x) - out / x, x, 0.5),
)  # fmt: skip
i1e: Any = _special(
    "i1e", "i1e", "`exp(-|input|) * i1(input)`, which does not overflow.",
    example=("torch.special.i1e(torch.tensor([0.0, 100.0]))", "tensor([0.0000, 0.0397])"),
    dx=lambda g, x, out: g * _near_zero(lambda x: i0e.op(x) - out * (x.sgn() + 1 / x), x, 0.5),
)  # fmt: skip


# -- entropy ------------------------------------------------------------------------------------


def _entr_body(xp: ArrayModule, x: Array) -> Any:
    inner = -x * xp.log(xp.where(x > 0, x, xp.ones((), x.dtype)))
    return xp.where(x < 0, xp.asarray(-math.inf, x.dtype), xp.where(x == 0, xp.zeros((), x.dtype), inner))


entr = unary(
    "entr", _entr_body, point=Point("x", "x if x != x else -inf if x < 0 else 0 if x == 0 else -x * log(x)"),
    dx=lambda g, x: g * -(x.log() + 1), places=("special",), inplace=False,
    rule=only(FLOATS, "entr", promote_unary_float), doc="`-input * log(input)`: 0 at zero, minus infinity below.",
    example=("torch.special.entr(torch.tensor([0.0, 0.5]))", "tensor([0.0000, 0.3466])"),
)  # fmt: skip
