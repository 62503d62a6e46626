"""Rows for convolutions and their transposed forms."""

from optable import Row, T

HALVES = ("float32", "float64", "float16", "bfloat16")

ROWS = [
    Row("F.conv1d", T(2, 3, 7), T(4, 3, 3), T(4), _dtypes=HALVES),
    Row("F.conv1d", T(1, 2, 5), T(2, 2, 2)),
    Row("F.conv1d", T(3, 7), T(2, 3, 3), T(2), stride=2, padding=1),
    Row("F.conv1d", T(1, 2, 6), T(2, 2, 3), padding="valid"),
    Row("F.conv2d", T(2, 1, 4, 4), T(2, 1, 3, 3), T(2)),
    Row("F.conv2d", T(2, 3, 6, 5), T(4, 3, 3, 2), T(4), _dtypes=("float32", "float64", "bfloat16")),
    Row("F.conv2d", T(1, 2, 5, 5), T(2, 1, 2, 1), groups=2, padding=(1, 0)),
    Row("F.conv2d", T(2, 4, 5, 5), T(6, 2, 3, 3), T(6), groups=2, dilation=2, padding=2),
    Row("F.conv2d", T(1, 4, 3, 3), T(4, 2, 2, 1), groups=2, dilation=(2, 1)),
    Row("F.conv2d", T(2, 3, 2, 2), T(2, 3, 1, 1), T(2)),
    Row("F.conv2d", T(2, 3, 3, 3), T(2, 3, 1, 1), stride=2),
    Row("F.conv2d", T(3, 4, 4), T(2, 3, 3, 3), T(2)),
    Row("F.conv2d", T(1, 1, 4, 5), T(1, 1, 3, 2), padding="same", dilation=(1, 2)),
    Row("F.conv2d", T(0, 2, 4, 4), T(2, 2, 3, 3), T(2)),
    Row("F.conv2d", T(1, 2, 3, 3, dtype="complex"), T(2, 2, 2, 2, dtype="complex")),
    Row("F.conv3d", T(1, 2, 3, 3, 3), T(1, 2, 2, 2, 1)),
    Row("F.conv3d", T(2, 2, 4, 3, 5), T(4, 1, 2, 3, 2), T(4), stride=(1, 2, 1), padding=1, groups=2),
    Row("conv2d", T(1, 2, 4, 4), T(2, 2, 2, 2)),
    Row("F.conv_transpose1d", T(2, 3, 4), T(3, 2, 3), T(2), stride=2, _dtypes=HALVES),
    Row("F.conv_transpose1d", T(3, 4), T(3, 2, 3)),
    Row("F.conv_transpose2d", T(1, 2, 3, 3), T(2, 1, 2, 2), dilation=2, output_padding=1),
    Row("F.conv_transpose3d", T(1, 2, 2, 2, 2), T(2, 1, 2, 1, 2), T(1), stride=(1, 2, 2)),
    Row("convolution", T(1, 2, 4, 4), T(2, 2, 2, 2), T(2), [1], [0], [1], False, [0], 1),
    Row("convolution", T(1, 2, 3), T(2, 1, 2), T(1), [2], [0], [1], True, [1], 1),
    Row("conv_tbc", T(5, 2, 3), T(2, 3, 2), T(2), 1),
]
