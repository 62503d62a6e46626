"""Rows of sums, means, products, norms, and the largest and smallest."""

from optable import D, Row, T

_HALF = ("float16", "bfloat16", "float32", "float64")
_INF = float("inf")
_NAN = float("nan")
_HOLES = [[1.0, _NAN, 3.0], [_NAN, _NAN, 0.5]]
# Subgradients: PyTorch is the judge, not a numeric derivative, which is for rows of few elements.
_TIES = [[float(i * j % 7) for i in range(8)] for j in range(8)]

SUMS = [
    Row("sum", T(3, 4), _dtypes=_HALF),
    Row("sum", T(3, 4), dim=1, _out=True),
    Row("sum", T(3, 4), axis=1, keepdims=True),
    Row("sum", T(3, 4, dtype="bool"), dim=0),
    Row("sum", T(3, 4, dtype="complex"), dim=0),
    Row("sum", T(1100, 3), dim=0, _id="rows in blocks"),
    Row("sum", T(2, 1100, 3), dim=(1, 2), _id="two dims in blocks"),
    Row("Tensor.sum_to_size", T(2, 3, 4), 3, 1),
    Row("Tensor.sum_to_size", T(2, 3, 4), (1, 3, 4)),
    Row("mean", T(3, 4), dim=1, _out=True),
    Row("mean", T(2, 3, 4), (0, 1), True, _dtypes=_HALF),
    Row("mean", T(3, 4, dtype="int"), dtype=D("float32")),
    Row("mean", T(3, 4, dtype="complex")),
    Row("nansum", T(value=_HOLES), _id="all", _second=False),
    Row("nansum", T(value=_HOLES), dim=1, keepdim=True, _id="dim", _second=False),
    Row("nansum", T(3, 4), dim=0, _out=True),
    Row("nanmean", T(value=_HOLES), _id="all", _second=False),
    Row("nanmean", T(value=_HOLES), dim=1, _id="dim", _second=False),
    Row("nanmean", T(3, 4), dim=(0, 1), keepdim=True),
    Row("count_nonzero", T(3, 4, dtype="int")),
    Row("count_nonzero", T(3, 4), dim=1),
    Row("count_nonzero", T(2, 3, 4, dtype="bool"), dim=(0, 2)),
    Row("hash_tensor", T(3, 4), 1, keepdim=True, _dtypes=_HALF, _since="2.9"),
    Row("hash_tensor", T(2, 3, 4, dtype="int8"), (0, 2), _out=True, _since="2.9"),
    Row("logsumexp", T(3, 4), dim=1, _dtypes=_HALF, _out=True),
    Row("logsumexp", T(3, 4), (0, 1), True),
    Row("logsumexp", T(3, 4, low=200, high=900), 0),
    Row("logsumexp", T(2, 0), 1),
    Row("logsumexp", T(value=[[-_INF, -_INF], [1.0, -_INF]]), 1, _id="-inf", _grad=False),
    Row("special.logsumexp", T(3, 4), 1),
]

