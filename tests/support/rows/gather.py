"""Rows of gather, scatter, index_* and masks."""

from optable import Row, T


def at(*shape: int, size: int) -> T:
    return T(*shape, dtype=f"index:{size}")


def fixed(value: list) -> T:
    return T(value=value, dtype="int64")


MASK = T(2, 3, value=[[True, False, True], [False, True, False]], dtype="bool")
NO_META = {"_meta": False}
REPEATED = fixed([[0, 1, 0], [1, 1, 0]])

ROWS = [
    Row("gather", T(3, 4), 0, at(2, 4, size=3), _out=True),
    Row("gather", T(3, 4), 1, at(2, 3, size=4)),
    Row("gather", T(), 0, fixed(0)),
    Row("gather", T(3, 4), 1, T(3, 2, dtype="index:4"), _dtypes=("bfloat16", "float16")),
    Row("take_along_dim", T(3, 4), at(3, 1, size=4), 1),
    Row("take_along_dim", T(3, 4), at(5, size=12)),
    Row("scatter", T(3, 4), 0, fixed([[0, 1, 2, 0]]), T(1, 4), _inplace=True),
    Row("scatter", T(3, 4), 1, fixed([[1, 1]]), 2.0, reduce="add", _grad=False),
    Row("scatter", T(), 0, fixed(0), T()),
    Row("scatter_add", T(3, 4), 0, at(2, 3, size=3), T(2, 3), _inplace=True),
    Row("scatter_add", T(3, 4), 1, at(3, 2, size=4), T(3, 2), _dtypes=("bfloat16",), _tol=0.05),
    Row("scatter_reduce", T(2, 3), 0, REPEATED, T(2, 3), "sum", _inplace=True),
    Row("scatter_reduce", T(2, 3), 0, REPEATED, T(2, 3), "mean"),
    Row("scatter_reduce", T(2, 3), 0, REPEATED, T(2, 3), "mean", include_self=False),
    Row("scatter_reduce", T(2, 3), 0, REPEATED, T(2, 3, kind="nonzero"), "prod", include_self=False),
    Row("scatter_reduce", T(2, 3, kind="distinct"), 0, REPEATED, T(2, 3, kind="distinct", high=1.9), "amax"),
    Row(
        "scatter_reduce",
        T(2, 3, kind="distinct"),
        1,
        REPEATED,
        T(2, 3, kind="distinct", high=1.9),
        "amin",
        include_self=False,
    ),
    Row("index_select", T(3, 4), 0, at(5, size=3), _out=True),
    Row("index_select", T(3, 4), -1, fixed([3, 3])),
    Row("index_select", T(), 0, fixed([0])),
    Row("index_add", T(3, 4), 0, fixed([0, 0]), T(2, 4), _inplace=True),
    Row("index_add", T(3, 4), 1, fixed([1, 3]), T(3, 2), alpha=2.0),
    Row("index_copy", T(3, 4), 0, fixed([2, 0]), T(2, 4), _inplace=True),
    Row("index_fill", T(3, 4), 0, fixed([2, 0]), 1.5, _inplace=True),
    Row("index_fill", T(3, 4), 1, fixed(2), T(), _id="tensor"),
    Row("take", T(3, 4), fixed([[0, -1], [5, 5]])),
    Row("take", T(3, 4), at(3, size=12), _id="vector"),
    Row("Tensor.put", T(3, 4), fixed([[0, 7], [7, 1]]), T(4), accumulate=True),
    Row("masked_select", T(2, 3), MASK, **NO_META),
    Row("masked_scatter", T(2, 3), MASK, T(4), **NO_META, _inplace=True),
    Row("nonzero", T(3, 4, dtype="int", low=0, high=1), **NO_META),
    Row("nonzero", T(3, 4, dtype="bool"), as_tuple=True, **NO_META),
    Row("nonzero", T(dtype="int", low=1, high=1), **NO_META),
    Row("argwhere", T(3, 4, dtype="bool"), **NO_META),
    Row("nonzero_static", T(3, 4, dtype="bool"), size=4, **NO_META),
    Row("nonzero_static", T(2, dtype="bool"), size=4, fill_value=7, **NO_META),
    Row("F.one_hot", at(3, size=4), 4),
    Row("F.one_hot", fixed([[0, 2], [1, 1]]), **NO_META),
    Row("unravel_index", fixed([0, 5, 11]), (3, 4)),
]
