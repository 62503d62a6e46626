"""Inputs for every CUDA kernel of the library families, to be compared with the generic CPU bodies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

BF16 = np.dtype(ml_dtypes.bfloat16)
F16, F32, F64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)


class Case(NamedTuple):
    """One call of a kernel; float arrays are cast to `dtype` before it."""

    name: str
    arrays: tuple
    attrs: dict[str, Any]
    dtype: np.dtype = F32
    label: str = ""
    tol: float = 0.0
    may_refuse: bool = False


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


_TOL = {F64: 1e-10, F32: 2e-5, F16: 4e-3, BF16: 3e-2}


def tolerance(case: Case) -> float:
    return case.tol or _TOL[case.dtype]


def products(rng: np.random.Generator) -> Iterator[Case]:
    for dtype in (F32, F64, F16, BF16):
        for m, k, n in ((4, 400, 120), (1, 1, 1), (7, 13, 5), (130, 257, 66), (512, 84, 10)):
            label = f"{m}x{k}x{n}"
            x, y = floats(rng, m, k), floats(rng, k, n)
            yield Case("mm", (x, y), {}, dtype, label)
            yield Case("mm_nt", (x, y.T.copy()), {}, dtype, label)
            yield Case("mm_tn", (x.T.copy(), y), {}, dtype, label)
            w, b = floats(rng, n, k), floats(rng, n)
            yield Case("linear", (x, w, b), {}, dtype, label)
            yield Case("linear", (x, w, None), {}, dtype, label + " no bias")
        x = floats(rng, 3, 5, 33)
        yield Case("linear", (x, floats(rng, 9, 33), floats(rng, 9)), {}, dtype, "3-d")
        for a, b in (((3, 5, 7), (3, 7, 4)), ((2, 3, 5, 7), (2, 3, 7, 4)), ((1, 5, 7), (6, 7, 4)),
                     ((2, 1, 5, 7), (3, 7, 4))):  # fmt: skip
            yield Case("bmm", (floats(rng, *a), floats(rng, *b)), {}, dtype, f"{a} {b}")


CONVS = [  # n, c, o, size, kernel, stride, padding, dilation, groups
    (4, 3, 6, (32, 32), (5, 5), (1, 1), (0, 0), (1, 1), 1),
    (4, 6, 16, (14, 14), (5, 5), (1, 1), (0, 0), (1, 1), 1),
    (300, 3, 6, (32, 32), (5, 5), (1, 1), (0, 0), (1, 1), 1),
    (1100, 6, 16, (14, 14), (5, 5), (1, 1), (0, 0), (1, 1), 1),
    (3, 1, 8, (28, 28), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    (2, 2, 5, (9, 13), (3, 5), (2, 1), (1, 2), (1, 1), 1),
    (2, 3, 7, (17, 11), (3, 3), (2, 2), (1, 1), (1, 1), 1),
    (2, 16, 32, (8, 8), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    (2, 64, 64, (8, 8), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    (2, 64, 128, (9, 9), (3, 3), (2, 2), (1, 1), (1, 1), 1),
    (2, 32, 64, (7, 7), (1, 1), (1, 1), (0, 0), (1, 1), 1),
    (2, 16, 16, (8, 8), (3, 3), (1, 1), (2, 2), (2, 2), 1),
    (2, 16, 32, (8, 8), (3, 3), (1, 1), (1, 1), (1, 1), 4),
    (2, 8, 8, (8, 8), (3, 3), (1, 1), (1, 1), (1, 1), 8),
    (2, 16, 24, (20,), (5,), (1,), (2,), (1,), 1),
    (2, 8, 16, (5, 6, 7), (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    (2, 5, 5, (17,), (5,), (2,), (2,), (2,), 5),
    (2, 6, 6, (13, 14), (7, 7), (1, 1), (3, 3), (1, 1), 6),
    (2, 6, 6, (9, 10), (3, 5), (1, 2), (0, 2), (2, 1), 6),
    (2, 4, 4, (6, 7, 9), (2, 3, 4), (2, 1, 3), (1, 0, 2), (1, 2, 1), 4),
    (1, 4, 4, (9, 9, 9), (7, 7, 7), (1, 1, 1), (3, 3, 3), (1, 1, 1), 4),
]


def convolutions(rng: np.random.Generator) -> Iterator[Case]:
    for n, c, o, size, kernel, stride, padding, dilation, groups in CONVS:
        out = tuple(
            [(s + 2 * p - d * (k - 1) - 1) // t + 1 for s, k, t, p, d in zip(size, kernel, stride, padding, dilation)]
        )
        x, w = floats(rng, n, c, *size), floats(rng, o, c // groups, *kernel)
        b, g = floats(rng, o), floats(rng, n, o, *out)
        how = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        label = f"{n}x{c}->{o} {size} k{kernel} s{stride} p{padding} d{dilation} g{groups}"
        for dtype, tol in ((F32, 3e-3), (BF16, 3e-2)):
            if dtype == BF16 and n > 100:
                continue
            small = c * int(np.prod(kernel)) <= 150 and o <= 32 and len(kernel) == 2
            tol = 3e-5 if dtype == F32 and small and dilation == (1, 1) and groups == 1 else tol
            yield Case("conv", (x, w, b), how, dtype, label, tol, True)
            yield Case("conv", (x, w, None), how, dtype, label + " no bias", tol, True)
            yield Case("conv_grad_input", (g, w), {"x_shape": x.shape, **how}, dtype, label, tol, True)
            yield Case("conv_grad_weight", (g, x), {"w_shape": w.shape, **how}, dtype, label, tol, True)


POOLS = [  # shape, kernel, stride, padding, dilation, ceil
    ((4, 6, 28, 28), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((3, 5, 9, 11), (3, 3), (2, 2), (1, 1), (1, 1), False),
    ((3, 5, 9, 11), (3, 2), (1, 2), (1, 1), (2, 1), True),
    ((2, 3, 17), (3,), (2,), (1,), (1,), False),
    ((2, 3, 6, 7, 8), (2, 3, 2), (2, 2, 2), (1, 1, 0), (1, 1, 1), True),
    ((1, 2, 150, 130), (3, 3), (1, 1), (0, 0), (1, 1), False),
]


def pools(rng: np.random.Generator) -> Iterator[Case]:
    from rushlight.runtime.door import KERNELS

    for shape, kernel, stride, padding, dilation, ceil in POOLS:
        for dtype in (F32, F64, F16, BF16):
            x = floats(rng, *shape)
            how = {"kernel": kernel, "stride": stride, "padding": padding}
            most = {**how, "dilation": dilation, "ceil_mode": ceil}
            yield Case("max_pool", (x,), most, dtype, f"{shape} {kernel}")
            y, index = KERNELS["max_pool"].generic(np, x.astype(dtype), **most)
            g = floats(rng, *y.shape)
            overlap = any(s < d * (k - 1) + 1 for s, d, k in zip(stride, dilation, kernel))
            attrs = {"x_shape": shape, "overlap": overlap}
            yield Case("max_pool_grad", (g, index), attrs, dtype, f"{shape} {kernel}")
            yield Case("pool_take", (x, index), {}, dtype, f"{shape} {kernel}")
            if dilation != (1,) * len(kernel):
                continue
            for include, divisor in ((True, None), (False, None), (True, 3)):
                mean = {**how, "ceil_mode": ceil, "include_pad": include, "divisor": divisor}
                label = f"{shape} {kernel} {include} {divisor}"
                yield Case("avg_pool", (x,), mean, dtype, label)
                yield Case("avg_pool_grad", (g,), {"x_shape": shape, **mean}, dtype, label)


def softmaxes(rng: np.random.Generator) -> Iterator[Case]:
    for dtype in (F32, F64, F16, BF16):
        for shape, dim in (((4, 10), 1), ((5, 1), 1), ((7, 33, 5), 1), ((3, 5000), 1), ((2, 3, 130), -1), ((6, 4), 0)):
            x, g = floats(rng, *shape), floats(rng, *shape)
            at = dim % len(shape)
            label = f"{shape} {dim}"
            y = np.exp(x) / np.exp(x).sum(at, keepdims=True)
            yield Case("softmax", (x,), {"dim": at}, dtype, label)
            yield Case("log_softmax", (x,), {"dim": at}, dtype, label)
            yield Case("softmax_grad", (g, y), {"dim": at}, dtype, label)
            yield Case("log_softmax_grad", (g, np.log(y)), {"dim": at}, dtype, label, 0.1 if dtype == BF16 else 0)
        x = floats(rng, 5, 9)
        x[2] = -np.inf
        yield Case("attention_weights", (x,), {}, dtype, "a row of -inf")


def entropies(rng: np.random.Generator) -> Iterator[Case]:
    for dtype in (F32, F64, F16, BF16):
        for rows, n in ((4, 10), (1, 3), (77, 17), (4096, 10), (1000, 100), (9, 3000), (9000, 5), (6, 4104),
                        (1100, 2056)):  # fmt: skip
            for reduction in ("mean", "sum", "none"):
                x = floats(rng, rows, n)
                target = rng.integers(0, n, rows)
                if rows > 4:
                    target[::5] = -100
                attrs = {"ignore_index": -100, "reduction": reduction}
                label = f"{rows}x{n} {reduction}"
                for wide in (False, True):
                    how = {**attrs, "wide": wide}
                    yield Case("cross_entropy_fused", (x, target), how, dtype, f"{label} {wide}")
                kept = x.astype(dtype).astype(F64)
                tops = kept.max(1, keepdims=True)
                stats = np.concatenate([tops, np.exp(kept - tops).sum(1, keepdims=True)], 1)
                stats = stats.astype(F64 if dtype == F64 else F32)
                g = floats(rng, rows) if reduction == "none" else floats(rng)
                yield Case("cross_entropy_grad", (np.asarray(g), x, stats, target), attrs, dtype, label)


def norms(rng: np.random.Generator) -> Iterator[Case]:
    for dtype in (F32, F64, F16, BF16):
        for shape in ((4, 6, 5, 7), (33, 10), (16, 64, 8, 8), (2, 3, 4, 5, 6), (2, 5, 1, 1)):
            x, g = 3 + floats(rng, *shape), floats(rng, *shape)
            c = shape[1]
            w, b = floats(rng, c), floats(rng, c)
            label, eps = f"{shape}", {"eps": 1e-5}
            tol = 2e-4 if dtype == F32 and shape[0] == 2 else 0.0  # two numbers: a difference of ones
            wide = np.float64 if dtype == F64 else np.float32
            axes = (0, *range(2, len(shape)))
            seen = x.astype(dtype).astype(wide)
            mean, std = seen.mean(axes), 1 / np.sqrt(seen.var(axes) + 1e-5)
            mean, std = mean.astype(wide), std.astype(wide)
            yield Case("batch_norm_train", (x, w, b), eps, dtype, label)
            yield Case("batch_norm_train", (x, None, None), eps, dtype, label + " plain")
            yield Case("batch_norm_grad", (g, x, w, mean, std), eps, dtype, label, tol)
            yield Case("batch_norm_grad", (g, x, None, mean, std), eps, dtype, label + " plain", tol)
            yield Case("batch_norm_eval", (x, w, b, floats(rng, c), np.abs(b) + 1), eps, dtype, label)
        for shape, dims in (((4, 10), 1), ((3, 5, 7), 2), ((2, 3000), 1), ((200, 64), 1)):
            x, g = 1 + floats(rng, *shape), floats(rng, *shape)
            w, b = floats(rng, *shape[-dims:]), floats(rng, *shape[-dims:])
            wide = np.float64 if dtype == F64 else np.float32
            axes = tuple(range(len(shape) - dims, len(shape)))
            seen = x.astype(dtype).astype(wide)
            mean = seen.mean(axes, keepdims=True)
            std = (1 / np.sqrt(seen.var(axes, keepdims=True) + 1e-5)).astype(wide)
            rms = (1 / np.sqrt((seen**2).mean(axes, keepdims=True) + 1e-5)).astype(wide)
            attrs, label = {"dims": dims, "eps": 1e-5}, f"{shape} {dims}"
            yield Case("layer_norm", (x, w, b), attrs, dtype, label)
            yield Case("layer_norm_grad", (g, x, w, mean, std), attrs, dtype, label)
            yield Case("rms_norm", (x, w), attrs, dtype, label)
            yield Case("rms_norm_grad", (g, x, w, rms), attrs, dtype, label)


def embeddings(rng: np.random.Generator) -> Iterator[Case]:
    for dtype in (F32, F64, F16, BF16):
        for rows, width, shape in ((10, 4, (3, 5)), (100, 33, (64,)), (7, 300, (50, 2))):
            index = rng.integers(0, rows, shape)
            for padding, by_freq in ((-1, False), (2, False), (-1, True)):
                attrs = {"padding_idx": padding, "scale_by_freq": by_freq}
                label = f"{rows}x{width} {shape} {padding} {by_freq}"
                yield Case("embedding", (floats(rng, rows, width), index), attrs, dtype, label)
                g = floats(rng, *shape, width)
                yield Case("embedding_grad", (g, index), {"rows": rows, **attrs}, dtype, label)


# kernel, number of states, numbers, flags
UPDATES = [
    ("sgd_update", 0, [0.1, 0.01, 0, 0], {"nesterov": False, "maximize": False, "first": False}),
    ("sgd_update", 1, [0.1, 0.01, 0.9, 0.1], {"nesterov": False, "maximize": False, "first": False}),
    ("sgd_update", 1, [0.1, 0, 0.9, 0], {"nesterov": True, "maximize": True, "first": False}),
    ("sgd_update", 1, [0.1, 0.01, 0.9, 0], {"nesterov": False, "maximize": False, "first": True}),
    ("adam_update", 2, [0.01, 0.01, 0.9, 0.999, 1e-8, 0.19, 0.04], {"decoupled": False, "maximize": False}),
    ("adam_update", 3, [0.01, 0.01, 0.9, 0.999, 1e-8, 0.19, 0.04], {"decoupled": True, "maximize": False}),
    ("adamax_update", 2, [0.01, 0.01, 0.9, 0.999, 1e-8, 0.19], {"maximize": False}),
    ("nadam_update", 2, [0.01, 0.01, 0.9, 0.999, 1e-8, 0.002, 0.02, 0.03], {"decoupled": False, "maximize": False}),
    ("radam_update", 2, [0.01, 0.01, 0.9, 0.999, 1e-8, 0.19, 0.3], {"decoupled": True, "maximize": False}),
    ("radam_update", 2, [0.01, 0.0, 0.9, 0.999, 1e-8, 0.19, 0.0], {"decoupled": False, "maximize": True}),
    ("rmsprop_update", 1, [0.01, 0.01, 0.99, 1e-8, 0.0], {"centered": False, "momentum": False, "maximize": False}),
    ("rmsprop_update", 3, [0.01, 0.01, 0.99, 1e-8, 0.9], {"centered": True, "momentum": True, "maximize": False}),
    ("rmsprop_update", 2, [0.01, 0.0, 0.99, 1e-8, 0.9], {"centered": False, "momentum": True, "maximize": False}),
    ("adagrad_update", 1, [0.01, 0.01, 1e-10], {"maximize": False}),
    ("adadelta_update", 2, [1.0, 0.01, 0.9, 1e-6], {"maximize": False}),
    ("rprop_update", 2, [0.5, 1.2, 1e-6, 50.0], {"maximize": False}),
    ("asgd_update", 1, [0.01, 0.01, 0.999, 0.5], {"maximize": False}),
    ("asgd_update", 1, [0.01, 0.0, 0.999, 1.0], {"maximize": True}),
    ("muon_update", 0, [0.01, 0.1], {}),
    ("muon_momentum_update", 1, [0.9], {"nesterov": True}),
    ("muon_momentum_update", 1, [0.9], {"nesterov": False}),
]


def updates(rng: np.random.Generator) -> Iterator[Case]:
    shapes = [(6, 3, 5, 5), (6,), (1,), (120, 401), (7, 7)]
    for dtype in (F32, F64):
        for name, states, numbers, flags in UPDATES:
            for many in (1, 15):
                sizes = shapes * many
                arrays = [floats(rng, *s) for s in sizes * 2]
                arrays += [np.abs(floats(rng, *s)) + 0.5 for s in sizes * states]
                if flags.get("centered"):  # the mean square exceeds the square of the mean
                    arrays[2 * len(sizes) : 3 * len(sizes)] = [np.full(s, 40.0, "f") for s in sizes]
                attrs = {"n": len(sizes), **flags}
                label = f"{states} states, {len(sizes)} parameters {flags}"
                yield Case(name, (np.array(numbers), *arrays), attrs, dtype, label)
                each = np.array(numbers) * (1 - 0.01 * np.arange(len(sizes)))[:, None]
                yield Case(name, (each, *arrays), attrs, dtype, f"{label}, numbers for each")


def running(rng: np.random.Generator) -> Iterator[Case]:
    """Kernels that write into their first two arrays."""
    attrs = {"momentum": 0.1, "eps": 1e-5, "n": 50}
    for dtype in (F32, F64):
        a, b, mean, std = [np.abs(floats(rng, 70)) + 0.5 for _ in range(4)]
        yield Case("running_statistics", (a, b, mean, std), attrs, dtype, "both")
        yield Case("running_statistics", (a, None, mean, std), attrs, dtype, "mean alone")


def orders(rng: np.random.Generator) -> Iterator[Case]:
    """Rows without equal elements, of which NumPy's partitions would choose others."""
    cases = [(F32, (96, 4), 1), (F32, (7, 1000, 3), 1), (F32, (3, 5000), 1), (F64, (2, 20000), 1),
             (F32, (70000, 2), 0), (F16, (9, 100), 1), (BF16, (9, 100), 1)]  # fmt: skip
    for dtype, shape, dim in cases:
        x = np.argsort(rng.standard_normal(shape), dim).astype(np.float32)
        x -= shape[dim] // 2
        n = shape[dim]
        for largest in (True, False):
            label = f"{shape} {largest}"
            yield Case("sort", (x,), {"dim": dim, "descending": largest}, dtype, label)
            for k in (1, 2, n // 3, n):
                attrs = {"k": k, "dim": dim, "largest": largest}
                yield Case("topk", (x,), attrs, dtype, f"{label} {k}")
        for k in (1, n // 2, n):
            attrs = {"k": k, "dim": dim, "keepdim": False}
            yield Case("kthvalue", (x,), attrs, dtype, f"{shape} {k}")
        sequence, values = np.sort(x.swapaxes(dim, -1), -1), floats(rng, *x.shape[:dim], 50) * n
        if dim == x.ndim - 1:
            attrs = {"right": True, "narrow": False}
            yield Case("searchsorted", (sequence, values), attrs, dtype, f"{shape}")


def resamples(rng: np.random.Generator) -> Iterator[Case]:
    from rushlight.operators.image.resample_kernels import ResamplePlan

    plans = [ResamplePlan("linear", 16, 32, 0.5), ResamplePlan("linear", 33, 10, 3.3), ResamplePlan("nearest", 16, 32, 0.5),
             ResamplePlan("cubic", 12, 30, 0.4), ResamplePlan("mean", 20, 7), ResamplePlan("smooth-linear", 40, 9, 40 / 9),
             ResamplePlan("reflect", 16, 20, shift=2)]  # fmt: skip
    for dtype in (F32, F64, F16, BF16):
        for flip in (False, True):
            for i, plan in enumerate(plans):
                other = plans[i - 1]
                sizes = [p.out if flip else p.size for p in (plan, other)]
                x = floats(rng, 2, 8, *sizes)
                label = f"{plan.kind} {other.kind} {flip}"
                axis = {"axis": 2, "plan": plan, "flip": flip}
                yield Case("resample_axis", (x,), axis, dtype, label)
                both = {"plans": (plan, other), "flip": flip}
                yield Case("resample_plane", (x,), both, dtype, label)


def alignments(rng: np.random.Generator) -> Iterator[Case]:
    import rushlight

    rushlight.nn.functional.ctc_loss  # noqa: B018 - defines the op
    for dtype in (F32, F64):
        for frames, samples, classes, width in ((60, 4, 29, 12), (200, 16, 40, 90), (5, 1, 3, 2)):
            x = floats(rng, frames, samples, classes).astype(np.float64)
            x = (x - np.log(np.exp(x).sum(-1, keepdims=True))).astype(dtype)
            target = rng.integers(1, classes, (samples, width))
            lengths = (np.full(samples, frames), np.full(samples, width))
            label = f"{frames}x{samples}x{classes} {width}"
            yield Case("ctc_loss", (x, target, *lengths), {"blank": 0}, dtype, label, 1e-5)


FAMILIES = {
    "order": orders, "resample": resamples, "alignment": alignments,
    "blas": products, "conv": convolutions, "pool": pools, "softmax": softmaxes,
    "entropy": entropies, "norm": norms, "embedding": embeddings, "update": updates,
    "running": running,
}  # fmt: skip
