"""What every pointwise op computes, as CUDA text: the one table that kernels are generated from."""

from __future__ import annotations

from typing import Any

# Kinds of compute types: floats, signed and unsigned integers, booleans, complex numbers.
KINDS = "fiubc"


class Expression:
    """One op: the names of its inputs and attributes, and its text per kind of compute type.

    In the text `T` is the compute type, `R` its real type; inputs and attributes stand under their
    names, attributes and Python numbers already as `T` (as int where the name ends in `:int`).
    `out` says what is stored: "same" the main input's dtype, "bool", "real", "complex".
    """

    __slots__ = ("attrs", "inputs", "main", "out", "text")

    def __init__(
        self,
        inputs: str,
        attrs: str = "",
        out: str = "same",
        main: int = 0,
        all: str | None = None,  # noqa: A002 - every kind but complex
        **kinds: str,
    ) -> None:
        self.inputs = tuple(inputs.split())
        self.attrs = tuple(attrs.split())
        self.out = out
        self.main = main  # the input whose dtype is T's
        self.text: dict[str, str] = {} if all is None else dict.fromkeys("fiub", all)
        for names, text in kinds.items():
            for kind in names:
                self.text[kind] = text


_E = Expression
_SAME: Any = {"iub": "x"}


def _float(name: str, c: str | None = None) -> Expression:
    """A function of one float that CUDA has under this name."""
    return _E("x", f=f"{name}(x)") if c is None else _E("x", f=f"{name}(x)", c=c)


def _compare(sign: str, c: bool = False) -> Expression:
    text = f"x {sign} y"
    return _E("x y", out="bool", all=text, c=text) if c else _E("x y", out="bool", all=text)


_ARITHMETIC = {
    "add": _E("x y", fiuc="x + y", b="x || y"),
    "sub": _E("x y", fiuc="x - y", b="x != y"),
    "mul": _E("x y", fiuc="x * y", b="x && y"),
    "div": _E("x y", fc="x / y"),
    "neg": _E("x", fiuc="-x"),
    "abs": _E("x", out="real", f="fabs(x)", i="magnitude(x)", ub="x", c="cabs(x)"),
    "pow": _E("x y", f="pow(x, y)", iu="ipow(x, y)", c="cpow(x, y)"),
    "floor_divide": _E("x y", f="floordiv(x, y)", iu="ifloordiv(x, y)"),
    "trunc_divide": _E("x y", f="trunc(x / y)", iu="itruncdiv(x, y)"),
    "remainder": _E("x y", f="modulo(x, y)", iu="imodulo(x, y)"),
    "fmod": _E("x y", f="fmod(x, y)", iu="ifmod(x, y)"),
    "maximum": _E("x y", all="top(x, y)", b="x || y"),
    "minimum": _E("x y", all="bottom(x, y)", b="x && y"),
    "fmax": _E("x y", f="fmax(x, y)", iu="top(x, y)", b="x || y"),
    "fmin": _E("x y", f="fmin(x, y)", iu="bottom(x, y)", b="x && y"),
    "atan2": _E("x y", f="atan2(x, y)"),
    "hypot": _E("x y", f="hypot(x, y)"),
    "copysign": _E("x y", f="copysign(x, y)"),
    "logaddexp": _E("x y", f="logaddexp(x, y)"),
    "logaddexp2": _E("x y", f="logaddexp2(x, y)"),
    "xlogy": _E("x y", f="x == T(0) && y == y ? T(0) : x * log(y)"),
    "xlog1py": _E("x y", f="x == T(0) && y == y ? T(0) : x * log1p(y)"),
    "heaviside": _E("x values", all="x == T(0) ? values : T(x > T(0))"),
    "gcd": _E("x y", iu="gcd(x, y)"),
    "lcm": _E("x y", iu="lcm(x, y)"),
    "square": _E("x", fiuc="x * x"),
    "reciprocal": _E("x", f="T(1) / x", c="T(1) / x"),
    "zeros_of": _E("x", all="T(0)", c="T(0)"),
    "add_scaled": _E("x y", "alpha", f="x + y * alpha"),
    "addcmul": _E("x a b", "value", f="x + (a * b) * value", iu="x + a * b * value"),
    "addcdiv": _E("x a b", "value", f="x + (a / b) * value"),
    "lerp": _E("start end weight", f="fabs(weight) < T(0.5) ? start + weight * (end - start)"
               " : end - (end - start) * (T(1) - weight)"),
}  # fmt: skip

