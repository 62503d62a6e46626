"""Rows for padding."""

from optable import Row, T

ROWS = [
    Row("F.pad", T(2, 3), (1, 2), _dtypes=("float32", "float64", "float16", "bfloat16")),
    Row("F.pad", T(2, 3), (1, 2, 0, 1), "constant", 1.5),
    Row("F.pad", T(0, 3), (1, 1, 1, 0)),
    Row("F.pad", T(3, dtype="int"), (1, 1), value=7),
    Row("F.pad", T(2, 3, 4), (2, 5), mode="replicate"),
    Row("F.pad", T(1, 2, 3, 4), (2, 4, 3, 0), mode="circular"),
    Row("F.pad", T(0, 3, 4), (1, 2), mode="reflect"),
    Row("constant_pad_nd", T(2, 3), (1, 2)),
]
