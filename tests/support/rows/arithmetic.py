"""Rows of two-operand arithmetic, of pairs and of bits."""

from __future__ import annotations

import math

from optable import Row, T

HALVES = ("float32", "float64", "float16", "bfloat16")
POSITIVE = "positive"

ARITHMETIC = [
    *[Row(n, T(3, 4), T(3, 4, kind=POSITIVE), _inplace=True, _out=True, _dtypes=HALVES)
      for n in ("add", "sub", "mul", "div", "true_divide")],
    *[Row(n, T(3, 4), T(4, kind=POSITIVE), _id="broadcast", _out=True) for n in ("add", "sub", "mul", "div")],
    *[Row(n, T(3, 1), T(1, 4, kind=POSITIVE), _id="outer") for n in ("add", "sub", "mul", "div")],
    *[Row(n, T(), T(kind=POSITIVE), _id="0d") for n in ("add", "sub", "mul", "div", "pow")],
    *[Row(n, T(0, 3), T(3), _id="empty") for n in ("add", "sub", "mul", "div", "pow")],
    *[Row(n, T(0, 3, dtype="int"), by, _id=f"empty by {by}", _grad=False)
      for n in ("floor_divide", "remainder", "fmod") for by in (0, 2)],
    *[Row(n, T(3), 2.5, _id="number", _dtypes=HALVES) for n in ("add", "sub", "mul", "div")],
    *[Row(n, 2.5, T(3, kind=POSITIVE), _id="number first") for n in ("add", "sub", "mul", "div")],
    *[Row(n, T(3, dtype="int"), T(3, kind=POSITIVE), _id="int with float") for n in ("add", "sub", "mul", "div")],
    *[Row(n, T(3, dtype="int"), 2.5, _id="int with number") for n in ("add", "sub", "mul", "div")],
    *[Row(n, T(3, dtype="int"), T(3, dtype="int", low=1, high=5), _id="int")
      for n in ("add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "pow")],
    *[Row(n, T(3, dtype="uint8", low=0, high=9), T(3, dtype="int32", low=1, high=5), _id="small ints")
      for n in ("add", "sub", "mul", "div", "floor_divide", "remainder", "fmod", "pow")],
    *[Row(n, T(3, dtype="bool"), T(3, dtype="bool"), _id="bool") for n in ("add", "mul")],
    *[Row(n, T(3, dtype="complex"), T(3, dtype="complex"), _id="complex")
      for n in ("add", "sub", "mul", "div", "pow")],
    *[Row(n, T(3, kind=POSITIVE), T(3, dtype="complex"), _id="real with complex")
      for n in ("add", "sub", "mul", "div")],
    *[Row(n, T(3), 1j, _id="real with complex number") for n in ("add", "sub", "mul", "div")],
    *[Row(n, T(3), T(3, kind=POSITIVE), _inplace=True) for n in ("multiply", "divide", "subtract")],
    *[Row(f"Tensor.__{n}__", T(3, kind=POSITIVE), T(3, kind=POSITIVE), _second=False)
      for n in ("add", "sub", "mul", "truediv", "pow", "radd", "rsub", "rmul", "rtruediv", "rpow")],
    Row("rsub", T(3), T(3), alpha=2),
    *[Row("div", T(3, 4, low=-5, high=5), T(4, kind="nonzero"), rounding_mode=m, _out=True, _second=False)
      for m in ("floor", "trunc")],
    *[Row("div", T(5, dtype="int", low=-9, high=9), T(5, dtype="int", low=2, high=4), rounding_mode=m)
      for m in ("floor", "trunc")],
    *[Row(n, T(3, 4, low=-5, high=5), T(4, kind="nonzero"), _inplace=True, _out=True, _second=False,
          _grad=n != "floor_divide") for n in ("floor_divide", "remainder", "fmod")],
    *[Row(n, T(3, 4, low=-5, high=5), 1.5, _second=False, _grad=n != "floor_divide")
      for n in ("floor_divide", "remainder", "fmod")],
    *[Row(n, T(8, dtype="int", low=-9, high=9), 4, _id="negative ints")
      for n in ("floor_divide", "remainder", "fmod")],
    *[Row(n, T(value=[1.0, -1.0, 0.0, math.inf, math.nan]), 0.0, _id="by zero", _grad=False)
      for n in ("div", "floor_divide", "remainder", "fmod")],
    Row("Tensor.__rfloordiv__", T(3, kind=POSITIVE), 5.0, _grad=False),
    Row("Tensor.__rmod__", T(3, kind=POSITIVE), 5.0, _grad=False),
    *[Row("pow", T(3, 4, kind="nonzero"), p, _inplace=True, _out=True) for p in (0, 1, 2, 3, -1, 2.0)],
    *[Row("pow", T(3, 4, kind=POSITIVE), p) for p in (0.5, -0.5, 1.7)],
    Row("pow", 2, T(3)),
    Row("pow", T(value=[0.0, 0.0, 0.0]), T(value=[0.0, 1.0, 2.0]), _id="zero base", _second=False,
        _grad=False),
    Row("float_power", T(3, kind=POSITIVE), 2),
]  # fmt: skip

APART = {"kind": "distinct", "low": -2, "high": 2}
PAIRS = [
    *[Row(n, T(3, 4, **APART), T(4, low=-1, high=1), _out=True, _dtypes=HALVES)
      for n in ("maximum", "minimum", "fmax", "fmin")],
    *[Row(n, T(value=[math.nan, 2.0, math.inf]), T(value=[1.0, math.nan, 1.0]), _id="nan", _grad=False)
      for n in ("maximum", "minimum", "fmax", "fmin")],
    *[Row(n, T(5, dtype="int"), T(5, dtype="int"), _id="int")
      for n in ("maximum", "minimum", "fmax", "fmin", "atan2", "copysign", "heaviside")],
    *[Row(n, T(), T(), _id="0d") for n in ("maximum", "hypot", "atan2", "logaddexp")],
    *[Row(n, T(0), T(0), _id="empty") for n in ("maximum", "hypot", "atan2", "logaddexp", "gcd")
      if n != "gcd"],
    *[Row(n, T(3, 4, kind="nonzero"), T(4, kind="nonzero"), _inplace=True, _out=True, _dtypes=HALVES)
      for n in ("hypot", "atan2")],
    Row("arctan2", T(3, kind="nonzero"), T(3), _inplace=True),
    Row("copysign", T(3, 4, kind="nonzero"), T(4, kind="nonzero"), _inplace=True, _out=True, _second=False),
    Row("copysign", T(3, kind="nonzero"), -1.0, _second=False),
    Row("nextafter", T(3, grad=False), T(3, grad=False), _inplace=True, _out=True),
    Row("ldexp", T(3), T(3, dtype="int", low=0, high=3), _out=True, _inplace=True),
    *[Row(n, T(3, 4), T(4), _out=True, _dtypes=HALVES) for n in ("logaddexp", "logaddexp2")],
    Row("logaddexp", T(3, dtype="complex"), T(3, dtype="complex")),
    Row("xlogy", T(3, 4), T(4, kind=POSITIVE), _inplace=True, _out=True, _dtypes=HALVES),
    Row("xlogy", T(3), 2.0),
    Row("xlogy", T(value=[0.0, 0.0, 1.0]), T(value=[0.0, math.nan, 0.0]), _id="zeros", _grad=False),
    Row("special.xlogy", T(3), T(3, kind=POSITIVE)),
    Row("special.xlog1py", T(3, 4), T(4, kind=POSITIVE), _out=True),
    Row("heaviside", T(value=[-1.0, 0.0, 2.0], grad=False), T(grad=False), _inplace=False, _out=True),
    *[Row(n, T(3, 4, dtype="int", low=-30, high=30), T(4, dtype="int", low=-30, high=30), _inplace=True,
          _out=True) for n in ("gcd", "lcm")],
    Row("gcd", T(4, dtype="uint8", low=0, high=90), T(4, dtype="uint8", low=0, high=90), _id="uint8"),
]  # fmt: skip

BITS = [
    *[Row(n, T(3, 4, dtype="int", low=-50, high=50), T(4, dtype="int", low=-50, high=50), _inplace=True,
          _out=True) for n in ("bitwise_and", "bitwise_or", "bitwise_xor")],
    *[Row(n, T(4, dtype="bool"), T(4, dtype="bool"), _inplace=True, _id="bool")
      for n in ("bitwise_and", "bitwise_or", "bitwise_xor")],
    *[Row(n, T(4, dtype="int", low=-50, high=50), 6) for n in ("bitwise_and", "bitwise_or", "bitwise_xor")],
    *[Row(n, 6, T(4, dtype="int", low=-50, high=50)) for n in ("bitwise_and", "bitwise_or", "bitwise_xor")],
    *[Row(f"Tensor.__{n}__", T(4, dtype="int", low=0, high=50), 3)
      for n in ("and", "or", "xor", "lshift", "rshift", "rand", "ror", "rxor", "rlshift", "rrshift")],
    *[Row(n, T(4, dtype="int", low=-50, high=50), T(4, dtype="int", low=0, high=5), _inplace=True, _out=True)
      for n in ("bitwise_left_shift", "bitwise_right_shift")],
    *[Row(n, T(4, dtype="int32", low=-50, high=50), 33, _id="beyond the width")
      for n in ("bitwise_left_shift", "bitwise_right_shift")],
    *[Row("bitwise_not", T(4, dtype=d), _inplace=True, _out=True) for d in ("int", "bool", "uint8")],
    Row("Tensor.__invert__", T(4, dtype="bool")),
    Row("Tensor.__neg__", T(4)),
    Row("Tensor.__pos__", T(4)),
    Row("Tensor.__abs__", T(4, kind="nonzero")),
]  # fmt: skip

ROWS = ARITHMETIC + PAIRS + BITS
