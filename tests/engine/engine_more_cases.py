"""More random calls of CPU kernels, as in engine_cases.py: places named by an index, and what else came later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

import rushlight as rl
from rushlight.capture.joined.fused import Step
from rushlight.operators.image.resample_kernels import ResamplePlan
from rushlight.runtime.cpu.rows import packed_rows
from rushlight.runtime.door import KERNELS

if TYPE_CHECKING:
    from engine_cases import Case, Draw


def scatter(d: Draw) -> Iterator[Case]:
    shape = tuple(d.one(1, 2, 3, 5, 17, 40) for _ in range(d.one(1, 2, 3)))
    dim = d.py.randrange(len(shape))
    taken = (*shape[:dim], d.one(1, 4, 30), *shape[dim + 1 :])
    index = d.np.randint(0, shape[dim], taken).astype(d.one(np.int64, np.int64, np.int32))
    if d.one(0, 1):  # one place for a whole row
        line = [taken[i] if i == dim else 1 for i in range(len(taken))]
        index = np.broadcast_to(index.reshape(-1)[: taken[dim]].reshape(line), taken)
    x, source, along = d.laid(*shape), d.laid(*taken), {"dim": dim}
    yield "scatter_add", (x, index, source), along, 1e-6
    yield "scatter", (x, index, d.one(source, 0, 2.5)), along, 0.0
    yield "gather", (x, index), along, 0.0
    yield "gather_grad", (d.laid(*taken), index), {**along, "shape": shape}, 1e-6
    source = np.where(np.abs(source) > 2, np.float32(np.nan), source)
    for kind in ("amax", "amin", "prod"):
        how = {**along, "kind": kind, "include_self": d.one(True, False)}
        yield "scatter_reduce", (x, index, source), how, 1e-5
    count = d.one(1, min(2, len(shape) - dim))
    places = [d.np.randint(-n, n, d.one((6,), (6,), (2, 3))) for n in shape[dim : dim + count]]
    places = [p.reshape(places[0].shape) for p in places]
    slots = (0,) * dim + (1,) * count
    g = d.laid(*shape[:dim], *places[0].shape, *shape[dim + count :])
    yield "index_grad", (g, *places), {"slots": slots, "shape": shape}, 1e-6
    yield ("index_put_into", (x.copy(), g, *places), {"slots": slots, "accumulate": d.one(True, False)}, 1e-6)


def norms(d: Draw) -> Iterator[Case]:
    groups, per, eps = d.one(1, 2, 3), d.one(1, 2, 5), d.one(1e-5, 0.1)
    channels = groups * per
    shape = (d.one(1, 2, 7), channels, *[d.one(1, 3, 8, 17) for _ in range(d.one(0, 1, 2))])
    x, g = d.laid(*shape) + np.float32(d.one(0, 30)), d.laid(*shape)
    w, b = d.one((None, None), (d.floats(channels), d.floats(channels)), (d.floats(channels), None))
    how = {"groups": groups, "eps": eps}
    yield "group_norm", (x, w, b), how, 1e-4
    _, mean, rstd = KERNELS["group_norm"].generic(np, x, w, b, **how)
    yield "group_norm_grad", (g, x, w, mean.copy(), rstd.copy()), how, 1e-4
    dims = d.one(*range(1, len(shape) + 1))
    w, how = d.one(None, d.floats(*shape[len(shape) - dims :])), {"dims": dims, "eps": eps}
    yield "rms_norm", (x, w), how, 1e-5
    rstd = KERNELS["rms_norm"].generic(np, x, w, **how)[1]
    yield "rms_norm_grad", (g, x, w, rstd), how, 1e-4


def columns(d: Draw) -> Iterator[Case]:
    """Softmax along a dim that is not the last, and the loss of class numbers behind it."""
    n, places = d.one(1, 2, 5, 40), d.one((3,), (17,), (5, 7), (2, 70))
    shape = (d.one(1, 3), n, *places)
    x = d.floats(*shape) * np.float32(d.one(1, 20))
    for name in ("softmax", "log_softmax"):
        yield name, (x,), {"dim": 1}, 2e-6
        y = KERNELS[name].generic(np, x, dim=1)
        yield name + "_grad", (d.floats(*shape), y), {"dim": 1}, 5e-6
    given = d.one((shape[0],), (shape[0], *places))
    x, t = d.floats(given[0], n, *given[1:]), d.np.randint(0, n, given)
    t[d.floats(*given) > d.one(1, 9)] = -100
    w = d.one(None, np.abs(d.floats(n)))
    for reduction in ("mean", "sum", "none"):
        how = {"ignore_index": -100, "reduction": reduction}
        yield "nll_loss", (x, t, w), how, 1e-5
        with np.errstate(all="ignore"):
            total = np.asarray(KERNELS["nll_loss"].generic(np, x, t, w, **how)[1])
        g = d.floats(*given) if reduction == "none" else d.floats()
        yield "nll_loss_grad", (g, t, w, total), {**how, "shape": x.shape}, 1e-5


def join(d: Draw) -> Iterator[Case]:
    shape = [d.one(1, 2, 5, 17) for _ in range(d.one(1, 2, 3, 4))]
    dim, kind = d.py.randrange(len(shape)), d.one(np.float32, np.float32, np.int64, np.bool_)
    parts = []
    for _ in range(d.one(1, 2, 3)):
        size = [d.one(0, 1, 4) if i == dim else n for i, n in enumerate(shape)]
        parts.append(d.laid(*size).astype(kind))
        if len(shape) > 2 and d.one(0, 1):
            parts[-1] = np.ascontiguousarray(parts[-1].swapaxes(1, 2)).swapaxes(1, 2)
    yield "cat", tuple(parts), {"dim": dim}, 0.0
    yield "unwindow", *window(d, [d.one(1, 2, 5, 17) for _ in range(d.one(1, 2, 3, 4))]), 0.0


def window(d: Draw, shape: list[int]) -> tuple[tuple, dict[str, Any]]:
    """A gradient that fits into a window, and where it is: positions, ranges, new dims; dims at the end may be left out."""
    index: list[Any] = []
    for n in shape[: d.py.randint(0, len(shape))]:
        start = d.py.randrange(n)
        ranges = [
            (None, None, None),
            (start, None, None),
            (None, -1 if n > 1 else None, d.one(None, 1, 2)),
            (start, n, 3),
        ]
        index.append(d.one(start, start - n, *ranges, *ranges))
        if d.one(0, 0, 0, 1):
            index.append(None)
    there = np.zeros(shape)[(*[slice(*e) if isinstance(e, tuple) else e for e in index], ...)]
    kind = d.one(np.float32, np.float32, np.int64, np.bool_, np.float64)
    return (d.laid(*there.shape).astype(kind),), {"index": tuple(index), "shape": tuple(shape)}


def losses(d: Draw) -> Iterator[Case]:
    shape = d.one((1,), (5, 7), (3, 4, 5), (9001,), (70, 130))
    x, y = d.laid(*shape) * np.float32(d.one(1, 30)), d.laid(*shape)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits"):
        how = {"reduction": d.one("mean", "sum", "none")}
        if name.endswith("_loss"):
            how["beta"] = d.one(0.5, 1.0) if name != "smooth_l1_loss" else d.one(0.0, 0.5, 1.0)
        yield name, (x, y), how, 2e-5
        g = d.floats(*shape) if how["reduction"] == "none" else d.floats()
        yield name + "_grad", (g, x, y), how, 2e-6


def rows(d: Draw) -> Iterator[Case]:
    """Whole rows reduced, running sums, and what is computed number by number since then."""
    shape = d.one((1,), (7,), (3, 5), (4, 40), (2, 3, 129), (5, 1000))
    x = d.laid(*shape) * np.float32(d.one(1, 30))
    odd = x.copy()
    odd.reshape(-1)[:: d.one(3, 50)] = d.one(np.nan, np.inf, -np.inf)
    first = d.py.randrange(len(shape))
    how = {"dim": d.one(None, tuple(range(first, len(shape)))), "keepdim": d.one(True, False)}
    for name in ("amax", "amin", "max", "min"):
        yield name, (d.one(x, odd),), how, 0.0
    yield "logsumexp", (d.one(x, odd),), {**how, "dim": tuple(range(first, len(shape)))}, 2e-6
    yield "vector_norm", (x,), {**how, "ord": 2}, 1e-6
    yield "cumsum", (x,), {"dim": first, "reverse": d.one(True, False)}, 0.0
    for name in ("erf", "expm1", "logsigmoid", "rsqrt", "reciprocal"):
        yield name, (d.one(x, odd),), {}, 1e-6
    yield "log1p", (np.maximum(d.one(x, odd), np.float32(-1)),), {}, 1e-6
    yield "logsigmoid_grad", (d.floats(*shape), x), {}, 1e-6
    yield "pow", (x, d.one(2, 3, 0.5, -0.5, -1, 2.0)), {}, 1e-6
    parts = tuple([d.floats(*d.one((), (3,), (40, 5), (0,))) for _ in range(d.one(1, 4))])
    yield "foreach_total_norm", parts, {"order": 2.0}, 1e-6
    channels = d.one(1, 3)
    means, variances = d.one(None, d.floats(channels)), d.one(None, np.abs(d.floats(channels)))
    batch = (d.floats(channels), np.abs(d.floats(channels)) + np.float32(0.5))
    how = {"momentum": d.one(0.1, 0.7), "eps": 1e-5, "n": d.one(1, 2, 64)}
    yield "running_statistics", (means, variances, *batch), how, 2e-6
    x = d.floats(2, channels, *d.one((9,), (4, 5)))
    w = np.abs(d.floats(1, channels, *[1] * (x.ndim - 2)))
    yield "prelu", (x, w), {}, 0.0
    yield "prelu_grad", (d.floats(*x.shape), x, w), {}, 0.0
    table, index = d.floats(d.one(1, 9), d.one(1, 17)), d.one((), (4,), (2, 3))
    places = d.np.randint(0, table.shape[0], index)
    yield "embedding", (table, np.asarray(places)), {"padding_idx": -1, "scale_by_freq": False}, 0.0
    table = d.floats(*d.one((5,), (3, 4), (2, 5, 6))).astype(d.one(np.float32, np.int64, bool))
    dim = d.py.randrange(table.ndim)
    places = d.np.randint(0, table.shape[dim], d.one(0, 1, 7))
    yield "index_select", (table, places), {"dim": dim}, 0.0
    table = d.floats(*d.one((5, 3), (3, 4), (2, 5, 6), (3, 1, 1))).astype(d.one(np.float32, bool))
    for name in ("tril", "triu"):
        yield name, (table,), {"diagonal": d.one(0, 1, -1, 9, -9)}, 0.0
    images = d.floats(2, 3, *d.one((7,), (4, 5)))
    places = d.np.randint(0, images[0, 0].size, (2, 3, *d.one((1,), (3, 6))))
    yield "pool_take", (images, places), {}, 0.0


def stretched(d: Draw) -> Iterator[Case]:
    """Operands of different shapes: each dim is whole, or one, or not there."""
    shape = [d.one(1, 2, 3, 7, 17, 50) for _ in range(d.one(2, 3, 3, 4))]

    def part() -> np.ndarray:
        sizes = [n if d.one(0, 1, 1) else 1 for n in shape]
        x = d.laid(*sizes[d.one(0, 0, 1) :]) + np.float32(3)
        x = np.broadcast_to(x, shape) if d.one(0, 0, 1) else x
        return x[..., ::-1] if d.one(*range(6)) == 0 else x

    for name in ("add", "sub", "mul", "div", "maximum", "minimum"):
        a, b = part(), part()
        a, b = (x[..., :: d.one(1, 1, 2)] for x in (a, b))
        joint = max(a.shape[-1], b.shape[-1])
        a, b = (x if x.shape[-1] == joint else x[..., :1] for x in (a, b))
        yield name, (a, b), {}, 0.0
        yield "neg", (a,), {}, 0.0
    x = d.laid(*[n if d.one(0, 1) else 1 for n in shape])
    wanted = (d.one(1, 2), *[n if m == 1 else m for n, m in zip(shape, x.shape)])
    yield "expand", (x,), {"shape": wanted}, 0.0


def three(d: Draw) -> Iterator[Case]:
    shape = tuple(d.one(1, 3, 8, 17, 40) for _ in range(d.one(1, 2, 3)))
    x, y, w = d.laid(*shape), d.laid(*shape), d.laid(*shape)
    yield "lerp", (x, y, d.one(w, w, 0.25, 0.5, 1, -3.0, w[..., :1])), {}, 0.0
    yield "addcmul", (x, y, w), {"value": d.one(1, 0.5, -2, 1.0)}, 0.0
    yield "addcdiv", (x, y, w + np.float32(7)), {"value": d.one(1, 0.5, -2, 1.0)}, 0.0


def resample(d: Draw) -> Iterator[Case]:
    shape = tuple(d.one(1, 2, 5, 16, 23) for _ in range(d.one(1, 2, 3, 4)))
    axis = d.one(*range(len(shape)))
    n, m = shape[axis], d.one(1, 3, 16, 37)
    kind = d.one("nearest", "nearest-exact", "linear", "cubic", "mean", "smooth-linear", "replicate")
    plan = ResamplePlan(kind, n, m, n / m, d.one(False, True), d.one(0, 1))
    if kind == "replicate":
        plan = ResamplePlan(kind, n, n + 3, shift=2)
    if kind == "linear" and plan.align:
        plan = plan._replace(step=(n - 1) / max(m - 1, 1))
    attrs = {"axis": axis, "plan": plan}
    yield "resample_axis", (d.laid(*shape),), {**attrs, "flip": False}, 1e-6
    back = d.laid(*shape[:axis], plan.out, *shape[axis + 1 :])
    yield "resample_axis", (back,), {**attrs, "flip": True}, 1e-6


_STEPS = ("add", "sub", "mul", "div", "maximum", "silu_grad", "exp", "relu", "sqrt", "neg", "pow")
_OVER_ROWS = ("sum", "mean", "amax", "amin", "logsumexp", "softmax", "log_softmax", "softmax_grad")


def _row_step(d: Draw, values: list[tuple], arrays: list[np.ndarray]) -> tuple[Step, str]:
    """A step over values of (where from, number, kind), and the kind of its own value."""
    kernel = d.one(*_STEPS, *_OVER_ROWS)
    if kernel in _OVER_ROWS:
        kind = "r" if kernel in _OVER_ROWS[:5] else "f"
        whole = [v for v in values if v[2] == "f"]
        operands = [d.one(*whole)[:2] for _ in range(2 if kernel == "softmax_grad" else 1)]
        how = (("dim", (1,)), ("keepdim", True)) if kind == "r" else (("dim", 1),)
        return Step(kernel, tuple(operands), how), kind
    narrow = [v for v in values if v[2] in "1r" and (v[0] == "step" or arrays[v[1]].shape[1:] == (1,))]
    kind = d.one("f", "f", "r") if any(v[2] == "r" for v in narrow) else "f"
    pool = values if kind == "f" else narrow
    operands = [d.one(*[v for v in pool if v[2] == kind])[:2]]
    if kernel == "pow":
        operands.append(("number", 2))
    elif kernel == "silu_grad":
        operands.append(d.one(*pool)[:2])
    elif kernel in _STEPS[:5]:
        operands.insert(d.one(0, 1), d.one(d.one(*pool)[:2], ("number", 1.5)))
    return Step(kernel, tuple(operands), ()), kind


def row_groups(d: Draw) -> Iterator[Case]:
    """Random groups: steps over whole rows, over a number of each row, and reductions between them."""
    rows, columns = d.one(1, 2, 6, 40, 300), d.one(4, 7, 16, 33, 700)
    kinds = "f" + "".join(d.one("f", "r", "c", "1", "s") for _ in range(4))
    whole = (rows, columns)
    sizes = {"f": whole, "s": whole, "r": (rows, 1), "c": (columns,), "1": (1, 1)}
    arrays = [np.abs(d.floats(*sizes[k])) + np.float32(0.5) for k in kinds]
    for i, k in enumerate(kinds):  # one number of each row, shown for the whole row
        arrays[i] = np.broadcast_to(arrays[i], whole) if k == "r" and d.one(0, 1) else arrays[i]
    values: list[tuple] = [("in", i, k) for i, k in enumerate(kinds)]
    steps, made = [], ""
    for number in range(d.one(2, 5, 12)):
        step, kind = _row_step(d, values, arrays)
        steps.append(step)
        made += kind
        values.append(("step", number, kind))
    outs = tuple(sorted({len(steps) - 1, d.py.randrange(len(steps))}))
    attrs = {
        "steps": tuple(steps), "kinds": kinds, "made": made, "dtypes": ("float32",) * len(steps), "outs": outs,
        "shapes": tuple([(rows, columns if made[o] == "f" else 1) for o in outs]),
        "turns": tuple([(1, rows if k == "s" else 1) for k in kinds]), "columns": columns,
    }  # fmt: skip
    yield "row_group", tuple(arrays), {**attrs, "code": packed_rows(attrs)}, 2e-4


def scans(d: Draw) -> Iterator[Case]:
    """What runs along a dim, and products of one."""
    shape = d.one((1,), (7,), (3, 5), (9, 40), (2, 3, 70), (5, 300))
    x = d.laid(*shape)
    if d.one(0, 1):
        x = np.round(x)  # equal numbers among the extremes
        x.reshape(-1)[:: d.one(3, 50)] = d.one(np.nan, np.inf, -np.inf)
    dim = d.py.randrange(len(shape))
    way = {"dim": dim, "reverse": d.one(True, False)}
    yield "cumprod", (x,), way, 1e-6
    yield "linear_scan", (d.laid(*shape) / 2, d.laid(*shape)), way, 1e-4
    for name in ("cummax", "cummin"):
        yield name, (x,), {"dim": dim}, 0.0
    yield "logcumsumexp", (x,), {"dim": dim}, 1e-5
    small = np.where(np.abs(x) < 2, x / 4 + 1, x)
    yield "prod", (small,), {"dim": d.one(None, (dim,)), "keepdim": d.one(True, False)}, 1e-4


def selections(d: Draw) -> Iterator[Case]:
    """One of two by a truth value, remainders, and activations with a gap."""
    shape = d.one((1,), (9,), (3, 17), (4, 1, 40), (2, 5, 33))
    x, y = d.laid(*shape), d.laid(*[1 if d.one(0, 0, 1) else n for n in shape])
    if d.one(0, 1):
        x[..., 0] = d.one(np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38)
    mask = d.laid(*[1 if d.one(0, 0, 1) else n for n in shape[d.one(0, 0, len(shape) - 1) :]]) > 0
    yield "masked_fill", (x, mask, d.one(0, -np.inf, 2.5, d.floats())), {}, 0.0
    yield "where", (mask, d.one(x, y), y), {"to": None}, 0.0
    for name in ("fmod", "remainder", "floor_divide", "hypot"):
        yield name, d.one((x, y), (y, x), (x, d.one(0.75, -3, 1e-12, np.inf))), {}, 1e-6
    yield d.one("sign", "sgn"), (np.nan_to_num(x, nan=1.0),), {}, 0.0
    how = {"lambd": d.one(0.5, 0.0, 1.25)}
    yield "threshold", (x,), {"threshold": d.one(0.0, 0.4), "value": d.one(0.0, -7.5)}, 0.0
    for name in ("softshrink", "hardshrink"):
        yield name, (x,), how, 0.0
        yield name + "_grad", (d.laid(*shape), x), how, 0.0
    channels = d.floats(4, 24)
    w = d.floats(1, 24)
    yield "prelu", (channels, w), {}, 0.0
    yield "prelu_grad", (d.floats(4, 24), channels, w), {}, 0.0
    half = d.one(rl.float16, rl.bfloat16)
    yield "cast", (np.ascontiguousarray(x),), {"to": half, "source": rl.float32}, 0.0
    with np.errstate(over="ignore"):
        narrow = x.astype(half.np)
    yield "cast", (narrow,), {"to": rl.float32, "source": half}, 0.0
