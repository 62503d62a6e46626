"""Names of functions that compute number by number, so that they can be asked of the values alone."""

from __future__ import annotations

# Of several tensors of one shape, which broadcast.
POINTWISE = frozenset("""
    abs absolute acos acosh add addcdiv addcmul angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin
    asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor
    ceil celu clamp clamp_max clamp_min clip conj conj_physical copysign cos cosh deg2rad digamma div divide elu
    eq erf erfc erfinv exp exp2 expm1 expit fix float_power floor floor_divide fmax fmin fmod frac ge gelu greater
    greater_equal gt hardshrink hardsigmoid hardswish hardtanh heaviside hypot i0 isclose isfinite isinf isnan
    isneginf isposinf isreal ldexp le leaky_relu lerp less less_equal lgamma log log10 log1p log2 log_sigmoid
    logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit logsigmoid lt masked_fill maximum
    minimum mish mul multiply mvlgamma nan_to_num ne neg negative nextafter not_equal polygamma positive pow
    rad2deg reciprocal relu relu6 remainder round rsqrt rsub selu sgn sigmoid sign signbit silu sin sinc sinh
    softplus softshrink softsign sqrt square sub subtract tan tanh tanhshrink threshold true_divide trunc where
    xlogy
""".split())  # fmt: skip

# Of one tensor: copies, dtypes, devices, filling, and random numbers.
OF_VALUES = frozenset("""
    alpha_dropout bfloat16 bool byte char clone cpu cuda detach detach_ dropout double empty_like fill_ float
    full_like half int long normal_ ones_like pin_memory rand_like randint_like randn_like short to type uniform_
    bernoulli_ zero_ zeros_like
""".split())  # fmt: skip

# Python's operators, where they are not methods by their own name.
_OPERATORS = {
    "rsub": "rsub", "rtruediv": "reciprocal", "rpow": "pow", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "rand": "bitwise_and", "ror": "bitwise_or", "rxor": "bitwise_xor",
    "invert": "bitwise_not", "floordiv": "floor_divide", "rfloordiv": "floor_divide", "mod": "remainder", "rmod": "remainder",
    "truediv": "div", "radd": "add", "rmul": "mul", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "add": "add", "sub": "sub", "mul": "mul", "pow": "pow",
    "neg": "neg", "pos": "positive", "abs": "abs", "matmul": "matmul", "rmatmul": "rmatmul", "getitem": "getitem",
}  # fmt: skip


def plain_name(func: object) -> str:
    """What a function is called without the marks of operators; in-place forms keep theirs."""
    name = getattr(func, "__name__", str(func))
    if name.startswith("__"):
        return _OPERATORS.get(name.strip("_"), name)
    return name


def is_pointwise(name: str) -> bool:
    return name in POINTWISE or (name.endswith("_") and name[:-1] in POINTWISE)
