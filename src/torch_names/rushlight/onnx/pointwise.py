"""Elementwise kernels as ONNX nodes."""

from __future__ import annotations

import math

import numpy as np

from .table import Site, writes


@writes
def unary(s: Site) -> str:
    x = s.x()
    if s.how == "Not" and s.dtypes[0] != np.bool_:
        x = s.g.cast(x, np.dtype(bool))
    return s.node(s.how, x)


@writes
def binary(s: Site) -> str:
    op, out = s.how, s.out_dtypes[0]
    if out == np.bool_:  # sums and products of booleans
        op = {"Add": "Or", "Mul": "And", "Max": "Or", "Min": "And"}[op]
    return s.node(op, s.x(0, out), s.x(1, out))


@writes
def compare(s: Site) -> str:
    kind = next(d for d in s.dtypes if d is not None)
    both = [d for d in s.dtypes if d is not None]
    wide = np.result_type(*both) if len(both) > 1 else kind
    number = next((v for v in s.inputs if isinstance(v, float)), None)
    if wide.kind in "iub" and number is not None:
        wide = np.dtype(np.float32)
    op = s.how.removeprefix("Not")
    if wide == np.bool_ and op != "Equal":
        wide = np.dtype(np.int32)
    out = s.node(op, s.x(0, wide), s.x(1, wide))
    return out if op == s.how else s.node("Not", out)


@writes
def logical(s: Site) -> str:
    return s.node(s.how, s.x(0, np.dtype(bool)), s.x(1, np.dtype(bool)))


@writes
def bits(s: Site) -> str:
    out = s.out_dtypes[0]
    if out != np.bool_ and s.g.opset < 18:
        raise s.fail("needs opset 18 or later")
    op = s.how if out == np.bool_ else f"Bitwise{s.how}"
    return s.node(op, s.x(0, out), s.x(1, out))


@writes
def bitwise_not(s: Site) -> str:
    if s.dtypes[0] == np.bool_:
        return s.node("Not", s.x())
    return s.node("Sub", s.node("Neg", s.x()), s.number(1))


@writes
def cast(s: Site) -> str:
    return s.g.cast(s.x(), s.out_dtypes[0])


@writes
def pow(s: Site) -> str:
    return s.node("Pow", s.x(0, s.out_dtypes[0]), s.x(1, s.out_dtypes[0]))


@writes
def square(s: Site) -> str:
    return s.node("Mul", s.x(), s.x())


@writes
def rsqrt(s: Site) -> str:
    return s.node("Reciprocal", s.node("Sqrt", s.x()))


@writes
def exp2(s: Site) -> str:
    return s.node("Pow", s.number(2.0), s.x())


@writes
def expm1(s: Site) -> str:
    return s.node("Sub", s.node("Exp", s.x()), s.number(1.0))


@writes
def log_base(s: Site) -> str:
    return s.node("Div", s.node("Log", s.x()), s.number(math.log(2 if s.kernel == "log2" else 10)))


@writes
def log1p(s: Site) -> str:
    return s.node("Log", s.node("Add", s.x(), s.number(1.0)))


@writes
def trunc(s: Site) -> str:
    whole = s.node("Mul", s.node("Sign", s.x()), s.node("Floor", s.node("Abs", s.x())))
    return whole if s.kernel == "trunc" else s.node("Sub", s.x(), whole)


@writes
def isfinite(s: Site) -> str:
    return s.node("Not", s.node("Or", s.node("IsInf", s.x()), s.node("IsNaN", s.x())))


@writes
def divide(s: Site) -> str:
    out = s.out_dtypes[0]
    x, y = s.x(0, out), s.x(1, out)
    if s.kernel == "fmod":
        return s.node("Mod", x, y, fmod=1)
    if out.kind == "f":
        part = s.node("Div", x, y)
        whole = s.node("Floor", part) if s.kernel != "trunc_divide" else s.node("Mul", s.node("Sign", part), s.node("Floor", s.node("Abs", part)))  # fmt: skip
        return whole if s.kernel != "remainder" else s.node("Sub", x, s.node("Mul", whole, y))
    if s.kernel == "remainder":
        return s.node("Mod", x, y)
    if s.kernel == "trunc_divide":
        return s.node("Div", x, y)
    rest = s.node("Mod", x, y)  # has the divisor's sign, so what is left divides evenly
    return s.node("Div", s.node("Sub", x, rest), y)


@writes
def where(s: Site) -> str:
    return _choice(s, 0, 1, 2)


def _choice(s: Site, condition: int, x: int, y: int) -> str:
    """Where; onnxruntime has none of booleans, for which whole numbers stand in."""
    out, at = s.out_dtypes[0], s.x(condition, np.dtype(bool))
    if out == np.bool_:
        whole = np.dtype(np.int32)
        return s.g.cast(s.node("Where", at, s.x(x, whole), s.x(y, whole)), out)
    return s.node("Where", at, s.x(x, out), s.x(y, out))


