"""Rows for pooling; values are distinct so that numeric derivatives see no tie."""

from optable import Row, T


def X(*shape):
    return T(*shape, kind="distinct")


HALVES = ("float32", "float64", "float16", "bfloat16")
NAN = float("nan")

ROWS = [
    Row("F.max_pool1d", X(3, 7), 3, 2, 1, return_indices=True),
    Row("F.max_pool2d", X(2, 1, 4, 4), 2, _dtypes=HALVES),
    Row("F.max_pool2d", X(1, 2, 5, 5), 2, ceil_mode=True, return_indices=True),
    Row("F.max_pool2d", X(0, 2, 4, 4), 2),
    Row("F.max_pool2d", T(1, 2, 4, 4, low=0, high=1, dtype="int"), 2, return_indices=True, _id="ties"),
    Row("F.max_pool2d", T(value=[[[1.0, NAN], [NAN, 2.0]]], grad=False), 2, return_indices=True,
        _id="nan"),
    Row("F.max_pool2d", T(value=[[[-float("inf")] * 3] * 3], grad=False), 2, 1, 1,
        return_indices=True, _id="minus-inf"),
    Row("F.max_pool2d_with_indices", X(1, 2, 4, 4), 2),
    Row("F.max_pool3d", X(1, 3, 4, 4), 2, 1, 1),
    Row("max_pool2d", X(1, 2, 4, 4), 2),
    Row("F.max_unpool1d", T(1, 2, 2), T(value=[[[1, 2], [0, 3]]], dtype="int"), 2),
    Row("F.max_unpool2d", T(1, 2, 2), T(value=[[[0, 3], [9, 14]]], dtype="int"), 2,
        output_size=(5, 5)),
    Row("F.max_unpool3d", T(1, 1, 1, 1, 2), T(value=[[[[[0, 3]]]]], dtype="int"), 2),
    Row("F.avg_pool1d", T(2, 3, 7), 3, 2, 1),
    Row("F.avg_pool2d", T(2, 1, 4, 4), 2, _dtypes=HALVES),
    Row("F.avg_pool2d", T(1, 1, 6, 7), 3, 4, 1, True, False),
    Row("F.avg_pool2d", T(1, 2, 5, 4), (2, 3), divisor_override=5),
    Row("F.avg_pool3d", T(1, 1, 4, 3, 3), 2, 1),
    Row("F.lp_pool1d", T(1, 2, 6, kind="positive"), 2.0, 2),
    Row("F.lp_pool2d", T(1, 2, 4, 4, kind="positive"), 3.0, 2, 1),
    Row("F.lp_pool3d", T(1, 2, 3, 3, 3, kind="positive"), 2.0, 2),
    Row("F.adaptive_avg_pool1d", T(1, 2, 7), 3),
    Row("F.adaptive_avg_pool2d", T(1, 2, 4, 6), (2, 3), _dtypes=HALVES),
    Row("F.adaptive_avg_pool2d", T(2, 2, 4, 3), 1),
    Row("F.adaptive_avg_pool2d", T(2, 5, 4), (3, None)),
    Row("F.adaptive_avg_pool2d", T(1, 2, 4, 3), (4, 3)),
    Row("F.adaptive_avg_pool3d", T(1, 2, 3, 3, 2), (2, 1, 3)),
    Row("F.adaptive_max_pool1d", X(2, 7), 3, return_indices=True),
    Row("F.adaptive_max_pool2d", X(1, 2, 4, 4), 1),
    Row("F.adaptive_max_pool2d", X(1, 2, 4, 4), (0, 2), _grad=False),
    Row("F.adaptive_max_pool3d", X(1, 2, 3, 3, 2), 2),
    Row("F.fractional_max_pool2d", X(2, 6, 5), (2, 3), None, (0.5, 0.6), False,
        T(value=[[[0.3, 0.8], [0.6, 0.1]]], grad=False)),
    Row("F.fractional_max_pool3d", X(1, 1, 4, 5, 6), 2, (2, 1, 4), None, True,
        T(value=[[[0.3, 0.8, 0.5]]], grad=False)),
    Row("max_pool1d_with_indices", X(1, 2, 6), 2),
]  # fmt: skip
