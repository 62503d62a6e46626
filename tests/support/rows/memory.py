"""Rows of copies and writes."""

from optable import D, Row, T

ALL = ("float32", "float64", "float16", "bfloat16")

ROWS = [
    Row("clone", T(3, 4), _dtypes=ALL),
    Row("Tensor.contiguous", T(2, 3, 2, 2), memory_format=D("channels_last")),
    Row("Tensor.is_contiguous", T(3, 4), _meta=False),
    Row("detach", T(3, 4), _grad=False),
    Row("fill", T(3, 4), 2.5, _inplace=True),
    Row("fill", T(3, 4), T(), _id="tensor"),
    Row("Tensor.is_same_size", T(2, 3), T(2, 3), _grad=False),
    Row("Tensor.dim_order", T(2, 3), _grad=False),
]
