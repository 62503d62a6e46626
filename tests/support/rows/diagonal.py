"""Rows of diagonals and triangles."""

from optable import Row, T

ROWS = [
    Row("diagonal", T(2, 3, 4), 0, -1, 0),
    Row("diag_embed", T(2, 3)),
    Row("diag", T(3)),
    Row("diag", T(3, 4), 1, _out=True),
    Row("diagflat", T(2, 2), 1),
    Row("trace", T(3, 4)),
    Row("tril", T(3, 4), _inplace=True, _out=True, _dtypes=("float32", "float64", "bfloat16")),
    Row("triu", T(3, 4), 1, _inplace=True),
    Row("tril_indices", 3, 4),
    Row("triu_indices", 3, 4, -1),
    Row("diagonal_scatter", T(3, 4), T(3)),
    Row("select_scatter", T(3, 4), T(4), 0, 1),
    Row("slice_scatter", T(3, 4), T(3, 2), 1, 0, None, 2),
    Row("as_strided_scatter", T(3, 4, grad=False), T(2, 2, grad=False), (2, 2), (4, 1), 1),
]
