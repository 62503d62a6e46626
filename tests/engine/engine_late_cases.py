"""Random calls of the CPU kernels that came last, as in engine_cases.py."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

import rushlight as rl
from rushlight.base.device import CPU
from rushlight.runtime.door import KERNELS
from rushlight.vision.transforms._tables import BY_TABLE

if TYPE_CHECKING:
    from engine_cases import Case, Draw

AARCH64 = platform.machine() == "aarch64"  # there NumPy has no vectors for angles


def sampled(d: Draw) -> Iterator[Case]:
    """Images at places between pixels."""
    dims = d.one(2, 2, 3)
    sizes, out = d.one((5, 7, 4), (1, 6, 3))[:dims], d.one((6, 5, 9), (1, 1, 1), (11, 13, 2))[:dims]
    x, grid = d.laid(2, 3, *sizes), d.laid(2, *out, dims)
    mode = d.one("bilinear", "nearest", "bicubic") if dims == 2 else d.one("bilinear", "nearest")
    padding = d.one("zeros", "border", "reflection")
    how = {"mode": mode, "padding": padding, "align": d.one(True, False)}
    if mode == "nearest":  # two ways to round place a half on either side
        grid = np.round(grid * 4) / 4 + np.float32(0.03)
    g = d.laid(2, 3, *out)
    yield "grid_sample", (x, grid), how, 2e-4
    yield "grid_sample_grad_input", (g, x, grid), how, 2e-4
    yield "grid_sample_grad_grid", (g, x, grid), how, 2e-3


def orders(d: Draw) -> Iterator[Case]:
    """What order decides; numbers differ, since which of equal ones is found is open for some."""
    shape = d.one((1,), (7,), (3, 5), (4, 40), (2, 3, 70), (5, 300), (90, 4))
    x = d.np.permutation(int(np.prod(shape))).astype(np.float32).reshape(shape) - np.float32(20)
    if d.one(0, 1):
        x.reshape(-1)[:: d.one(7, 50)] = d.one(np.nan, np.inf, -np.inf)
    dim, keepdim = d.py.randrange(len(shape)), d.one(True, False)
    how = {"dim": dim, "keepdim": keepdim}
    for name in ("max_dim", "min_dim"):
        yield name, (x,), how, 0.0
    for name in ("argmax", "argmin"):
        yield name, (x,), {"dim": d.one(None, dim), "keepdim": keepdim}, 0.0
    if d.one(0, 1):
        x = np.round(x / 3)
    yield "sort", (x,), {"dim": dim, "descending": d.one(True, False)}, 0.0
    yield "median_dim", (x,), {**how, "ignore_nan": d.one(True, False)}, 0.0
    yield "median", (x,), {"ignore_nan": d.one(True, False)}, 0.0
    y = d.floats(*shape)
    yield "topk", (y,), {"dim": dim, "k": d.one(1, shape[dim]), "largest": d.one(True, False)}, 0.0
    yield "kthvalue", (y,), {**how, "k": d.one(1, shape[dim])}, 0.0
    kind = d.one(np.float32, np.float64, np.int64, np.int32)
    rows, values = np.sort(np.round(y * 9), axis=-1).astype(kind), np.round(y[..., :3] * 9)
    if kind is np.float32:
        rows[..., -1] = d.one(np.nan, np.inf, 30)
    values = values.astype(kind)
    way = {"right": d.one(True, False), "narrow": d.one(True, False)}
    yield "searchsorted", (rows, values), way, 0.0
    yield "searchsorted", (rows.reshape(-1, shape[-1])[0], values), way, 0.0
    dims = tuple(range(d.py.randrange(len(shape)), len(shape)))
    spread = {"dim": d.one(None, dims), "keepdim": keepdim, "correction": d.one(0, 1, 0.5)}
    yield "var", (y + np.float32(d.one(0, 50)),), spread, 1e-4
    yield "std", (y,), spread, 1e-5
    turned = d.laid(*shape).astype(d.one(np.float32, np.int64, np.bool_))
    yield "flip", (turned,), {"dims": d.one((dim,), tuple(range(len(shape))), ())}, 0.0


def moved(d: Draw) -> Iterator[Case]:
    """Numbers that move round, and columns that are added back to an image."""
    shape = d.one((1,), (7,), (3, 5), (4, 1, 6), (2, 3, 4, 5))
    x = d.laid(*shape).astype(d.one(np.float32, np.float64, np.int64, np.bool_))
    dims = tuple(d.py.sample(range(len(shape)), d.py.randrange(len(shape)) + 1))
    dims += d.one((), dims[:1])  # a dim twice
    shifts = tuple(d.py.randrange(-9, 9) for _ in dims)
    yield "roll", (x,), {"shifts": shifts, "dims": dims}, 0.0
    widths = tuple((d.one(0, 0, 1, 3, -1), d.one(0, 0, 2, -1)) for _ in shape)
    if all(n + min(a, 0) + min(b, 0) > 0 for n, (a, b) in zip(shape, widths)):
        value = d.one(0, 0.0, -0.0, 2, -1.5, float("nan"), float("inf"))
        yield "pad_constant", (d.floats(*shape),), {"widths": widths, "value": value}, 0.0
    size, kernel = d.one((6, 5), (9, 16), (4, 1)), d.one((3, 2), (1, 1), (2, 1))
    how = {"kernel": kernel, "stride": d.one((1, 1), (2, 3), kernel)}
    how |= {"padding": d.one((0, 0), (1, 1)), "dilation": d.one((1, 1), (2, 1))}
    reach = [w * (k - 1) for w, k in zip(how["dilation"], kernel)]
    rooms = [n + 2 * p - r - 1 for n, p, r in zip(size, how["padding"], reach)]
    if min(rooms) >= 0:
        windows = int(np.prod([room // s + 1 for room, s in zip(rooms, how["stride"])]))
        columns = d.floats(2, 3 * kernel[0] * kernel[1], windows)
        yield "col2im", (columns,), {"size": size, **how}, 0.0
    if AARCH64:
        m, k, n = d.one(1, 5, 40), d.one(1, 3, 64), d.one(1, 7, 33)
        b = d.one(d.floats(m, n), np.broadcast_to(d.floats(n), (m, n)))
        yield "addmm", (b, d.laid(m, k), d.laid(k, n)), {"beta": 1, "alpha": 1}, 1e-5


def angles(d: Draw) -> Iterator[Case]:
    """Angles, hyperbolic functions, powers and logarithms of 2 and 10, with the ends of their domains."""
    if not AARCH64:
        return
    x = d.laid(*d.one((1,), (9, 70), (1100,))) * np.float32(d.one(1e-30, 1e-3, 1, 50, 1e6))
    ends = x.copy()
    odd = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 0.5, 1e-45, 89.5, -3e38)
    ends.reshape(-1)[:: d.one(3, 50)] = d.one(*odd)
    for name in ("tan", "atan", "sinh", "cosh", "exp2"):
        yield name, (ends,), {}, 3e-7
    small = np.where(np.abs(ends) > 1, np.float32(-0.3), ends)
    for name in ("asin", "acos", "atanh"):
        yield name, (d.one(small, ends),), {}, 3e-7
    for name in ("log2", "log10"):
        yield name, (d.one(np.abs(ends), ends),), {}, 3e-7
    yield "atan2", (ends, d.one(x, -x, np.full_like(x, d.one(*odd)))), {}, 3e-7


def special(d: Draw) -> Iterator[Case]:
    """Functions of one number, and losses of whole samples."""
    x = d.laid(*d.one((1,), (9, 70), (1100,))) * np.float32(d.one(1, 5))
    dim = d.py.randrange(3)
    gates = d.laid(*[2 * n if i == dim else n for i, n in enumerate(d.one((1, 3, 4), (2, 1, 700)))])
    yield "glu", (gates,), {"dim": dim}, 1e-6
    g = d.floats(*[n // 2 if i == dim else n for i, n in enumerate(gates.shape)])
    yield "glu_grad", (g, gates), {"dim": dim}, 1e-6
    yield "lgamma", (x,), {}, 1e-5
    yield "digamma", (np.abs(x) + np.float32(0.1),), {}, 1e-5
    yield "erfinv", (np.clip(x, -1, 1),), {}, 2e-6
    yield "polygamma", (x,), {"n": 1}, 2e-6
    yield "xlogy", (x, np.abs(d.floats(*x.shape))), {}, 2e-6
    ends = x.copy()
    ends.reshape(-1)[:: d.one(3, 50)] = d.one(np.nan, np.inf, -np.inf, -0.0, 3.0)
    yield "frac", (ends,), {}, 0.0
    yield "copysign", (ends, d.one(x, x[..., :1], x.reshape(-1)[:1], -0.0)), {}, 0.0
    how = {"nan": d.one(0.0, 2), "posinf": d.one(None, 1.5), "neginf": d.one(None, -1e30)}
    yield "nan_to_num", (ends,), how, 0.0
    within = {"eps": d.one(None, 1e-3, 0.7)}
    yield "logit", (np.abs(ends) / 2,), within, 2e-6
    yield "logit_grad", (x, np.abs(ends) / 2), within, 2e-6
    yield "logaddexp", (x, d.one(x, -x, np.full_like(x, np.inf))), {}, 2e-6
    t, n, c, size = d.one(1, 9), d.one(1, 3), d.one(3, 8), d.one(0, 1, 4)
    probs = d.floats(t, n, c)
    probs -= np.log(np.exp(probs).sum(-1, keepdims=True))
    lengths = (d.np.randint(0, t + 1, n), d.np.randint(0, size + 1, n))
    given = (probs, d.np.randint(0, c, (n, size)), *lengths)
    how = {"blank": d.one(0, c - 1)}
    yield "ctc_loss", given, how, 1e-4
    with np.errstate(all="ignore"):
        nll, alpha = KERNELS["ctc_loss"].generic(np, *given, **how)
    yield "ctc_loss_grad", (d.floats(n), *given, nll, alpha), how, 1e-4
    x, target = d.laid(n, c), d.np.randint(0, c, n)
    w, how = d.one(None, d.floats(c)), {"p": d.one(1, 2), "margin": d.one(1.0, 0.3)}
    yield "multi_margin_loss", (x, target, w), how, 1e-5
    yield "multi_margin_loss_grad", (d.floats(n), x, target, w), how, 1e-5
    labels = d.np.randint(d.one(-1, 0), c, (n, c))
    yield "multilabel_margin_loss", (x, labels), {}, 1e-5
    yield "multilabel_margin_loss_grad", (d.floats(n), x, labels), {}, 1e-5


def whole(d: Draw) -> Iterator[Case]:
    """Whole numbers, and windows that no step describes."""
    shape = d.one((1,), (7,), (3, 5), (2, 3, 40), (90, 4))
    x = d.np.randint(-(2**62), 2**62, shape)
    dims = tuple(range(d.py.randrange(len(shape)), len(shape)))
    yield "sum", (x,), {"dim": d.one(None, dims, (0,)), "keepdim": d.one(True, False)}, 0.0
    yield "cumsum", (x,), {"dim": d.py.randrange(len(shape)), "reverse": d.one(True, False)}, 0.0
    for name in ("amax", "amin"):
        yield name, (x,), {"dim": dims, "keepdim": d.one(True, False)}, 0.0
    by = d.np.randint(-9, 9, shape) * d.one(1, 2**20, 2**40)
    over = d.one(x, x % 2**31, d.np.randint(-99, 99, shape))
    for name in ("fmod", "remainder", "floor_divide"):
        yield name, (over, d.one(by, by, -7)), {}, 0.0
    few = d.np.randint(-3, 4, shape)
    how = {"dim": d.py.randrange(len(shape))}
    yield "sort", (few,), {**how, "descending": d.one(True, False)}, 0.0
    yield "mode", (d.one(few, few.astype(np.float32)),), {**how, "keepdim": d.one(True, False)}, 0.0
    kind = d.one(np.float16, np.float32, np.float64, np.int8, np.int32, np.int64, np.bool_)
    yield "count_nonzero", (few.astype(kind),), {"dim": d.one(None, dims)}, 0.0
    y = d.floats(*shape).astype(d.one(np.float32, np.int64, np.bool_))
    other = y.copy()
    other.reshape(-1)[-1] = d.one(other.reshape(-1)[-1], 5)
    yield "equal_everywhere", (y, other), {}, 0.0
    starts = np.sort(d.np.randint(0, 20, d.one(1, 4, 9)))
    starts[0] = 0
    yield "bag_numbers", (starts,), {"total": d.one(20, 33)}, 0.0
    ends = {"start": d.one(0, -2.5, 1e30), "end": d.one(1, 7.25), "size": (d.one(2, 3, 50, 1001),)}
    yield "linspace", (), {**ends, "dtype": rl.float32, "device": CPU, "base": None}, 0.0
    three = d.one((3,), (5, 3), (3, 70), (4, 3, 9))
    yield "cross", (d.laid(*three), d.laid(*three)), {"dim": three.index(3)}, 1e-5
    sizes = d.one((9,), (7, 10), (5, 6, 7))
    image, out = d.floats(2, 3, *sizes), tuple([d.one(1, 2, 4) for _ in sizes])
    image.reshape(-1)[:: d.one(11, 1000)] = d.one(np.nan, np.inf, -np.inf, 2.0)
    yield "adaptive_max_pool", (image,), {"size": out}, 0.0
    if len(sizes) > 1:
        how = {"kernel": (2,) * len(sizes), "size": out}
        samples = d.np.rand(2, 3, len(sizes)).astype(np.float32)
        yield "fractional_max_pool", (image, samples), how, 0.0


def writes(d: Draw) -> Iterator[Case]:
    """Copies, lists of places, and functions that came with them."""
    shape = d.one((1,), (7,), (3, 5), (2, 3, 70))
    kind = d.one(np.float32, np.int64, np.bool_)
    x = d.laid(*shape).astype(kind)
    yield "stack", tuple([x, x, x][: d.one(1, 2, 3)]), {"dim": d.py.randrange(len(shape) + 1)}, 0.0
    yield "copy_into", (d.floats(*shape).astype(kind), np.ascontiguousarray(x)), {}, 0.0
    yield "fill_into", (d.floats(*shape).astype(kind),), {"value": d.one(0, 0.0, -0.0, 1, 2.5)}, 0.0
    yield "nonzero", (np.round(x),), {}, 0.0
    dims = tuple(range(d.py.randrange(len(shape)), len(shape)))
    truths = d.floats(*shape) > d.one(-9, -2, 0, 2, 9)
    for name in ("any", "all"):
        yield name, (truths,), {"dim": d.one(None, dims), "keepdim": d.one(True, False)}, 0.0
    yield "one_hot", (d.np.randint(0, 5, shape),), {"classes": d.one(5, 9)}, 0.0
    y = d.laid(*shape) * np.float32(d.one(1, 30, 5000))
    for name in ("sin", "cos"):
        yield name, (y,), {}, 1e-6
    if d.one(0, 1):
        y[..., 0] = np.nan
    dims = tuple(range(d.py.randrange(len(shape)), len(shape)))
    yield "nansum", (y,), {"dim": d.one(None, dims), "keepdim": d.one(True, False)}, 1e-4


def any_dims(d: Draw) -> Iterator[Case]:
    """Reductions over neighbouring dims, wherever they are."""
    shape = d.one((1,), (7,), (3, 5), (2, 3, 70), (70, 3, 5), (130, 300), (2, 9, 3, 4))
    first = d.py.randrange(len(shape))
    dims = tuple(range(first, d.py.randrange(first, len(shape)) + 1))
    how = {"dim": d.one(None, dims, dims), "keepdim": d.one(True, False)}
    x = d.laid(*shape)
    odd = x.copy()
    odd.reshape(-1)[:: d.one(3, 50)] = d.one(np.nan, np.inf, -np.inf, -0.0)
    whole = d.np.randint(-9, 9, shape) * d.one(1, 2**40)
    for name in ("amax", "amin", "max", "min"):
        yield name, (d.one(x, odd, whole),), how, 0.0
    yield "logsumexp", (d.one(x, odd),), how, 1e-5
    yield "nansum", (odd,), how, 1e-4
    for name in ("var", "std"):
        yield name, (d.one(x, odd),), {**how, "correction": d.one(0, 1)}, 1e-4
    yield "vector_norm", (d.one(x, odd),), {**how, "ord": d.one(0.0, 1.0, 2.0, np.inf)}, 1e-4
    kinds = (np.float32, np.float64, np.float16, np.int64, np.int32, np.int16, np.uint8, np.bool_)
    numbers = np.where(odd == odd, np.round(odd), 0).clip(-9, 9).astype(np.int64)
    counted = numbers.astype(d.one(*kinds))  # a float below 0 has no uint8 on aarch64: NumPy warns
    yield "count_nonzero", (counted,), {"dim": how["dim"]}, 0.0
    yield "sum", (d.one(odd > 0, whole),), how, 0.0


def whole_orders(d: Draw) -> Iterator[Case]:
    """Sorts and the most frequent, of whole numbers and of long rows; quotients of whole numbers."""
    shape = d.one((1,), (7,), (3, 45), (2, 3, 70), (2, 1700), (90, 4))
    dim, span = d.py.randrange(len(shape)), d.one(2, 300, 2**31, 2**40)
    whole = d.np.randint(-span, span, shape)
    x = np.round(d.floats(*shape) * d.one(1, 100)).astype(np.float32)
    x.reshape(-1)[:: d.one(7, 50)] = d.one(np.nan, np.inf, -np.inf, -0.0)
    given = d.one(x, whole)
    yield "sort", (given,), {"dim": dim, "descending": d.one(True, False)}, 0.0
    yield "mode", (given,), {"dim": dim, "keepdim": d.one(True, False)}, 0.0
    different = given if given is whole else np.where(x == x, x, 0)  # NaNs in any order
    yield "unique", (different,), {"dim": None}, 0.0
    by = d.np.randint(1, d.one(9, 2**40), shape) * d.np.choice([-1, 1], shape)
    for name in ("remainder", "floor_divide", "fmod"):
        yield name, (whole, d.one(by, 7, -1, -(2**35))), {}, 0.0
        yield name, (d.one(5, -(2**35)), by), {}, 0.0


def views(d: Draw) -> Iterator[Case]:
    """The same numbers in another shape or order, and casts of float32."""
    shape = d.one((1,), (8,), (4, 6), (2, 3, 4), (2, 1, 3, 4))
    x = d.laid(*shape).astype(d.one(np.float32, np.int64, np.bool_))
    plain = np.ascontiguousarray(x)
    yield "view", (plain,), {"shape": d.one((x.size,), (1, x.size), (x.size, 1, 1))}, 0.0
    yield "unsqueeze", (plain,), {"dim": d.py.randrange(x.ndim + 1)}, 0.0
    one, other = d.py.randrange(x.ndim), d.py.randrange(x.ndim)
    yield "transpose", (x,), {"dim0": one, "dim1": other}, 0.0
    yield "permute", (x,), {"dims": tuple(d.np.permutation(x.ndim).tolist())}, 0.0
    yield "t", (d.laid(4, 6),), {}, 0.0
    odd = d.floats(*shape)
    odd.reshape(-1)[::3] = d.one(np.nan, np.inf, 0.0, -0.0)
    to = {"to": d.one(rl.bool, rl.float64), "source": rl.float32}
    yield "cast", (odd,), to, 0.0


def fourier(d: Draw) -> Iterator[Case]:
    """Sizes of every radix, of large primes, of long lines that are cut; any dims, any steps."""
    sizes = (1, 2, 3, 4, 5, 7, 8, 12, 16, 30, 33, 47, 59, 64, 101, 240)
    shape = [d.one(*sizes) for _ in range(d.one(1, 2, 2, 3))]
    if len(shape) == 3:
        shape[d.one(0, 1, 2)] = d.one(1, 2, 9)
    if d.one(*range(8)) == 0:
        shape = [d.one(512, 1000, 1024, 1009, 20000)]
    dims = tuple(d.np.permutation(len(shape))[: d.one(1, len(shape))].tolist())
    order = d.np.permutation(len(shape))
    small = d.one(0, 1)
    x = d.np.randn(2, *[shape[i] for i in order]).transpose(0, *(1 + np.argsort(order)))
    real = x[0].astype(np.float32 if small else np.float64)
    both = (x[0] + 1j * x[1]).astype(np.complex64 if small else np.complex128)
    both = both[::-1] if d.one(0, 0, 1) else both
    tolerance = 1e-6 if small else 2e-15
    how = {"dims": dims}
    yield "fft_forward", (both,), how, tolerance
    yield "fft_backward", (both,), how, tolerance
    yield "fft_real", (real,), how, tolerance
    n = max(2 * both.shape[dims[-1]] - d.one(1, 2), 1)
    yield "fft_to_real", (both,), {"dims": dims, "n": n}, tolerance


def systems(d: Draw) -> Iterator[Case]:
    """Linear systems of matrices that are far from singular."""
    n, batch = d.one(1, 2, 5, 8, 17, 33, 64), d.one((), (3,), (2, 2))
    kind = d.one(np.float32, np.float64)
    x = d.laid(*batch, n, n).astype(kind) * 0.1 + np.eye(n, dtype=kind) * 2
    y = d.laid(*batch, n, d.one(1, 3, 20)).astype(kind)
    near = 2e-4
    yield "linalg_inv", (x,), {}, near
    yield "linalg_solve", (x, y), {}, near
    whole = x @ x.swapaxes(-2, -1) + np.eye(n, dtype=kind)
    yield "linalg_cholesky", (whole,), {}, near
    how = {"left": d.one(True, False), "upper": d.one(True, False), "unitriangular": d.one(True, False)}
    half = (np.triu if how["upper"] else np.tril)(x)
    side = y if how["left"] else np.ascontiguousarray(y.swapaxes(-2, -1))
    yield "linalg_solve_triangular", (half, side), how, near
    yield "linalg_cholesky_solve", (y, half), {"upper": how["upper"]}, near


def pairs_and_bags(d: Draw) -> Iterator[Case]:
    """Distances of all pairs of rows, bags of rows of a table, lists that meet."""
    batch, n = d.one((), (2,)), d.one(1, 3, 8, 40)
    x, y = d.laid(*batch, d.one(1, 6), n), d.laid(*batch, d.one(1, 9), n)
    p = d.one(1.0, 2.0, float("inf"))
    yield "pair_distances", (x, y), {"p": p}, 2e-5
    away = numpy_distances(x, y, p)
    yield "pair_distances_grad", (d.floats(*away.shape), x, y, away), {"p": p}, 2e-4
    table, places = d.floats(7, d.one(1, 5, 16)), d.np.randint(0, 7, d.one(1, 12))
    starts = np.sort(d.np.randint(0, places.size + 1, d.one(1, 4)))
    starts[0] = 0
    how = {"mean": d.one(True, False), "by_freq": False}
    yield "embedding_bag", (table, places, starts), how, 2e-5
    a, b = [np.unique(d.np.randint(0, 30, d.one(1, 12))) for _ in range(2)]
    yield "sparse_meeting", (a, b), {}, 0.0
    yield from pictures(d)


def pictures(d: Draw) -> Iterator[Case]:
    """Bytes (N, C, H, W) in any order of memory, looked up in a table of numbers of any width."""
    n, c = d.one(1, 4, 9), d.one(1, 2, 3, 3, 4)
    x = d.np.randint(0, 256, (n, d.one(1, 5, 32), d.one(1, 6, 31), c)).astype(np.uint8)
    x = d.one(x, x[:, ::-1], x[:, :, 1:], x[..., ::-1]).transpose(0, 3, 1, 2)
    x = d.one(x, x, np.ascontiguousarray(x))
    kind = d.one(np.float32, np.float32, np.float64, np.float16, np.int64, np.uint8, np.bool_)
    places = d.one(None, d.np.randint(-n, n, d.one(0, 1, 7, 40)))
    yield BY_TABLE.name, (x, d.floats(c, 256).astype(kind), places), {}, 0.0


def numpy_distances(x: np.ndarray, y: np.ndarray, p: float) -> np.ndarray:
    return KERNELS["pair_distances"].generic(np, x, y, p=p)