_BITS = {
    "bitwise_and": _E("x y", iu="x & y", b="x && y"),
    "bitwise_or": _E("x y", iu="x | y", b="x || y"),
    "bitwise_xor": _E("x y", iu="x ^ y", b="x != y"),
    "bitwise_not": _E("x", iu="~x", b="!x"),
    "bitwise_left_shift": _E("x y", iu="shiftl(x, y)"),
    "bitwise_right_shift": _E("x y", iu="shiftr(x, y)"),
    "logical_and": _E("x y", out="bool", fiubc="truth(x) && truth(y)"),
    "logical_or": _E("x y", out="bool", fiubc="truth(x) || truth(y)"),
    "logical_xor": _E("x y", out="bool", fiubc="truth(x) != truth(y)"),
    "logical_not": _E("x", out="bool", fiubc="!truth(x)"),
}

_COMPARE = {
    "eq": _compare("==", c=True),
    "ne": _compare("!=", c=True),
    "lt": _compare("<"),
    "le": _compare("<="),
    "gt": _compare(">"),
    "ge": _compare(">="),
    "isnan": _E("x", out="bool", f="x != x", iub="false", c="x.re != x.re || x.im != x.im"),
    "isinf": _E("x", out="bool", f="isinf(x)", iub="false", c="isinf(x.re) || isinf(x.im)"),
    "isfinite": _E("x", out="bool", f="isfinite(x)", iub="true",
                   c="isfinite(x.re) && isfinite(x.im)"),
    "isposinf": _E("x", out="bool", f="isinf(x) && x > 0", iub="false"),
    "isneginf": _E("x", out="bool", f="isinf(x) && x < 0", iub="false"),
    "isreal": _E("x", out="bool", fiub="true", c="x.im == R(0)"),
    "isclose": _E("x y", "rtol atol equal_nan:int", out="bool",
                  f="x == y || (equal_nan && x != x && y != y) || ((rtol != 0 || atol != 0) && "
                  "isfinite(x - y) && fabs(x - y) <= atol + fabs(rtol * y))"),
    "signbit": _E("x", out="bool", f="signbit(x)", i="x < 0", ub="false"),
    "sign": _E("x", f="T(x > T(0)) - T(x < T(0))", iu="T(x > T(0)) - T(x < T(0))", b="x"),
    "sgn": _E("x", f="T(x > T(0)) - T(x < T(0))", iu="T(x > T(0)) - T(x < T(0))", b="x",
              c="x == T(0) ? T(0) : cscale(x, R(1) / cabs(x))"),
}  # fmt: skip

_FUNCTIONS = {
    "sqrt": _float("sqrt", "csqrt(x)"),
    "rsqrt": _E("x", f="T(1) / sqrt(x)", c="T(1) / csqrt(x)"),
    "exp": _float("exp", "cexp(x)"),
    "exp2": _float("exp2", "cexp(cscale(x, R(0.69314718055994530942)))"),
    "expm1": _float("expm1"),
    "log": _float("log", "clog(x)"),
    "log2": _float("log2", "cscale(clog(x), R(1.44269504088896340736))"),
    "log10": _float("log10", "cscale(clog(x), R(0.43429448190325182765))"),
    "log1p": _float("log1p"),
    "sin": _float("sin", "csin(x)"),
    "cos": _float("cos", "ccos(x)"),
    "tan": _float("tan", "ctan(x)"),
    "asin": _float("asin"),
    "acos": _float("acos"),
    "atan": _float("atan"),
    "sinh": _float("sinh", "csinh(x)"),
    "cosh": _float("cosh", "ccosh(x)"),
    "tanh": _float("tanh", "ctanh(x)"),
    "asinh": _float("asinh"),
    "acosh": _float("acosh"),
    "atanh": _float("atanh"),
    "deg2rad": _E("x", f="x * T(0.01745329251994329577)"),
    "rad2deg": _E("x", f="x * T(57.2957795130823208768)"),
    "sinc": _float("sinc"),
    "sigmoid": _float("sigmoid", "T(1) / (T(1) + cexp(-x))"),
    "erf": _float("erf"),
    "erfc": _float("erfc"),
    "erfcx": _float("erfcx"),
    "erfinv": _float("erfinv"),
    "ndtr": _float("normcdf"),
    "ndtri": _float("normcdfinv"),
    "lgamma": _float("lgamma"),
    "i0": _E("x", f="isinf(x) ? nan_of<T>() : bessel_i0(x)"),
    "i1": _E("x", f="isinf(x) ? nan_of<T>() : bessel_i1(x)"),
    "entr": _E("x", f="x != x ? x : x < 0 ? -inf_of<T>() : x == 0 ? T(0) : -x * log(x)"),
    "logit": _E("x", f="log(x / (T(1) - x))"),
    "logit:eps": _E("x", "eps", f="log(bottom(top(x, eps), T(1) - eps) / "
                    "(T(1) - bottom(top(x, eps), T(1) - eps)))"),
    "floor": _E("x", f="floor(x)", **_SAME),
    "ceil": _E("x", f="ceil(x)", **_SAME),
    "trunc": _E("x", f="trunc(x)", **_SAME),
    "round": _E("x", f="rint(x)", **_SAME),
    "round_decimals": _E("x", "power shrink:int",
                         f="shrink ? rint(x / power) * power : rint(x * power) / power"),
    "frac": _E("x", f="x - trunc(x)"),
    "nan_to_num": _E("x", "nan high low", f="x != x ? nan : isinf(x) ? (x > 0 ? high : low) : x",
                     **_SAME),
    "conj": _E("x", fiub="x", c="cconj(x)"),
    "angle": _E("x", out="real", f="x != x ? x : x < 0 ? T(3.14159265358979323846) : T(0)",
                c="carg(x)"),
    "complex": _E("x y", out="complex", f="cplx<T>(x, y)"),
}  # fmt: skip

