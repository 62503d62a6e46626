"""Convolutions, pools, norms and resampling as ONNX nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .sizes import fixed
from .table import Site, writes


def _window(s: Site) -> dict[str, Any]:
    pads = list(s.fixed("padding"))
    return {"strides": list(s.fixed("stride")), "pads": pads + pads}


@writes
def conv(s: Site) -> str:
    names = [s.x(0), s.x(1)]
    if s.inputs[2] is not None:
        names.append(s.x(2))
    return s.node("Conv", *names, **_window(s), dilations=list(s.fixed("dilation")), group=s.fixed("groups"))


@writes
def conv_transpose(s: Site) -> str:
    """A transposed convolution: the gradient of one, with the bias added by what follows."""
    stride, pad, dilation = (list(s.fixed(n)) for n in ("stride", "padding", "dilation"))
    kernel, given = s.shapes[1][2:], s.shapes[0][2:]
    wanted = fixed(s.out_shapes[0][2:], "the size of a transposed convolution")
    fixed(given, "the size of a transposed convolution")
    more = [w - ((n - 1) * st - 2 * p + d * (k - 1) + 1)
            for w, n, st, p, d, k in zip(wanted, given, stride, pad, dilation, kernel)]  # fmt: skip
    return s.node("ConvTranspose", s.x(0), s.x(1), strides=stride, pads=pad + pad, dilations=dilation,
                  group=s.fixed("groups"), output_padding=more)  # fmt: skip


@writes
def max_pool(s: Site) -> list[str]:
    return [s.node("MaxPool", s.x(), kernel_shape=list(s.fixed("kernel")), **_window(s),
                   dilations=list(s.fixed("dilation")), ceil_mode=int(s.fixed("ceil_mode")))]  # fmt: skip


@writes
def avg_pool(s: Site) -> str:
    kernel, divisor = list(s.fixed("kernel")), s.fixed("divisor")
    include = 1 if divisor else int(s.fixed("include_pad"))
    out = s.node("AveragePool", s.x(), kernel_shape=kernel, **_window(s), count_include_pad=include,
                 ceil_mode=int(s.fixed("ceil_mode")))  # fmt: skip
    return s.node("Mul", out, s.number(float(np.prod(kernel)) / divisor)) if divisor else out


@writes
def adaptive_max_pool(s: Site) -> list[str]:
    size, given = s.fixed("size"), fixed(s.shapes[0][2:], "the size of an adaptive pool")
    if all(n == 1 for n in size):
        return [s.node("GlobalMaxPool", s.x())]
    if any(n % want for n, want in zip(given, size)):
        raise s.fail(f"from {given} to {size}: ONNX has no windows of different sizes")
    kernel = [n // want for n, want in zip(given, size)]
    return [s.node("MaxPool", s.x(), kernel_shape=kernel, strides=kernel)]


@writes
def resample(s: Site) -> str:
    return _resampled(s, s.x(), s.fixed("axis") % s.rank, s.fixed("plan"))


@writes
def resample_plane(s: Site) -> str:
    rows, columns = s.fixed("plans")
    return _resampled(s, _resampled(s, s.x(), s.rank - 2, rows), s.rank - 1, columns)


def _resampled(s: Site, x: str, axis: int, plan: Any) -> str:
    """Every output position is a weighted sum of input positions: a product with a matrix, or a choice."""
    from ..operators.image.resample_kernels import taps

    if plan.kind == "mean" and plan.out == 1 and not s.attrs["flip"]:
        return s.g.reduce("ReduceMean", x, [axis], True)
    index, weight = taps(plan, s.attrs["flip"])
    if weight is None:
        return s.node("Gather", x, s.g.constant(index[0].astype(np.int64)), axis=axis)
    matrix = np.zeros((plan.size, index.shape[1]), np.float64)
    for row, factor in zip(index, weight):
        np.add.at(matrix, (row, np.arange(index.shape[1])), factor)
    turn = [d for d in range(s.rank) if d != axis] + [axis]
    back = [turn.index(d) for d in range(s.rank)]
    made = s.node("MatMul", s.g.transpose(x, turn), s.g.constant(matrix.astype(s.dtypes[0])))
    return s.g.transpose(made, back)


# -- norms ---------------------------------------------------------------------------------------


def _channels(s: Site, i: int, value: float) -> str:
    """A per-channel input, or as many of `value` where there is none."""
    if s.inputs[i] is not None:
        return s.x(i)
    count = fixed(s.shapes[0][1], "the number of channels")
    return s.g.constant(np.full(count, value, s.dtypes[0]))


@writes
def batch_norm(s: Site) -> str:
    return s.node("BatchNormalization", s.x(0), _channels(s, 1, 1.0), _channels(s, 2, 0.0), s.x(3), s.x(4),
                  epsilon=float(s.fixed("eps")))  # fmt: skip


def _normalized(s: Site, axes: list[int], centre: bool, x: str | None = None) -> list[str]:
    """(x - mean) / sqrt(variance + eps), the mean, and what x, the first input, was multiplied with."""
    x = s.x() if x is None else x
    mean = s.g.reduce("ReduceMean", x, axes, True)
    gap = s.node("Sub", x, mean) if centre else x
    power = s.g.reduce("ReduceMean", s.node("Mul", gap, gap), axes, True)
    scale = s.node("Reciprocal", s.node("Sqrt", s.node("Add", power, s.number(s.fixed("eps")))))
    return [s.node("Mul", gap, scale), mean, scale]


@writes
def batch_norm_train(s: Site) -> list[str]:
    """Statistics of the batch itself: instance norm comes here, too."""
    out, mean, scale = _normalized(s, [d for d in range(s.rank) if d != 1], True)
    for i, op in ((1, "Mul"), (2, "Add")):
        if s.inputs[i] is not None:
            out = s.node(op, out, s.g.reshape(s.x(i), (-1, *[1] * (s.rank - 2))))
    return [out, *[s.g.node("Reshape", v, s.g.ints(-1)) for v in (mean, scale)]]


@writes
def layer_norm(s: Site) -> list[str]:
    dims = s.fixed("dims")
    if s.g.opset >= 17 and s.inputs[1] is not None:
        rest = [s.x(2)] if s.inputs[2] is not None else []
        return s.node("LayerNormalization", s.x(0), s.x(1), *rest, outputs=3, axis=-dims, epsilon=float(s.fixed("eps")))
    out, mean, scale = _normalized(s, list(range(s.rank - dims, s.rank)), True)
    for i, op in ((1, "Mul"), (2, "Add")):
        if s.inputs[i] is not None:
            out = s.node(op, out, s.x(i))
    return [out, mean, scale]


@writes
def group_norm(s: Site) -> list[str]:
    groups = s.fixed("groups")
    rows = s.node("Reshape", s.x(), s.g.ints(0, groups, -1))
    out, *statistics = _normalized(s, [2], True, rows)
    out = s.node("Reshape", out, s.node("Shape", s.x()))
    for i, op in ((1, "Mul"), (2, "Add")):
        if s.inputs[i] is not None:
            out = s.node(op, out, s.g.reshape(s.x(i), (-1, *[1] * (s.rank - 2))))
    return [out, *[s.g.squeeze(v, 2) for v in statistics]]


@writes
def rms_norm(s: Site) -> list[str]:
    dims = s.fixed("dims")
    out, _, scale = _normalized(s, list(range(s.rank - dims, s.rank)), False)
    return [out if s.inputs[1] is None else s.node("Mul", out, s.x(1)), scale]
