"""Rows of the activation functions."""

from optable import Row, T

ALL = ("float32", "float64", "float16", "bfloat16")
AWAY = {"kind": "nonzero"}  # from the kink at 0

ROWS = [
    Row("relu", T(3, 4, **AWAY), _inplace=True, _dtypes=ALL),
    Row("F.relu", T(3, 4, **AWAY), inplace=False),
    Row("F.relu6", T(3, 4, kind="distinct", low=-3.1, high=9.3), _dtypes=ALL),
    Row("F.hardtanh", T(3, 4, kind="distinct", low=-3.1, high=3.3), -0.5, 0.7),
    Row("F.leaky_relu", T(3, 4, **AWAY), 0.2, _dtypes=ALL),
    Row("F.prelu", T(2, 3, 4, **AWAY), T(3)),
    Row("prelu", T(4, **AWAY), T(1)),
    Row("F.rrelu", T(3, 4, **AWAY), training=True, _nondet=True, _id="training"),
    Row("rrelu", T(3, 4, **AWAY)),
    Row("hardshrink", T(3, 4, kind="distinct", low=-1.3, high=1.4), 0.4, _out=True),
    Row("F.softshrink", T(3, 4, kind="distinct", low=-1.3, high=1.4), 0.4, _dtypes=ALL),
    # torch writes one sixth as a float32 constant, whatever the dtype
    Row("F.hardsigmoid", T(3, 4, kind="distinct", low=-5.3, high=5.4), _tol=1e-7, _dtypes=ALL),
    Row("F.hardswish", T(3, 4, kind="distinct", low=-5.3, high=5.4), _tol=1e-7, _dtypes=ALL),
    Row("F.elu", T(3, 4, **AWAY), 0.7, _dtypes=ALL),
    Row("F.selu", T(3, 4, **AWAY)),
    Row("selu", T(0, 2)),
    Row("F.celu", T(3, 4, **AWAY), 0.6),
    Row("celu", T(3, 4, **AWAY)),
    Row("F.gelu", T(3, 4), _dtypes=ALL),
    Row("F.gelu", T(3, 4), approximate="tanh", _dtypes=ALL),
    Row("F.silu", T(3, 4), _dtypes=ALL),
    Row("F.mish", T(3, 4), _dtypes=ALL),
    Row("F.softplus", T(3, 4), 2.0, 30.0, _dtypes=ALL),
    Row("F.softsign", T(3, 4, **AWAY), _dtypes=ALL),
    Row("F.tanhshrink", T(3, 4), _dtypes=ALL),
    Row("F.logsigmoid", T(3, 4), _dtypes=ALL),
    Row("F.glu", T(3, 4)),
    Row("F.gumbel_softmax", T(3, 4), _nondet=True),
    Row("F.gumbel_softmax", T(3, 4), hard=True, _nondet=True, _id="hard", _meta=False),
]
