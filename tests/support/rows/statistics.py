"""Rows of variance, medians, quantiles, covariance, histograms, searching and unique."""

import numpy as np

from optable import Row, T

_HALF = ("float16", "bfloat16", "float32", "float64")
_NAN = float("nan")
# Ties share a gradient; more than 60 elements, so that no numeric derivative is asked for.
_TIES = [float(i * i % 5) for i in range(64)]
_HOLES = [[1.0, _NAN, 3.0, 2.0], [_NAN, _NAN, 0.5, 0.25]]


def distinct(*shape: int) -> T:
    return T(*shape, kind="distinct")


def _values_only(got: np.ndarray, want: np.ndarray) -> None:
    """Which of equal elements is found first is PyTorch's secret; indices are not compared."""
    if want.dtype.kind == "f":
        np.testing.assert_array_equal(got, want)


VARIANCE = [
    *[
        Row(name, *args, **options)
        for name in ("var", "std")
        for args, options in [
            ((T(3, 4),), {"_dtypes": _HALF}),
            ((T(3, 4), 1), {"_out": True}),
            ((T(3, 4), False), {}),
            ((T(3, 4), 1, False), {}),
            ((T(2, 3, 4), (0, 2)), {"keepdim": True, "correction": 0}),
            ((T(2, 3, 4),), {"dim": (0, 2), "correction": 2.5}),
            ((T(3, 4),), {"unbiased": False}),
            ((T(3, 4),), {"axis": 0}),
            ((T(3, 4, dtype="complex"), 1), {}),
            ((T(3, 4, low=1e4, high=1e4 + 1),), {"_id": "far from 0", "_tol": 1e-3, "_grad": False}),
        ]
    ],
    Row("std", T(value=[[1.0, 1.0], [2.0, 3.0]]), 1, _id="constant", _second=False),
    Row("var_mean", T(3, 4)),
    Row("var_mean", T(3, 4), 1, keepdim=True),
    Row("var_mean", T(3, 4), dim=0, correction=0),
    Row("std_mean", T(3, 4)),
    Row("std_mean", T(3, 4), (0, 1), False),
]

MIDDLE = [
    *[
        Row(name, *args, **options)
        for name in ("median", "nanmedian")
        for args, options in [
            ((distinct(3, 5),), {"_dtypes": _HALF}),
            ((distinct(3, 4), 1), {"_out": True, "_dtypes": _HALF}),
            ((distinct(3, 4), 0, True), {}),
            ((T(64, value=_TIES),), {"_id": "ties"}),
            ((T(value=_HOLES),), {"_id": "nan", "_grad": False}),
            ((T(value=_HOLES), 1), {"_id": "nan along 1", "_grad": False}),
            ((T(7, dtype="int"),), {}),
            ((T(),), {}),
            ((T(), 0), {}),
            ((T(0, 2), 1), {}),
        ]
    ],
    Row("mode", T(3, 8, dtype="int"), 0, True, _out=True),
    Row("mode", distinct(3, 4), _grad=False),
    Row("mode", T(64, value=_TIES), _id="two as frequent", _grad=False, _compare=_values_only),
    Row("mode", T()),
]

_Q = T(value=[0.0, 0.3, 0.5, 1.0], grad=False)

QUANTILES = [
    *[
        Row("quantile", distinct(3, 4), 0.35, dim=1, interpolation=how)
        for how in ("linear", "lower", "higher", "midpoint", "nearest")
    ],
    Row("quantile", distinct(3, 4), 0.6, _out=True),
    Row("quantile", distinct(2, 3, 4), _Q, 1, True),
    Row("quantile", distinct(2, 3, 4), 0.2, 0, True),
    Row("quantile", T(value=_HOLES), _Q, 1, _id="nan", _grad=False),
    Row("nanquantile", T(value=_HOLES), _Q, 1, _id="nan", _grad=False),
    Row("nanquantile", T(value=_HOLES), 0.5, _id="nan of all", _grad=False),
    Row("nanquantile", distinct(3, 4), 0.5, 0, True),
]

COVARIANCE = [
    Row("cov", T(3, 5, dtype="int")),
    Row("cov", T(3, 5, dtype="complex")),
    Row("cov", T(3, 5), fweights=T(5, dtype="int", low=1, high=4)),
    Row("cov", T(3, 5), aweights=T(5, low=0.5, high=2.0, grad=False)),
    Row("corrcoef", T(3, 5), _tol=1e-5),
    Row("corrcoef", T(5), _grad=False),
]

COUNTING = [
    Row("histc", T(40, grad=False), 5, -1, 1, _out=True),
    Row("histc", T(40, grad=False), bins=6),
    Row("histc", T(0, grad=False), bins=3),
    Row("histogram", T(40, grad=False), 5, _out=True),
    Row("histogram", T(40, grad=False), 4, range=(-1.0, 1.5), density=True),
    Row("histogram", T(40, grad=False), T(value=[-1.0, 0.0, 0.25, 2.0], grad=False)),
    Row("bincount", T(20, dtype="index:6"), T(20, grad=False), _meta=False),
    Row("bincount", T(0, dtype="index:6"), minlength=2, _meta=False),
    Row("searchsorted", T(value=[-1.0, 0.0, 1.0, 1.5], grad=False), T(3, 4, grad=False), _out=True),
    Row("searchsorted", T(value=[[0, 1, 1, 3], [-2, -1, 0, 2]], dtype="int"), T(2, 7, dtype="int")),
    Row("searchsorted", T(value=[3, 1, 0], dtype="int"), T(5, dtype="int"), sorter=T(value=[2, 1, 0], dtype="int")),
    Row("searchsorted", T(value=[0.0, 1.0, 2.0], grad=False), 1.5),
    Row("bucketize", T(3, 4, grad=False), T(value=[-1.0, 0.0, 1.0], grad=False), _out=True),
    Row("bucketize", T(9, dtype="int"), T(value=[-1, 0, 1], dtype="int"), right=True, out_int32=True),
    Row("unique", T(value=[3.0, _NAN, 1.0, _NAN], grad=False), return_counts=True, _meta=False),
    Row("unique", T(6, 2, dtype="int", low=0, high=1), dim=0, return_inverse=True,
        return_counts=True, _meta=False),
    Row("unique", T(2, 6, dtype="bool"), dim=1, _meta=False),
    Row("unique_consecutive", T(12, dtype="int", low=0, high=1), return_inverse=True,
        return_counts=True, _meta=False),
    Row("unique_consecutive", T(2, 9, dtype="int", low=0, high=1), dim=1, return_counts=True,
        return_inverse=True, _meta=False),
]  # fmt: skip

ROWS = [*VARIANCE, *MIDDLE, *QUANTILES, *COVARIANCE, *COUNTING]
