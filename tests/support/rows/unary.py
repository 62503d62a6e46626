"""Rows of the one-operand functions."""

from __future__ import annotations

import math

from optable import Row, T

ALL_FLOATS = ("float32", "float64", "float16", "bfloat16")

# Name and the interval its samples come from.
SMOOTH = {
    "neg": (-2, 2), "exp": (-2, 2), "exp2": (-2, 2), "expm1": (-2, 2), "log": (0.3, 4),
    "log2": (0.3, 4), "log10": (0.3, 4), "log1p": (-0.5, 3), "sqrt": (0.3, 4), "rsqrt": (0.3, 4),
    "square": (-2, 2), "reciprocal": (0.3, 3), "sin": (-4, 4), "cos": (-4, 4), "tan": (-1.2, 1.2),
    "asin": (-0.8, 0.8), "acos": (-0.8, 0.8), "atan": (-3, 3), "sinh": (-2, 2), "cosh": (-2, 2),
    "tanh": (-2, 2), "asinh": (-2, 2), "acosh": (1.3, 4), "atanh": (-0.8, 0.8),
    "sigmoid": (-4, 4), "logit": (0.1, 0.9), "deg2rad": (-90, 90), "rad2deg": (-2, 2),
    "sinc": (0.1, 2.2),
}  # fmt: skip
STEPS = ("sign", "floor", "ceil", "round", "trunc", "frac")
TAKES_INTEGERS = [n for n in SMOOTH if n not in ("logit", "acosh", "atanh", "asin", "acos")]
COMPLEX = [n for n in SMOOTH if n not in ("logit", "deg2rad", "rad2deg")]
ALIASES = (
    "negative", "absolute", "arcsin", "arccos", "arctan", "arcsinh", "arctanh", "fix",
    "special.exp2", "special.expm1", "special.log1p", "special.sinc", "special.expit",
    "F.sigmoid", "F.tanh",
)  # fmt: skip
SPECIAL_VALUES = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -2.5]

ROWS = [
    *[Row(n, T(3, 4, low=a, high=b), _inplace=True, _out=True) for n, (a, b) in SMOOTH.items()],
    *[Row(n, T(5, low=a, high=b), _id="halves", _dtypes=("float16", "bfloat16"), _grad=False)
      for n, (a, b) in SMOOTH.items()],
    *[Row(n, T(low=a, high=b), _id="0d") for n, (a, b) in SMOOTH.items()],
    *[Row(n, T(2, 0, 3), _id="empty") for n in (*SMOOTH, *STEPS)],
    *[Row(n, T(4, dtype="int", low=1, high=5), _id="int", _dtypes=("float32",))
      for n in TAKES_INTEGERS],
    *[Row(n, T(4, dtype="complex", low=0.3, high=1.2), _id="complex") for n in COMPLEX],
    *[Row(n, T(3, 4, kind="distinct", low=-2.2, high=2.4), _inplace=True, _out=True,
          _dtypes=ALL_FLOATS) for n in STEPS],
    *[Row(n, T(3, low=0.1, high=0.8), _second=False) for n in ALIASES],
    Row("arccosh", T(3, low=1.2, high=2)),
    Row("abs", T(3, 4, kind="nonzero"), _inplace=True, _out=True, _dtypes=ALL_FLOATS),
    Row("abs", T(3, dtype="complex"), _id="complex"),
    Row("abs", T(3, dtype="int"), _id="int"),
    Row("sgn", T(3, dtype="complex"), _id="complex"),
    Row("sgn", T(3, 4), _inplace=True, _out=True, _dtypes=ALL_FLOATS, _grad=False),
    *[Row(n, T(6, dtype="int", low=-3, high=3), _id="int")
      for n in ("sign", "sgn", "floor", "ceil", "round", "trunc", "signbit", "nan_to_num", "positive")],
    *[Row(n, T(6, dtype="bool"), _id="bool", _dtypes=("float32",))
      for n in ("sign", "square", "exp", "sigmoid", "signbit", "nan_to_num")],
    *[Row(n, T(6, dtype="uint8", low=0, high=200), _id="uint8") for n in ("neg", "square", "abs", "sign")],
    Row("round", T(3, 4, low=-20, high=20), decimals=1, _inplace=True, _out=True),
    Row("round", T(dtype="float", value=[0.5, 1.5, 2.5, -0.5]), _id="halves to even", _grad=False),
    Row("special.round", T(3)),
    Row("special.logit", T(4, low=0.1, high=0.9), eps=1e-6),
    Row("signbit", T(value=SPECIAL_VALUES), _id="special values"),
    Row("frexp", T(3, 4, low=-9, high=9), _second=False),
    Row("nan_to_num", T(value=SPECIAL_VALUES, grad=False), _inplace=True, _out=True, _id="default",
        _dtypes=ALL_FLOATS),
    Row("nan_to_num", T(4), _id="finite"),
    Row("sigmoid", T(value=[-1000.0, -90.0, 0.0, 90.0, 1000.0]), _id="far out"),
    *[Row(n, T(value=SPECIAL_VALUES, grad=False), _id="special values")
      for n in (*SMOOTH, *STEPS, "abs")],
]  # fmt: skip
