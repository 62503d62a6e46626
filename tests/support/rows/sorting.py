"""Rows of sort, topk and kthvalue."""

import numpy as np

from optable import Row, T

_HALF = ("float16", "bfloat16", "float32", "float64")
_NAN = float("nan")


def distinct(*shape: int) -> T:
    return T(*shape, kind="distinct")


def _values_only(got: np.ndarray, want: np.ndarray) -> None:
    """Which of equal elements is found first is PyTorch's secret; indices are not compared."""
    if want.dtype.kind == "f":
        np.testing.assert_array_equal(got, want)


ROWS = [
    Row("sort", distinct(3, 4), _dtypes=_HALF, _out=True),
    Row("sort", distinct(3, 4), 0),
    Row("sort", distinct(2, 3, 4), dim=1, descending=True),
    Row("sort", T(value=[1.0, _NAN, 0.0, _NAN]), stable=True, _id="nan", _grad=False),
    Row("sort", T(value=[1.0, _NAN, 0.0, _NAN]), descending=True, stable=True, _id="nan falling", _grad=False),
    Row("sort", T()),
    Row("argsort", distinct(3, 4), dim=0, descending=True),
    Row("argsort", T(20, dtype="int"), stable=True),
    Row("msort", distinct(3, 4), _out=True),
    Row("topk", distinct(3, 5), 2, _dtypes=_HALF, _out=True),
    Row("topk", distinct(3, 5), 0),
    Row("topk", T(value=[1.0, _NAN, 3.0, 2.0]), 2, _id="nan", _grad=False),
    Row("topk", T(), 1),
    Row("kthvalue", distinct(3, 5), 2, _dtypes=_HALF, _out=True),
    Row("kthvalue", distinct(3, 5), 3, 0, True),
    Row("kthvalue", T(), 1),
]
