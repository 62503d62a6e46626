"""Rows of the normalisations."""

from optable import Row, T

ALL = ("float32", "float64", "float16", "bfloat16")


def still(*shape: int) -> T:
    return T(*shape, kind="positive", grad=False)


ROWS = [
    Row("F.batch_norm", T(5, 4), None, None, T(4), T(4), training=True, _dtypes=ALL),
    Row("F.batch_norm", T(3, 2, 4), None, None, training=True),
    Row("F.batch_norm", T(2, 3, 2, 2), None, None, T(3), T(3), True, 0.2, 1e-3),
    Row("F.batch_norm", T(5, 4), still(4), still(4), T(4), T(4), training=True),
    Row("F.batch_norm", T(3, 4, 2), still(4), still(4), T(4), T(4), _dtypes=ALL),
    Row("F.batch_norm", T(3, 4), still(4), still(4)),
    Row("F.layer_norm", T(3, 4), (4,), T(4), T(4), _dtypes=ALL),
    Row("F.layer_norm", T(3, 4), (4,)),
    Row("F.layer_norm", T(2, 3, 4), (3, 4), T(3, 4), T(3, 4)),
    Row("F.layer_norm", T(4), (4,), T(4)),
    Row("layer_norm", T(3, 4), [4], eps=0.1),
    Row("F.group_norm", T(2, 4, 3), 2, T(4), T(4), _dtypes=("float32", "float64")),
    Row("F.group_norm", T(3, 4), 2),
    Row("group_norm", T(2, 4, 2, 2), 4, T(4)),
    Row("F.instance_norm", T(2, 3, 4), weight=T(3), bias=T(3)),
    Row("F.instance_norm", T(2, 2, 3, 2)),
    Row("F.instance_norm", T(2, 3, 4), still(3), still(3), use_input_stats=False),
    Row("F.rms_norm", T(3, 4), (4,), T(4)),
    Row("F.rms_norm", T(2, 3, 4), (3, 4), eps=0.1, _dtypes=ALL),
    Row("rms_norm", T(4), [4]),
    Row("F.normalize", T(3, 4)),
    Row("F.normalize", T(3, 4, 2, kind="positive"), 3.0, 2),
    Row("F.local_response_norm", T(2, 4, 3), 3, 0.5, 0.4, 0.3),
    Row("F.local_response_norm", T(1, 3, 2, 2), 2),
]
