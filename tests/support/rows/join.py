"""Rows of joining, repeating, reordering and grids."""

from optable import Row, T

I = "int64"

ROWS = [
    Row("cat", [T(2, 3), T(1, 3)], _out=True),
    Row("cat", [T(2, 3), T(2, 1)], dim=1, _dtypes=("float32", "float64", "bfloat16", "float16")),
    Row("cat", [T(2, 3), T(2, 3, dtype="int")], dim=-1),
    Row("concat", [T(2), T(3)]),
    Row("concatenate", [T(2), T(3)]),
    Row("stack", [T(2, 3), T(2, 3)], _out=True),
    Row("hstack", [T(), T(2)]),
    Row("vstack", [T(3), T(2, 3)]),
    Row("row_stack", [T(3), T(3)]),
    Row("dstack", [T(3), T(3)]),
    Row("column_stack", [T(2), T(2, 2)]),
    Row("atleast_1d", T()),
    Row("atleast_2d", T(3)),
    Row("atleast_3d", T(3), T()),
    Row("Tensor.repeat", T(2, 3), 0, 2),
    Row("tile", T(2, 3), (2,)),
    Row("Tensor.tile", T(2, 3), 2, 1),
    Row("repeat_interleave", T(3, 2), T(3, value=[1, 0, 2], dtype=I), dim=0, _meta=False),
    Row("repeat_interleave", T(3, value=[1, 0, 2], dtype=I), _meta=False),
    Row("flip", T(2, 3), (0, -1)),
    Row("Tensor.flip", T(2, 3), 1),
    Row("fliplr", T(2, 3)),
    Row("flipud", T(2, 3)),
    Row("roll", T(2, 3), 1),
    Row("rot90", T(2, 3)),
    Row("rot90", T(2, 3), 2, (0, 1)),
    Row("meshgrid", T(2), T(3), indexing="xy"),
    Row("cartesian_prod", T(2), T(3)),
    Row("cartesian_prod", T(3)),
    Row("combinations", T(4)),
    Row("combinations", T(3), 0),
    Row("block_diag", T(2, 2), T(1, 3)),
]