_SELECT = {
    "where": _E("condition x y", main=1, fiubc="condition ? x : y"),
    "masked_fill": _E("x mask value", fiubc="mask ? value : x"),
    "clamp:low": _E("x low", all="top(x, low)"),
    "clamp:high": _E("x high", all="bottom(x, high)"),
    "clamp": _E("x low high", all="bottom(top(x, low), high)"),
    "clamp_backward:low": _E("dy x low", f="x >= low ? dy : T(0)"),
    "clamp_backward:high": _E("dy x high", f="x <= high ? dy : T(0)"),
    "clamp_backward": _E("dy x low high", f="x >= low && x <= high ? dy : T(0)"),
    "threshold": _E("x", "threshold value", all="x <= threshold ? value : x"),
}

_ACTIVATIONS = {
    "relu": _E("x", all="top(x, T(0))"),
    "relu_grad": _E("gy y", f="y <= T(0) ? T(0) : gy"),
    "hardtanh": _E("x", "low high", all="bottom(top(x, low), high)"),
    "hardtanh_grad": _E("gy x", "low high", f="x > low && x < high ? gy : T(0)"),
    "leaky_relu": _E("x", "slope", f="x > T(0) ? x : x * slope"),
    "leaky_relu_grad": _E("gy x", "slope", f="x > T(0) ? gy : gy * slope"),
    "prelu": _E("x weight", f="x > T(0) ? x : x * weight"),
    "prelu_grad": _E("gy x weight", f="x > T(0) ? gy : gy * weight"),
    "hardshrink": _E("x", "lambd", f="x >= -lambd && x <= lambd ? T(0) : x"),
    "hardshrink_grad": _E("gy x", "lambd", f="x < -lambd || x > lambd ? gy : T(0)"),
    "softshrink": _E("x", "lambd", f="x > lambd ? x - lambd : x < -lambd ? x + lambd : x * T(0)"),
    "softshrink_grad": _E("gy x", "lambd", f="x < -lambd || x > lambd ? gy : T(0)"),
    "hardsigmoid": _E("x", f="bottom(top(x + T(3), T(0)), T(6)) / T(6)"),
    "hardsigmoid_grad": _E("gy x", f="x > T(-3) && x < T(3) ? gy / T(6) : T(0)"),
    "hardswish": _E("x", f="x * bottom(top(x + T(3), T(0)), T(6)) / T(6)"),
    "hardswish_grad": _E("gy x", f="x <= T(-3) ? T(0) : x >= T(3) ? gy : gy * (x / T(3) + T(0.5))"),
    "elu": _E("x", "alpha scale inner",
              f="x > T(0) ? x * scale : expm1(x * inner) * (alpha * scale)"),
    "elu_grad": _E("gy x", "alpha scale inner",
                   f="gy * (x > T(0) ? scale : exp(x * inner) * (inner * alpha * scale))"),
    "gelu:none": _E("x", f="x * (NARROW ? near_cdf(x) : cdf(x))"),
    "gelu:tanh": _E("x", f="NARROW ? x * near_tanh_cdf(x) : T(0.5) * x * (T(1) + tanh(gelu_inner(x)))"),
    "gelu_grad:none": _E("gy x", f="gy * (NARROW ? near_gelu_slope(x) : cdf(x) + x * T(0.39894228040143267794) * "
                         "exp(T(-0.5) * x * x))"),
    "gelu_grad:tanh": _E("gy x", f="gy * (NARROW ? near_tanh_slope(x) : T(0.5) * (T(1) + tanh(gelu_inner(x))) + "
                         "T(0.5) * x * (T(1) - tanh(gelu_inner(x)) * tanh(gelu_inner(x))) * "
                         "gelu_inner_slope(x))"),
    "silu": _E("x", f="x * sigmoid(x)"),
    "silu_grad": _E("gy x", f="gy * (sigmoid(x) * (T(1) + x * (T(1) - sigmoid(x))))"),
    "mish": _E("x", f="x * tanh(softplus1(x))"),
    "mish_grad": _E("gy x", f="gy * (tanh(softplus1(x)) + x * sigmoid(x) * "
                    "(T(1) - tanh(softplus1(x)) * tanh(softplus1(x))))"),
    "softplus": _E("x", "beta limit", f="x * beta > limit ? x : softplus1(x * beta) / beta"),
    "softplus_grad": _E("gy x", "beta limit", f="x * beta > limit ? gy : gy * sigmoid(x * beta)"),
    "softsign": _E("x", f="x / (T(1) + fabs(x))"),
    "softsign_grad": _E("gy x", f="gy / ((T(1) + fabs(x)) * (T(1) + fabs(x)))"),
    "tanhshrink": _E("x", f="x - tanh(x)"),
    "tanhshrink_grad": _E("gy x", f="gy * (tanh(x) * tanh(x))"),
    "logsigmoid": _E("x", f="(x < T(0) ? x : x != x ? x : T(0)) - log1p(exp(-fabs(x)))"),
    "logsigmoid_grad": _E("gy x", f="gy * sigmoid(-x)"),
    "sigmoid_backward": _E("dy y", f="(T(1) - y) * y * dy"),
    "tanh_backward": _E("dy y", f="(T(1) - y * y) * dy"),
}  # fmt: skip

