"""Random calls of CPU kernels, family by family: what test_cpu_engine.py and test_onednn_engine.py run.

A case is (kernel name, arrays, attributes, tolerance); the NumPy body's answer is the truth.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import rushlight as rl
from engine_late_cases import (
    angles,
    any_dims,
    fourier,
    moved,
    orders,
    pairs_and_bags,
    sampled,
    special,
    systems,
    views,
    whole,
    whole_orders,
    writes,
)
from engine_more_cases import (
    columns,
    join,
    losses,
    norms,
    resample,
    row_groups,
    rows,
    scans,
    scatter,
    selections,
    stretched,
    three,
)
from rushlight.base.device import CPU
from rushlight.capture.joined.fused import Step
from rushlight.runtime.cpu.fused import pack
from rushlight.runtime.door import KERNELS

Case = tuple[str, tuple, dict[str, Any], float]


def numpy_body(name: str) -> Callable[..., Any]:
    """The generic body of a kernel, over NumPy."""
    return partial(KERNELS[name].generic, np)


class Draw:
    """Random arrays and choices from one seed."""

    def __init__(self, seed: int) -> None:
        self.py = random.Random(seed)
        self.np = np.random.RandomState(seed)

    def one(self, *choices: Any) -> Any:
        return self.py.choice(choices)

    def floats(self, *shape: int) -> np.ndarray:
        return np.asarray(self.np.randn(*shape), np.float32)

    def laid(self, *shape: int) -> np.ndarray:
        """Floats in C order, or channels-last, or inside a larger array, or with gaps."""
        x = self.floats(*shape)
        kind = self.one("c", "c", "last", "inside", "gaps")
        if kind == "last" and x.ndim >= 4:
            last = np.ascontiguousarray(np.moveaxis(x, 1, -1))
            return np.moveaxis(last, -1, 1)
        if not shape:
            return x
        if kind == "inside":
            big = np.zeros([s + 3 for s in shape], np.float32)
            view = big[tuple(slice(1, 1 + s) for s in shape)]
        elif kind == "gaps":
            big = np.zeros([s * 2 for s in shape], np.float32)
            view = big[tuple(slice(0, 2 * s, 2) for s in shape)]
        else:
            return x
        view[...] = x
        return view


def conv(d: Draw) -> Iterator[Case]:
    n, groups = d.one(1, 2, 2, 2, 3), d.one(1, 1, 1, 2, 3)
    channels, outs = d.one(1, 2, 3, 5, 8), d.one(1, 2, 3, 4, 6, 7, 8, 9, 17)
    kernel = tuple(d.one(1, 2, 3, 5) if n < 3 else d.one(1, 2, 3) for _ in range(n))
    yield from convolutions(d, groups, channels, outs, kernel)


def one_place(d: Draw) -> Iterator[Case]:
    channels, outs = d.one(1, 3, 16, 24, 40), d.one(1, 2, 17, 24, 33)
    yield from convolutions(d, 1, channels, outs, (1,) * d.one(1, 2, 2, 2, 3))


def depthwise(d: Draw) -> Iterator[Case]:
    n = d.one(1, 2, 2, 2, 3)
    kernel = tuple(d.one(1, 3, 3, 4, 5, 7) if n < 3 else d.one(1, 2, 3) for _ in range(n))
    yield from convolutions(d, d.one(2, 4, 16, 21, 33), 1, d.one(1, 1, 1, 2), kernel)


def convolutions(d: Draw, groups: int, channels: int, outs: int, kernel: tuple[int, ...]) -> Iterator[Case]:
    """The three convolutions of a kernel, of images of any size."""
    n = len(kernel)
    how = {
        "stride": tuple(d.one(1, 1, 1, 2, 3) for _ in range(n)),
        "padding": tuple(d.one(0, 0, 1, 2) for _ in range(n)),
        "dilation": tuple(d.one(1, 1, 1, 2) for _ in range(n)),
        "groups": groups,
    }
    room = {1: 40, 2: 14, 3: 6}[n]
    size = [s * (k - 1) + 1 + d.py.randrange(room) for s, k in zip(how["dilation"], kernel)]
    x = d.laid(d.one(1, 2, 3, 5, 9), channels * groups, *size)
    w = d.laid(outs * groups, channels, *kernel)
    b = d.one(None, d.floats(outs * groups))
    yield "conv", (x, w, b), how, 2e-5
    g = d.laid(*numpy_body("conv")(x, w, b, **how).shape)
    yield "conv_grad_input", (g, w), {"x_shape": x.shape, **how}, 2e-5
    yield "conv_grad_weight", (g, x), {"w_shape": w.shape, **how}, 5e-5
    larger = tuple(m + d.py.randrange(s) for m, s in zip(size, how["stride"]))
    yield "conv_grad_input", (g, w), {"x_shape": (*x.shape[:2], *larger), **how}, 2e-5


def matmul(d: Draw) -> Iterator[Case]:
    m, k, n = (d.one(1, 2, 3, 4, 7, 8, 9, 24, 33, 100, 260) for _ in range(3))
    yield "mm", (d.laid(m, k), d.laid(k, n)), {}, 2e-5
    yield "mm_nt", (d.laid(m, k), d.laid(n, k)), {}, 2e-5
    yield "mm_tn", (d.laid(k, m), d.laid(k, n)), {}, 2e-5
    yield "mm", (d.floats(k, m).T, d.floats(n, k).T), {}, 2e-5
    yield "linear", (d.laid(m, k), d.laid(n, k), d.one(None, d.floats(n))), {}, 2e-5
    yield "linear", (d.floats(2, 3, k), d.floats(n, k), d.floats(n)), {}, 2e-5
    lead = d.one((), (1,), (5,), (2, 3))
    other = d.one(lead, (1,) * len(lead))
    yield "bmm", (d.floats(*lead, m, k), d.floats(*other, k, n)), {}, 2e-5
    yield "bmm_nt", (d.laid(*lead, m, k), d.floats(*other, n, k)), {}, 2e-5
    yield "bmm_tn", (d.floats(*lead, k, m), d.laid(*other, k, n)), {}, 2e-5


def pool(d: Draw) -> Iterator[Case]:
    n = d.one(1, 2, 2, 3)
    kernel = tuple(d.one(1, 2, 2, 3) for _ in range(n))
    stride = tuple(d.one(k, 1, 2, 3) for k in kernel)
    dilation = tuple(d.one(1, 1, 2) for _ in range(n))
    reach = [s * (k - 1) + 1 for k, s in zip(kernel, dilation)]
    padding = tuple(d.py.randrange(r // 2 + 1) for r in reach)
    x = d.floats(d.one(1, 2, 4), 3, *[r + d.py.randrange(10) for r in reach])
    if d.one(0, 1, 2) == 0:
        x.ravel()[d.np.randint(0, x.size, 3)] = np.nan
    elif d.one(0, 1):
        x = np.round(x)  # ties
    how = {"kernel": kernel, "stride": stride, "padding": padding, "ceil_mode": d.one(True, False)}
    yield "max_pool", (x,), {**how, "dilation": dilation}, 0.0
    y, index = numpy_body("max_pool")(x, **how, dilation=dilation)
    overlap = any(s < r for s, r in zip(stride, reach))
    given = {"x_shape": x.shape, "overlap": overlap}
    yield "max_pool_grad", (d.floats(*y.shape), index), given, 1e-6
    how["padding"] = tuple(min(p, k // 2) for p, k in zip(padding, kernel))
    how |= {"include_pad": d.one(True, False), "divisor": d.one(None, None, 3)}
    x = np.nan_to_num(x)
    y = numpy_body("avg_pool")(x, **how)
    yield "avg_pool", (x,), how, 2e-6
    yield "avg_pool_grad", (d.floats(*y.shape),), {"x_shape": x.shape, **how}, 2e-6


def point(d: Draw) -> Iterator[Case]:
    shape = tuple(d.one(1, 2, 3, 5, 17) for _ in range(d.one(0, 1, 2, 3, 4)))
    if d.one(*range(8)) == 0:
        shape = (70001,)
    x, y = d.laid(*shape), d.floats(*shape)
    if x.size and d.one(0, 1):
        x[(0,) * x.ndim] = d.one(np.nan, np.inf, -np.inf, 0.0, -0.0, 90.0, -103.0)
    for name in ("relu", "exp", "tanh", "sigmoid", "silu", "neg", "abs", "square"):
        yield name, (x,), {}, 2e-6
    yield "sqrt", (np.abs(x),), {}, 1e-6
    yield "log", (np.abs(x),), {}, 2e-6
    how = {"approximate": d.one("none", "tanh")}
    yield "gelu", (x,), how, 2e-6
    yield "gelu_grad", (d.floats(*shape), y), how, 2e-6
    others: list[Any] = [y]
    if len(shape) > 1:
        others += [d.floats(*shape[1:]), d.floats(shape[-1])]
    if len(shape) > 2:
        others += [d.floats(shape[1], *[1] * (len(shape) - 2))]
    for name in ("add", "sub", "mul", "div", "maximum", "minimum"):
        for other in others:
            yield name, (x, other), {}, 1e-6
            yield name, (other, x), {}, 1e-6
        yield name, (x, d.one(2.5, 3, -1)), {}, 1e-6
        yield name, (d.one(1.5, 2), x), {}, 1e-6
    for name in ("sigmoid_backward", "tanh_backward", "silu_grad", "relu_grad"):
        yield name, (d.floats(*shape), y), {}, 2e-6


def active(d: Draw) -> Iterator[Case]:
    shape = tuple(d.one(1, 2, 3, 5, 17) for _ in range(d.one(1, 2, 4)))
    x, y, g = d.laid(*shape) * 4, d.floats(*shape) * 4, d.floats(*shape)
    if d.one(0, 1):
        x[(0,) * x.ndim] = d.one(np.nan, np.inf, -np.inf, 0.0, -1e-4, 1e-6, 90.0, -90.0, 3.0)
        y[(0,) * y.ndim] = x[(0,) * x.ndim]
    low, high = d.one((-1.0, 1.0), (0.0, 6.0))
    for name, how in (
        ("leaky_relu", {"slope": d.one(0.01, 0.0, -0.5)}),
        ("hardtanh", {"low": low, "high": high}),
        ("hardsigmoid", {}),
        ("hardswish", {}),
        ("elu", {"alpha": d.one(1.0, 0.3), "scale": d.one(1.0, 1.05), "inner": d.one(1.0, 2.0)}),
        ("softplus", {"beta": d.one(1.0, 2.0, 0.5), "limit": 20.0}),
        ("mish", {}),
    ):
        yield name, (x,), how, 2e-6
        yield name + "_grad", (g, y), how, 4e-6
    bounds = d.one((low, high), (low, None), (None, high), (high, low), (0, np.nan))
    yield "clamp", (x, *bounds), {}, 0.0
    yield "clamp_backward", (g, y, *bounds), {}, 0.0


def softmax(d: Draw) -> Iterator[Case]:
    shape = tuple(d.one(1, 2, 3, 5, 17, 40) for _ in range(d.one(1, 2, 3)))
    x = d.floats(*shape) * np.float32(d.one(1, 20))
    how = {"dim": len(shape) - 1}
    for name in ("softmax", "log_softmax"):
        yield name, (x,), how, 2e-6
        y = numpy_body(name)(x, **how)
        yield name + "_grad", (d.floats(*shape), y), how, 5e-6
    seen = np.where(d.floats(*shape) > d.one(-1, 1, 9), -np.inf, x).astype(np.float32)
    yield "attention_weights", (seen,), {}, 2e-6
    rows, classes = d.one(1, 3, 100), d.one(1, 2, 10, 33)
    x, t = d.floats(rows, classes) * 5, d.np.randint(0, classes, rows)
    if d.one(0, 1):
        t[d.np.randint(rows)] = -100
    elif d.one(0, 1):
        t = t.astype(np.uint8)
    for reduction in ("mean", "sum", "none"):
        how = {"ignore_index": -100, "reduction": reduction}
        yield "cross_entropy_fused", (x, t), {**how, "wide": False}, 2e-6
        with np.errstate(all="ignore"):
            stats = numpy_body("cross_entropy_fused")(x, t, wide=False, **how)[1]
        g = d.floats(rows) if reduction == "none" else d.floats()
        yield "cross_entropy_grad", (g, x, stats, t), how, 2e-6


def attention(d: Draw) -> Iterator[Case]:
    batch, heads, queries, keys = (d.one(1, 2), d.one(1, 3), d.one(1, 5, 64, 70), d.one(1, 7, 33, 130))
    width, depth = d.one(1, 4, 17), d.one(1, 8, 20)
    q, k = d.laid(batch, heads, queries, width), d.laid(batch, heads, keys, width)
    v, g = d.laid(batch, heads, keys, depth), d.laid(batch, heads, queries, depth)
    how = {"causal": d.one(False, True), "scale": d.one(1.0, 0.3, -0.5)}
    yield "attention", (q, k, v), how, 2e-5
    out, stats = numpy_body("attention")(q, k, v, **how)
    yield "attention_grad", (g, q, k, v, out, stats), how, 5e-5
    shape = [n if d.one(0, 1) else 1 for n in (batch, heads, queries, keys)][d.one(0, 0, 2) :]
    mask = d.one(d.laid(*shape) > -0.5, np.where(d.laid(*shape) > -1, d.floats(*shape), -np.inf))
    mask = mask if mask.dtype == bool else mask.astype(np.float32)
    how = {"scale": d.one(1.0, 0.3, -0.5)}
    yield "seen_attention", (q, k, v, mask), how, 2e-5
    with np.errstate(all="ignore"):  # a query that may look at nothing
        out, stats = numpy_body("seen_attention")(q, k, v, mask, **how)
    yield "seen_attention_grad", (g, q, k, v, mask, out, stats), how, 5e-5


def norm(d: Draw) -> Iterator[Case]:
    c = d.one(1, 3, 16, 70)
    shape = (d.one(2, 7, 70), c, *[d.one(2, 5, 9) for _ in range(d.one(0, 1, 2, 3))])
    x = d.floats(*shape) * 3 + np.float32(d.one(0, 100))
    eps = {"eps": 1e-5}
    w, b = d.one((None, None), (d.floats(c), d.floats(c)))
    yield "batch_norm_train", (x, w, b), eps, 1e-4
    _, mean, invstd = numpy_body("batch_norm_train")(x, w, b, **eps)
    yield "batch_norm_grad", (d.floats(*shape), x, w, mean, invstd), eps, 1e-4
    yield "batch_norm_eval", (x, w, b, d.floats(c), np.abs(d.floats(c))), eps, 1e-4
    still = d.floats(c), np.abs(d.floats(c)) + np.float32(0.5)
    yield "batch_norm_eval_grad", (d.floats(*shape), x, w, *still), eps, 1e-4
    dims = d.py.randrange(1, len(shape))
    inner = shape[-dims:]
    w, b = d.one((None, None), (d.floats(*inner), d.floats(*inner)), (d.floats(*inner), None))
    how = {"dims": dims, **eps}
    yield "layer_norm", (x, w, b), how, 1e-4
    _, mean, rstd = numpy_body("layer_norm")(x, w, b, **how)
    yield "layer_norm_grad", (d.floats(*shape), x, w, mean, rstd), how, 1e-4
    yield "add_layer_norm", (x, d.floats(*shape), w, b), how, 1e-4
    yield "layer_norm_grad_add", (d.floats(*shape), x, w, mean, rstd, d.floats(*shape)), how, 1e-4


def reduce(d: Draw) -> Iterator[Case]:
    shape = tuple(d.one(1, 2, 3, 5, 17, 70) for _ in range(d.one(0, 1, 2, 3, 4)))
    if d.one(*range(5)) == 0:
        shape = (d.one(300, 1000), d.one(300, 1, 2, 3, 7, 5000))
    x = np.asarray(np.abs(d.floats(*shape)))  # of one sign: sums do not cancel
    x = np.asarray(x * (1 + 2j), np.complex64) if d.one(0, 0, 1) else x
    dims = d.py.sample(range(len(shape)), d.py.randint(1, len(shape))) if shape else []
    dim = d.one(None, tuple(sorted(dims))) if dims else None
    for keepdim in (True, False):
        yield "sum", (x,), {"dim": dim, "keepdim": keepdim}, 1e-5
        yield "mean", (x,), {"dim": dim, "keepdim": keepdim}, 1e-5
    target = tuple(d.one(s, 1) for s in shape)[d.py.randrange(len(shape)) if shape else 0 :]
    if target != shape:
        yield "sum_to_size", (x,), {"shape": target}, 1e-5


def update(d: Draw) -> Iterator[Case]:
    n = d.py.randint(1, 4)
    shapes = [tuple(d.one(1, 3, 10, 65) for _ in range(d.one(0, 1, 2))) for _ in range(n)]

    def some(positive: bool = False) -> list[np.ndarray]:
        drawn = [d.floats(*s) for s in shapes]
        return [np.asarray(np.abs(a)) for a in drawn] if positive else drawn

    momentum = d.one(0.0, 0.9)
    h = np.array([0.1, d.one(0, 0.01), momentum, d.one(0, 0.3)])
    flags = {"nesterov": momentum > 0 and d.one(True, False), "maximize": d.one(True, False)}
    buffers = some() if momentum else []
    how = {"n": n, "first": d.one(True, False), **flags}
    if d.one(0, 1):  # numbers for each parameter
        h = np.array([h * f for f in range(1, n + 1)])
    yield "sgd_update", (h, *some(), *some(), *buffers), how, 1e-6
    h = np.array([0.1, d.one(0, 0.01), 0.9, 0.99, 1e-8, 0.1, 0.3])
    if d.one(0, 1):
        h = np.array([h / f for f in range(1, n + 1)])
    how = {"n": n, "decoupled": d.one(True, False), "maximize": d.one(True, False)}
    largest = some(True) if d.one(0, 1) else []
    yield "adam_update", (h, *some(), *some(), *some(), *some(True), *largest), how, 2e-6
    h = np.array([0.1, d.one(0, 0.01), 0.9, 1e-8, 0.5])
    how = {"n": n, "centered": d.one(True, False), "momentum": d.one(True, False)}
    mean = [np.zeros_like(a) for a in some()] if how["centered"] else []  # no variance below zero
    buffers = some() if how["momentum"] else []
    how["maximize"] = d.one(True, False)
    yield "rmsprop_update", (h, *some(), *some(), *some(True), *mean, *buffers), how, 5e-6
    h = np.array([0.1, d.one(0, 0.01), 1e-10])
    how = {"n": n, "maximize": d.one(True, False)}
    yield "adagrad_update", (h, *some(), *some(), *some(True)), how, 2e-6


def recurrent(d: Draw) -> Iterator[Case]:
    hidden, batch, steps = d.one(1, 3, 4, 9, 20), d.one(1, 2, 5), d.one(1, 2, 6)
    alive = [batch, *[d.py.randint(1, batch) for _ in range(steps - 1)]]
    sizes = tuple(sorted(alive, reverse=True))
    frames = sum(sizes)
    how = {"sizes": sizes, "reverse": d.one(True, False)}

    def arriving(*shape: int) -> Any:
        return d.one(None, d.floats(*shape))

    gout, gh, gc = arriving(frames, hidden), arriving(batch, hidden), arriving(batch, hidden)
    h0, c0 = d.floats(batch, hidden), d.floats(batch, hidden)
    given: tuple = (d.floats(frames, 4 * hidden), h0, c0, d.floats(4 * hidden, hidden))
    yield "lstm_sequence", given, how, 1e-5
    saved = numpy_body("lstm_sequence")(*given, **how)[3:]
    yield "lstm_sequence_grad", (*given, *saved, gout, gh, gc), how, 2e-5
    bias = arriving(3 * hidden)
    given = (d.floats(frames, 3 * hidden), h0, d.floats(3 * hidden, hidden), bias)
    yield "gru_sequence", given, how, 1e-5
    saved = numpy_body("gru_sequence")(*given, **how)[2:]
    yield "gru_sequence_grad", (*given, *saved, gout, gh), how, 2e-5


def gather(d: Draw) -> Iterator[Case]:
    rows, width = d.one(1, 5, 50), d.one(1, 3, 16, 70)
    index = d.np.randint(0, rows, d.one((7,), (3, 4), (1,)))
    how = {"rows": rows, "padding_idx": d.one(-1, 0), "scale_by_freq": d.one(False, False, True)}
    yield "embedding_grad", (d.floats(*index.shape, width), index), how, 1e-6


def fused(d: Draw) -> Iterator[Case]:
    """Random chains of pointwise steps over one or two arrays of one layout."""
    shape = tuple(d.one(1, 2, 3, 5, 17) for _ in range(d.one(1, 2, 3, 4)))
    if d.one(0, 1, 2) == 0:
        shape = (20001,)
    count = d.one(1, 2)
    arrays = tuple(d.floats(*shape) for _ in range(count))
    steps: list[Step] = []
    for _ in range(d.one(1, 2, 5, 12)):

        def operand() -> tuple[str, int]:
            if steps and d.one(0, 1):
                return "step", d.py.randrange(len(steps))
            return "in", d.py.randrange(count)

        name = d.one("relu", "tanh", "sigmoid", "neg", "abs", "add", "sub", "mul", "maximum",
                     "minimum", "relu_grad", "tanh_backward")  # fmt: skip
        alone = name in ("relu", "tanh", "sigmoid", "neg", "abs")
        operands = [operand()] if alone else [operand(), operand()]
        if name in ("add", "sub", "mul", "maximum", "minimum") and d.one(0, 1):
            operands[d.one(0, 1)] = ("number", d.one(0.5, 2, -1.25))
        steps.append(Step(name, tuple(operands), ()))
    how = {"steps": tuple(steps), "dtype": "float32", "code": pack(steps)}
    yield "fused", arrays, how, 1e-4


def move(d: Draw) -> Iterator[Case]:
    shape = tuple(d.one(2, 5, 8, 17) for _ in range(d.one(2, 3, 4)))
    axes = list(range(len(shape)))
    x = d.laid(*shape, 8).transpose(d.py.sample([*axes, len(axes)], len(axes) + 1))
    order = tuple(d.py.sample(range(x.ndim), x.ndim))
    yield "clone", (x,), {"order": d.one("C", order)}, 0.0
    yield "reshape_copy", (x,), {"shape": d.one((x.size,), (x.shape[0], x.size // x.shape[0]))}, 0.0
    value = d.one(0, 1, -2.5, np.inf, np.nan)
    yield "full", (), {"size": shape, "value": value, "dtype": rl.float32, "device": CPU}, 0.0


FAMILIES = {f.__name__: f for f in (
    conv, one_place, depthwise, matmul, pool, point, active, softmax, attention, norm, reduce, update, recurrent, gather, move, fused,
    scatter, norms, columns, join, losses, rows, stretched, row_groups, three, resample, scans, selections, fourier,
    sampled, orders, moved, angles, special, writes, whole, any_dims, whole_orders, views, systems, pairs_and_bags,
)}  # fmt: skip


def differs(out: Any, truth: Any, tolerance: float) -> str:
    """What is wrong with a result, or nothing."""
    outs = out if isinstance(out, tuple) else (out,)
    truths = truth if isinstance(truth, tuple) else (truth,)
    if len(outs) != len(truths):
        return f"{len(outs)} results instead of {len(truths)}"
    for a, b in zip(map(np.asarray, outs), map(np.asarray, truths)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{a.dtype}{a.shape} instead of {b.dtype}{b.shape}"
        if a.dtype.kind == "V":  # bfloat16
            a, b = a.astype(np.float32), b.astype(np.float32)
        if a.dtype.kind not in "fc":
            if not np.array_equal(a, b):
                return "other integers"
            continue
        finite = np.abs(b[np.isfinite(b)])
        scale = max(1.0, float(finite.max())) if finite.size else 1.0
        if not np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
            return f"off by {np.nanmax(np.abs(a - b)):.3g} where numbers reach {scale:.3g}"
    return ""
