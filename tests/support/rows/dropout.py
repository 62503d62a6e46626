"""Rows of the dropouts."""

from optable import Row, T

ROWS = [
    # the CPU stream is torch's, but torch with MKL draws its masks elsewhere
    Row("F.dropout", T(3, 4), 1.0),
    Row("dropout", T(3, 4), 0.4, True, _nondet=True),
    Row("F.dropout1d", T(2, 3, 4), 0.4, _nondet=True),
    Row("F.dropout1d", T(2, 3), 0.4, False),
    Row("F.dropout2d", T(2, 3, 4, 2), 0.4, _nondet=True),
    Row("F.dropout3d", T(2, 3, 2, 2, 2), 0.4, _nondet=True),
    Row("F.dropout3d", T(3, 2, 2, 2), 0.4, _nondet=True),
    Row("F.alpha_dropout", T(3, 4), 0.4),
    Row("F.feature_alpha_dropout", T(2, 3, 4), 0.4, True, _nondet=True),
    Row("native_dropout", T(3, 4), 0.4, True, _nondet=True),
    Row(
        "ops.aten.native_dropout_backward",
        T(3, 4),
        T(3, 4, dtype="bool"),
        2.5,
        _dtypes=("float32", "float64", "float16", "bfloat16"),
    ),
]