PRODUCTS = [
    Row("prod", T(3, 4), _dtypes=_HALF),
    Row("prod", T(3, 4), 1, _out=True),
    Row("prod", T(3, 4), dim=0, keepdim=True),
    Row("prod", T(value=[[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]), _id="zeros"),
    Row("prod", T(value=[[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]), 1, _id="zeros along 1"),
    Row("prod", T(3, 4, dtype="complex"), 1),
    Row("prod", T(), 0),
]

TRUTH = [
    Row("any", T(3, 4, dtype="int", low=0, high=1), 1, _out=True),
    Row("any", T(2, 3, 4, dtype="bool"), (0, 2), True),
    Row("any", T(3, 4, dtype="uint8", low=0, high=1), dim=0),
    Row("any", T(3, 4), _dtypes=_HALF),
    Row("all", T(2, 3, 4, dtype="bool"), (0, 2), True, _out=True),
    Row("all", T(3, 4, dtype="bool"), dim=()),
    Row("all", T(3, 4, dtype="uint8", low=0, high=1), dim=0),
    Row("all", T(3, 4), _dtypes=_HALF),
]


def _extremes(name: str) -> list[Row]:
    return [
        Row(name, T(3, 4, kind="distinct"), 1, _dtypes=_HALF),
        Row(name, T(2, 3, 4, kind="distinct"), dim=-2, keepdim=True, _out=True),
        Row(name, T(3, 4, kind="distinct"), T(3, 4)),
        Row(name, T(8, 8, value=_TIES), _id="ties"),
        Row(name, T(value=[[1.0, _NAN], [_NAN, 0.0]]), _id="nan", _second=False, _grad=False),
        Row(name, T(value=[[1.0, _NAN], [3.0, 0.0]]), 1, _id="nan along 1", _grad=False),
        Row(name, T(3, 4, dtype="int")),
        Row(name, T(3, 4, dtype="int", low=-9, high=9), 0),
        Row(name, T(), 0),
        Row("a" + name, T(3, 4, kind="distinct"), _dtypes=_HALF),
        Row("a" + name, T(3, 4, kind="distinct"), 1, _out=True),
        Row("a" + name, T(2, 3, 4, kind="distinct"), (0, 2), True),
        Row("a" + name, T(8, 8, value=_TIES), 1, _id="ties"),
        Row("a" + name, T(8, 8, value=_TIES), _id="ties of all"),
        Row("a" + name, T(3, 4, dtype="int"), 0),
        Row("arg" + name, T(3, 4), _dtypes=_HALF),
        Row("arg" + name, T(3, 4), 1, _out=True),
        Row("arg" + name, T(2, 3, 4), -2, True),
        Row("arg" + name, T(3, 4), keepdim=True),
        Row("arg" + name, T(8, 8, value=_TIES), 1, _id="ties"),
        Row("arg" + name, T(value=[[1.0, _NAN, 9.0, _NAN]]), _id="nan"),
        Row("arg" + name, T(3, 4, dtype="int"), 0),
        Row("arg" + name, T()),
    ]


EXTREMES = [
    *_extremes("max"),
    *_extremes("min"),
    Row("aminmax", T(3, 4, kind="distinct"), _dtypes=_HALF, _grad_since="2.13"),
    Row("aminmax", T(3, 4, kind="distinct"), dim=1, keepdim=True, _out=True, _grad_since="2.13"),
    Row("aminmax", T(3, 4, dtype="int"), dim=0),
]

NORMS = [
    *[
        Row(name, T(3, 4, kind="distinct", high=1.3), p)
        for name in ("linalg.vector_norm", "norm")
        for p in (0, 0.5, 1, 1.5, 2, 3, _INF, -_INF, -1.5)
    ],
    Row("norm", T(3, 4), _dtypes=_HALF),
    Row("norm", T(3, 4), dtype=D("float64")),
    Row("norm", T(3, 4, dtype="complex")),
    Row("norm", T(2, 3, 4), "nuc", dim=(1, 2), _tol=1e-5),
    Row("Tensor.norm", T(3, 4), 2, 0),
    Row("linalg.vector_norm", T(2, 3, 4), 3, (0, 2), True, _out=True),
    Row("linalg.vector_norm", T(value=[[0.0, 0.0], [3.0, 4.0]]), 2, 1, _id="zero", _second=False),
    Row("linalg.vector_norm", T(value=[[0.0, 0.0], [3.0, 0.0]]), 3, 1, _id="zeros of 3", _second=False),
    Row("linalg.vector_norm", T(8, 8, value=_TIES), _INF, _id="ties"),
    Row("dist", T(3, 4), T(3, 4)),
    Row("dist", T(3, 4), T(4), 1),
]

_SEEN = T(value=[[True, False, True, True], [False, False, True, True]], dtype="bool")
MASKED = [
    Row(f"masked.{name}", T(2, 4, kind="distinct"), 1, mask=_SEEN)
    for name in "sum amax amin mean var std logsumexp softmax cumsum argmax median".split()
]

ROWS = [*SUMS, *PRODUCTS, *TRUTH, *EXTREMES, *NORMS, *MASKED]