@writes
def masked_fill(s: Site) -> str:
    return _choice(s, 1, 2, 0)


@writes
def clamp(s: Site) -> str:
    out = s.x(0, s.out_dtypes[0])
    if s.inputs[1] is not None:
        out = s.node("Max", out, s.x(1, s.out_dtypes[0]))
    if s.inputs[2] is not None:
        out = s.node("Min", out, s.x(2, s.out_dtypes[0]))
    return out


@writes
def lerp(s: Site) -> str:
    return s.node("Add", s.x(0), s.node("Mul", s.x(2, s.dtypes[0]), s.node("Sub", s.x(1), s.x(0))))


@writes
def addc(s: Site) -> str:
    part = s.node("Mul" if s.kernel == "addcmul" else "Div", s.x(1), s.x(2))
    return s.node("Add", s.x(0), s.node("Mul", part, s.number(s.fixed("value"))))


# -- activations ---------------------------------------------------------------------------------


@writes
def hardtanh(s: Site) -> str:
    return s.node("Clip", s.x(), s.number(s.fixed("low")), s.number(s.fixed("high")))


@writes
def silu(s: Site) -> str:
    return s.node("Mul", s.x(), s.node("Sigmoid", s.x()))


@writes
def gelu(s: Site) -> str:
    x, kind = s.x(), s.fixed("approximate")
    if s.g.opset >= 20:
        return s.node("Gelu", x, approximate=kind)
    if kind == "none":
        inner = s.node("Erf", s.node("Mul", x, s.number(math.sqrt(0.5))))
    else:
        cube = s.node("Mul", s.node("Mul", x, x), x)
        inner = s.node("Add", x, s.node("Mul", cube, s.number(0.044715)))
        inner = s.node("Tanh", s.node("Mul", inner, s.number(math.sqrt(2 / math.pi))))
    half = s.node("Mul", x, s.number(0.5))
    return s.node("Mul", half, s.node("Add", inner, s.number(1.0)))


@writes
def hard(s: Site) -> str:
    gate = s.node("HardSigmoid", s.x(), alpha=1 / 6, beta=0.5)
    return gate if s.kernel == "hardsigmoid" else s.node("Mul", s.x(), gate)


@writes
def leaky(s: Site) -> str:
    return s.node("LeakyRelu", s.x(), alpha=float(s.fixed("slope")))


@writes
def elu(s: Site) -> str:
    alpha, scale, inner = s.fixed("alpha"), s.fixed("scale"), s.fixed("inner")
    low = s.node("Min", s.x(), s.number(0.0))
    low = s.node("Sub", s.node("Exp", s.node("Mul", low, s.number(inner))), s.number(1.0))
    low = s.node("Mul", low, s.number(alpha * scale))
    return s.node("Where", s.node("Greater", s.x(), s.number(0.0)), s.node("Mul", s.x(), s.number(scale)), low)


@writes
def soft(s: Site) -> str:
    if s.kernel == "mish":
        return s.node("Mul", s.x(), s.node("Tanh", s.node("Softplus", s.x())))
    if s.kernel == "logsigmoid":
        return s.node("Neg", s.node("Softplus", s.node("Neg", s.x())))
    beta = s.fixed("beta")
    if beta == 1:
        return s.node("Softplus", s.x())
    return s.node("Div", s.node("Softplus", s.node("Mul", s.x(), s.number(beta))), s.number(beta))


@writes
def prelu(s: Site) -> str:
    slope = s.x(1)
    if s.rank > 2 and len(s.shapes[1]) == 1:
        slope = s.g.reshape(slope, (-1, *[1] * (s.rank - 2)))
    return s.node("PRelu", s.x(), slope)


@writes
def threshold(s: Site) -> str:
    above = s.node("Greater", s.x(), s.number(s.fixed("threshold")))
    return s.node("Where", above, s.x(), s.number(s.fixed("value")))


@writes
def shrink(s: Site) -> str:
    if s.kernel == "tanhshrink":
        return s.node("Sub", s.x(), s.node("Tanh", s.x()))
    size = float(s.fixed("lambd"))
    return s.node("Shrink", s.x(), lambd=size, bias=size if s.kernel == "softshrink" else 0.0)


@writes
def write(s: Site) -> str:
    """What a tensor holds after it was written: the source, in its dtype and shape."""
    if s.kernel == "fill_into":
        return s.node("Expand", s.number(s.fixed("value")), s.g.shape(s.out_shapes[0]))
    if s.kernel == "zeroed":
        return s.node("Expand", s.number(0), s.g.shape(s.out_shapes[0]))
    source = s.x(1, s.dtypes[0])
    if s.shapes[1] == s.shapes[0]:
        return source
    return s.node("Expand", source, s.g.shape(s.out_shapes[0]))
