"""Rows for unfold, fold and the shuffles."""

from optable import Row, T

ROWS = [
    Row("F.unfold", T(2, 4, 5), (2, 3), dilation=(1, 2), padding=1, stride=(2, 1)),
    Row("F.unfold", T(0, 2, 4, 5), 2),
    Row("F.fold", T(12, 6), (4, 5), (2, 3), dilation=(1, 2), padding=(0, 1), stride=(2, 1),
        _id="strided", _dtypes=("float32", "bfloat16")),
    Row("F.pixel_shuffle", T(1, 8, 2, 3), 2),
    Row("pixel_shuffle", T(4, 2, 3), 2),
    Row("F.pixel_unshuffle", T(2, 1, 4, 6), 2),
    Row("pixel_unshuffle", T(1, 4, 2), 2),
    Row("F.channel_shuffle", T(1, 6, 2, 2), 3),
    Row("channel_shuffle", T(1, 4, 2, 2), 2),
]  # fmt: skip
