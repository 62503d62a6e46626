"""Rows of softmax and its relatives."""

from optable import D, Row, T

ALL = ("float32", "float64", "float16", "bfloat16")
INF = float("inf")

ROWS = [
    Row("softmax", T(3, 4), 1, _out=True, _dtypes=ALL),
    Row("softmax", T(2, 3, 4), 0),
    Row("softmax", T(), 0),
    Row("softmax", T(0, 3), 1),
    Row("Tensor.softmax", T(3, 4), dim=1),
    Row("F.softmax", T(3, 4), dim=0),
    Row("_safe_softmax", T(3, 4), 1, _dtypes=ALL),
    Row("_safe_softmax", T(value=[[-INF, -INF], [0.0, -INF]], grad=False), -1, D("float64"), _id="masked"),
    Row("log_softmax", T(3, 4), 1, _out=True, _dtypes=ALL),
    Row("log_softmax", T(0, 3), 1),
    Row("Tensor.log_softmax", T(3, 4), -1),
    Row("F.log_softmax", T(3, 4), dim=1, dtype=D("float64")),
    Row("F.softmin", T(3, 4), dim=1),
]