_D = "(x - y)"
_LOSSES = {
    "mse_loss:each": _E("x y", "beta", f=f"{_D} * {_D}"),
    "mse_loss:slope": _E("gy x y", "beta scale", f=f"{_D} * T(2) * (gy * scale)"),
    "l1_loss:each": _E("x y", "beta", f=f"fabs({_D})"),
    "l1_loss:slope": _E("gy x y", "beta scale",
                        f="(T(x > y) - T(x < y)) * (gy * scale)"),
    "smooth_l1_loss:each": _E("x y", "beta", f=f"fabs({_D}) < beta ? T(0.5) / beta * {_D} * {_D}"
                              f" : fabs({_D}) - T(0.5) * beta"),
    "smooth_l1_loss:slope": _E("gy x y", "beta scale",
                               f=f"(beta == T(0) ? T(x > y) - T(x < y) : "
                               f"bottom(top({_D} / beta, T(-1)), T(1))) * (gy * scale)"),
    "huber_loss:each": _E("x y", "beta", f=f"fabs({_D}) <= beta ? T(0.5) * {_D} * {_D}"
                          f" : beta * (fabs({_D}) - T(0.5) * beta)"),
    "huber_loss:slope": _E("gy x y", "beta scale",
                           f=f"bottom(top({_D}, -beta), beta) * (gy * scale)"),
    "binary_cross_entropy:each": _E("x y", "beta", f="(y - T(1)) * top(log1p(-x), T(-100)) - "
                                    "y * top(log(x), T(-100))"),
    "binary_cross_entropy:slope": _E("gy x y", "beta scale",
                                     f="(x - y) / top((T(1) - x) * x, T(1e-12)) * (gy * scale)"),
    "binary_cross_entropy_with_logits:each": _E(
        "x y", "beta", f="top(x, T(0)) - x * y + log1p(exp(-fabs(x)))"),
    "binary_cross_entropy_with_logits:slope": _E(
        "gy x y", "beta scale", f="(sigmoid(x) - y) * (gy * scale)"),
}  # fmt: skip

_INTERNAL = {"cast": _E("x", fiubc="x")}

TABLE: dict[str, Expression] = {
    **_ARITHMETIC, **_BITS, **_COMPARE, **_FUNCTIONS, **_SELECT, **_ACTIVATIONS,
    **_LOSSES, **_INTERNAL,
}  # fmt: skip


def named(what: str | Expression) -> Expression:
    """The table's entry of that name; expressions that `compile` made stand for themselves."""
    return what if what.__class__ is Expression else TABLE[what]  # type: ignore[return-value,index]


def expression(name: str) -> Expression | None:
    """The table's entry for a kernel, or None where it is no pointwise op."""
    return TABLE.get(name)
