"""Rows of cumulative ops, differences and trapezoids."""

from optable import Row, T

_HALF = ("float16", "bfloat16", "float32", "float64")
_INF = float("inf")
_NAN = float("nan")
# More than 60 elements: no numeric derivative, which ties do not have.
_TIES = [float(i * i % 5) for i in range(64)]
_ZEROS = [[1.0, 0.0, 2.0, 3.0], [0.0, 3.0, 0.0, 1.5]]

SUMS = [
    Row("cumsum", T(3, 4), 1, _dtypes=_HALF, _inplace=True, _out=True),
    Row("cumsum", T(3, 4, dtype="complex"), 0),
    Row("cumprod", T(3, 4), 1, _dtypes=("float32", "float64"), _inplace=True, _out=True),
    Row("cumprod", T(2, 3, 3), dim=-2, _dtypes=_HALF),
    Row("cumprod", T(value=_ZEROS), 1, _id="zeros"),
    Row("cumprod", T(3, 4, dtype="complex"), 0),
    Row("logcumsumexp", T(3, 5), 1, _dtypes=_HALF, _out=True),
    Row("logcumsumexp", T(3, 5, low=-300, high=300), 0),
    Row("logcumsumexp", T(value=[-_INF, -_INF, 1.0, 2.0]), 0, _id="-inf", _grad=False),
]

EXTREMES = [
    Row(name, *args, **options)
    for name in ("cummax", "cummin")
    for args, options in [
        ((T(3, 5, kind="distinct"), 1), {"_out": True, "_dtypes": _HALF}),
        ((T(3, 5, kind="distinct"), 0), {}),
        ((T(64, value=_TIES), 0), {"_id": "ties"}),
        ((T(value=[1.0, _NAN, 2.0, _NAN, 0.0]), 0), {"_id": "nan", "_grad": False}),
        ((T(3, 4, dtype="int"), 1), {}),
        ((T(), 0), {}),
        ((T(0, 3), 0), {}),
    ]
]

DIFFERENCES = [
    Row("diff", T(3, 4), _out=True),
    Row("diff", T(3, 4), 2, 0),
    Row("diff", T(3, 4), 0),
    Row("trapezoid", T(3, 4)),
    Row("trapezoid", T(3, 4), T(3, 4), dim=0),
    Row("trapezoid", T(2, 3, 4), T(3), dim=1),
    Row("trapz", T(3, 4), T(4)),
    Row("cumulative_trapezoid", T(3, 4)),
    Row("cumulative_trapezoid", T(3, 4), T(3), dim=0),
    Row("gradient", T(3, 4), dim=1, spacing=2.0),
    Row("gradient", T(3, 4), dim=(0, 1), edge_order=2),
    Row("gradient", T(6), spacing=(T(value=[0.0, 1.0, 3.0, 4.0, 5.5, 9.0], grad=False),)),
    Row("gradient", T(6), spacing=(T(value=[0.0, 1.0, 3.0, 4.0, 5.5, 9.0], grad=False),), edge_order=2),
    Row("gradient", T(3, 4, dtype="int")),
]

ROWS = [*SUMS, *EXTREMES, *DIFFERENCES]
