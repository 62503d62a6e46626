"""Rows of the embeddings."""

from optable import Row, T

ALL = ("float32", "float64", "float16", "bfloat16")
_BAGS = T(3, dtype="int", value=[0, 2, 2])

ROWS = [
    Row("F.embedding", T(2, 3, dtype="index:5"), T(5, 2), _dtypes=ALL),
    # padding and scaling only concern the gradient: tests/ops/test_functional.py
    Row("F.embedding", T(4, dtype="int", value=[3, 4, 0, 2]), T(5, 2), -4, scale_grad_by_freq=True),
    Row("embedding", T(5, 2), T(3, dtype="index:5")),
    Row("F.embedding", T(3, dtype="index:5"), T(5, 2, grad=False), max_norm=1.0, _meta=False),
]
for _mode in ("sum", "mean", "max"):
    for _padding in (None, 2):
        ROWS += [
            # the offsets decide the shape, so their values are read
            Row("F.embedding_bag", T(5, dtype="int", value=[4, 2, 0, 2, 3]), T(5, 2, kind="distinct"),
                _BAGS, mode=_mode, padding_idx=_padding, _meta=False, _grad=_padding is None),
            Row("F.embedding_bag", T(2, 3, dtype="int", value=[[1, 0, 2], [4, 1, 3]]),
                T(5, 2, kind="distinct"), mode=_mode, padding_idx=_padding,
                _grad=_padding is None, _meta=_mode != "max"),
        ]  # fmt: skip
ROWS += [
    Row("F.embedding_bag", T(5, dtype="index:5"), T(5, 2), _BAGS, mode="sum", per_sample_weights=T(5), _meta=False)
]
