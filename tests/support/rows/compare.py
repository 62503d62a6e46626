"""Rows of comparisons, logic, choices between values and complex numbers."""

from __future__ import annotations

import math

from optable import Row, T

ORDER = ("eq", "ne", "lt", "le", "gt", "ge")
NAMES = ("not_equal", "less", "less_equal", "greater", "greater_equal")
ASK = ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal", "logical_not")
SPECIAL_VALUES = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5]
HALVES = ("float32", "float64", "float16", "bfloat16")

COMPARISONS = [
    *[Row(n, T(3, 4, dtype="int"), T(4, dtype="int"), _out=False) for n in ORDER],
    *[Row(n, T(3, 4), 0.5, _dtypes=HALVES) for n in ORDER],
    *[Row(n, T(3), T(2, 1)) for n in (*ORDER, *NAMES)],
    *[Row(n, T(5, dtype="int"), 0.5, _id="int with float") for n in ORDER],
    *[Row(n, T(5, dtype="bool"), T(5, dtype="bool"), _id="bool") for n in ORDER],
    *[Row(n, T(0, 3), T(3), _id="empty") for n in ORDER],
    *[Row(n, T(), T(), _id="0d") for n in ORDER],
    *[Row(f"Tensor.__{n}__", T(3), 0.1, _id="operator") for n in ORDER],
    *[Row(n, T(4, dtype="int"), T(4, dtype="int"), _inplace=True, _id="inplace") for n in ORDER],
    Row("eq", T(3, dtype="complex"), T(3, dtype="complex")),
    Row("eq", T(3), T(3), _out=True, _id="out"),
    *[Row(n, T(value=SPECIAL_VALUES), _dtypes=HALVES, _id="special values") for n in ASK],
    *[Row(n, T(5, dtype="int"), _id="int") for n in ASK],
    *[Row(n, T(dtype="int"), _id="0d int") for n in ASK],
    *[Row(n, T(5, dtype="complex"), _id="complex") for n in ("isnan", "isinf", "isfinite", "isreal")],
    Row("logical_not", T(5, dtype="bool"), _inplace=True, _out=True, _id="bool"),
    *[Row(n, T(3, 4, dtype="int"), T(4), _out=True) for n in ("logical_and", "logical_or", "logical_xor")],
    *[Row(n, T(4, dtype="bool"), T(4, dtype="bool"), _inplace=True)
      for n in ("logical_and", "logical_or", "logical_xor")],
    Row("isclose", T(value=[1.0, math.nan]), T(value=[1.1, math.nan]), rtol=0.2, equal_nan=True),
    Row("isclose", T(4, dtype="bool"), T(4, dtype="bool")),
    Row("allclose", T(3), T(3), atol=10.0, _meta=False),
    Row("equal", T(3, dtype="bool"), T(4, dtype="bool"), _meta=False),
    Row("equal", T(value=[1.0, 2.0]), T(value=[1.0, 2.0]), _meta=False, _id="same"),
    Row("is_nonzero", T(1), _meta=False),
    Row("is_same_size", T(3), T(3)),
    Row("isin", T(3, 4, dtype="int"), T(3, dtype="int")),
    Row("isin", 1, T(5, dtype="int")),
]  # fmt: skip

SELECTION = [
    Row("where", T(3, 4, dtype="bool"), T(3, 4), T(4), _out=True),
    Row("where", T(3, 1, dtype="bool"), T(4), 2.5, _dtypes=HALVES),
    Row("where", T(3, dtype="bool"), 1, 2),
    Row("where", T(3, dtype="bool"), 1.0, 2),
    Row("where", T(dtype="bool"), T(), T(), _id="0d"),
    Row("where", T(0, dtype="bool"), T(0), T(0), _id="empty"),
    Row("Tensor.where", T(3), T(3, dtype="bool"), T(3)),
    Row("masked_fill", T(3, 4), T(4, dtype="bool"), 1.5, _inplace=True, _dtypes=HALVES),
    Row("masked_fill", T(4), T(3, 4, dtype="bool"), -9.0, _id="widening"),
    Row("clamp", T(3, 4, kind="distinct"), -1.03, 1.01, _inplace=True, _out=True, _dtypes=HALVES),
    Row("clamp", T(3, kind="distinct"), 1.0, -1.0, _id="crossed"),
    Row("clamp", T(3, 4, kind="distinct"), T(4, low=-1, high=0), T(3, 1, low=0, high=1)),
    Row("clamp", T(4, kind="distinct"), min=T(4, low=-1, high=0), _id="one-sided"),
    Row("clamp", T(value=[math.nan, math.inf, -math.inf]), -1.0, 1.0, _id="special values", _grad=False),
    Row("clip", T(3, 4, kind="distinct"), -1.03, 1.01, _inplace=True),
    Row("clamp_min", T(3, 4, kind="distinct"), 0.1, _inplace=True, _out=True),
    Row("clamp_max", T(3, 4, kind="distinct"), 0.1, _inplace=True, _out=True),
    Row("F.threshold", T(3, 4, kind="distinct"), 0.1, -1.0),
    Row("threshold", T(4, dtype="int"), 0, 9),
    Row("lerp", T(3, 4), T(4), 0.3, _inplace=True, _out=True),
    Row("lerp", T(3, 4), T(3, 4), 0.7, _dtypes=HALVES),
    Row("lerp", T(3, 4), T(3, 4), T()),
    Row("lerp", T(3, dtype="complex"), T(3, dtype="complex"), 0.3),
    Row("addcmul", T(3, 4), T(3, 1), T(4), value=0.5, _inplace=True, _out=True, _dtypes=HALVES),
    Row("addcmul", T(3), T(3), T(3)),
    Row("addcmul", T(3, dtype="int"), T(3, dtype="int"), T(3, dtype="int"), value=2),
    Row("addcdiv", T(3, 4), T(3, 1), T(4, kind="positive"), value=0.5, _inplace=True, _out=True, _dtypes=HALVES),
    Row("addcdiv", T(3), T(3), T(3, kind="positive")),
]

COMPLEX = [
    Row("complex", T(), T(), _id="0d"),
    Row("polar", T(3, kind="positive"), T(3)),
    Row("real", T(3, 2, dtype="complex")),
    Row("imag", T(3, 2, dtype="complex")),
    Row("Tensor.real", T(3)),
    Row("Tensor.imag", T(3, dtype="complex")),
    Row("conj", T(3, dtype="complex")),
    Row("conj_physical", T(3, dtype="complex"), _inplace=True, _out=True),
    Row("resolve_conj", T(3, dtype="complex")),
    Row("resolve_neg", T(3, dtype="complex")),
    Row("is_conj", T(3)),
    Row("is_neg", T(3)),
    Row("is_complex", T(3, dtype="complex")),
    Row("is_floating_point", T(3)),
    Row("is_signed", T(3, dtype="int")),
    Row("angle", T(3, dtype="complex")),
    Row("angle", T(value=[-1.0, 0.0, 2.0, math.nan], grad=False), _id="special values"),
    Row("angle", T(4)),
    Row("view_as_real", T(dtype="complex"), _id="0d"),
    Row("view_as_complex", T(3, 2)),
    Row("Tensor.H", T(2, 3, dtype="complex")),
    Row("Tensor.mH", T(2, 2, 3, dtype="complex")),
    Row("Tensor.adjoint", T(2, 3)),
    Row("adjoint", T(2, 3, dtype="complex")),
]

ROWS = COMPARISONS + SELECTION + COMPLEX
