"""How a small convolution is cut into blocks and threads: the cheapest cut by a model of the GPU."""

from __future__ import annotations

from math import ceil
from typing import Any

# A multiprocessor does 4 warp-wide multiply-adds in the time it reads one float per lane from shared
# memory, so a thread must use every float it reads at least four times to keep the arithmetic busy.
_READ_COST = 4.0
_MOST_SUMS = 48  # running sums of a thread; more spill out of the registers
_MOST_THREADS = 256
_MOST_SHARED = 44 << 10
_ROOMY = 24 << 10


def best_pitch(need: int, unit: int, places: list[int], rows: list[int]) -> int:
    """The row pitch from `need` on with the fewest bank conflicts for lanes at (row, place)."""
    best = (10**9, 0)
    for pitch in range(ceil(need / unit) * unit, ceil(need / unit) * unit + 8 * unit, unit):
        worst = 0
        for first in range(0, len(places), 32 // unit):
            banks: dict[int, set[int]] = {}
            for row, place in zip(rows[first : first + 32 // unit], places[first:]):
                word = row * pitch + place
                for k in range(unit):
                    banks.setdefault((word + k) % 32, set()).add(word + k)
            worst = max(worst, *[len(words) for words in banks.values()])
        best = min(best, (worst, pitch))
    return best[1]


def _thread_tile(shape: Any, px: int) -> tuple[int, int]:
    """Rows and channels of one thread: least arithmetic wasted, most reuse of what is read."""
    s, oh = shape.kernel[1], shape.out[0]
    xs = (px - 1) * shape.stride[1] + s
    best = (float("inf"), 0, 0)
    for py in range(1, min(oh, max(1, 14 // px)) + 1):
        for ot in range(1, min(shape.o, max(1, _MOST_SUMS // (px * py))) + 1):
            fresh = 1 if shape.stride[0] == 1 else py  # rows read anew for every kernel row
            reads = fresh * xs + s * (ceil(ot / 4) * 4)
            work = s * ot * py * px
            waste = ceil(oh / py) * py / oh * ceil(shape.o / ot) * ot / shape.o
            cost = waste * max(1.0, _READ_COST * reads / work) + 0.0005 * ot * py * px
            best = min(best, (cost, py, ot))
    return best[1], best[2]


def _divisors(n: int) -> list[int]:
    return [d for d in range(n, 0, -1) if n % d == 0]


def forward_tile(shape: Any, waves: int) -> dict[str, int] | None:
    """Constants for conv_small.cu with its threads, row groups and shared bytes; None: too large."""
    ow, sw = shape.out[1], shape.stride[1]
    vy = 4 if ow % 4 == 0 else 2 if ow % 2 == 0 else 1
    px = vy if vy > 1 else min(ow, 4)
    vx = 4 if px * sw % 4 == 0 else 2 if px * sw % 2 == 0 else 1
    py, ot = _thread_tile(shape, px)
    nx, ng, groups = ceil(ow / px), ceil(shape.o / ot), ceil(shape.out[0] / py)
    if nx * ng > 512:
        return None
    ty = min(groups, max(1, _MOST_THREADS // (nx * ng)))
    xs = (px - 1) * sw + shape.kernel[1]
    need = (nx - 1) * px * sw + ceil(xs / vx) * vx
    lanes = [(y, x) for y in range(ty) for x in range(nx)][:64]
    wp = best_pitch(
        need, vx, [x * px * sw for _, x in lanes], [y * py * shape.stride[0] for y, _ in lanes]
    )
    found = _staging(shape, ty, py, ot, ng, wp)
    if found is None:
        return None
    ty, cc, one, weights = found
    ib = 1
    threads = nx * ty * ng
    for more in (2, 4, 8):
        fits = threads * more <= _MOST_THREADS and one * more + weights <= 32 << 10
        if fits and shape.images * ceil(groups / ty) >= waves * more:
            ib = more
    return {
        "PY": py, "PX": px, "OT": ot, "TY": ty, "IB": ib, "CC": cc, "WP": wp, "VX": vx, "VY": vy,
        "threads": threads * ib, "groups": ceil(groups / ty), "shared": one * ib + weights + 16,
    }  # fmt: skip


def _staging(
    shape: Any, ty: int, py: int, ot: int, ng: int, wp: int
) -> tuple[int, int, int, int] | None:
    """Row groups and channels staged at once, with the bytes of one image and of the weights."""
    r, s = shape.kernel
    while ty:
        rows = (ty * py - 1) * shape.stride[0] + r
        for cc in _divisors(shape.c):
            one, weights = 4 * cc * rows * wp, 4 * cc * r * s * ng * (ceil(ot / 4) * 4)
            roomy = one <= _ROOMY // (1 if cc == shape.c else 4) or cc == 1
            if roomy and one + weights <= _MOST_SHARED:
                return ty, cc, one, weights
        ty //= 2
    return None


def weight_tile(shape: Any, waves: int) -> dict[str, int] | None:
    """Constants for conv_small_weight.cu with its threads and shared bytes; None: too large."""
    (r, s), (oh, ow), (sh, sw) = shape.kernel, shape.out, shape.stride
    best = (float("inf"), 0, 0)
    for v in (4, 2, 1):
        for ot in range(1, min(shape.o, max(1, _MOST_SUMS // s)) + 1):
            if shape.c * r * ceil(shape.o / ot) > 320:
                continue
            reads = ot * v + (v - 1) * sw + s
            waste = ceil(ow / v) * v / ow * ceil(shape.o / ot) * ot / shape.o
            cost = waste * max(1.0, _READ_COST * reads / (ot * s * v)) + 0.0005 * ot * s
            best = min(best, (cost, v, ot))
    _, v, ot = best
    if not v:
        return None
    gp = ceil(ow / v) * v
    combos = shape.c * r * ceil(shape.o / ot)
    need = (gp - 1) * sw + s
    rows = (oh - 1) * sh + r
    lanes = [(c, k) for c in range(shape.c) for k in range(r)][:32]
    wp = best_pitch(need, 1, [0] * len(lanes), [c * rows + k for c, k in lanes])
    one = 4 * (shape.c * rows * wp + shape.o * oh * gp)
    if one > _MOST_SHARED:
        return None
    ib = 4 if one <= 6 << 10 else 2 if one <= 12 << 10 else 1
    ib = ib if shape.images >= waves * ib else 1
    most = max(1, 320 // combos)
    q = max(range(1, most + 1), key=lambda q: _busy(oh * ib, q) * min(1.0, combos * q / 192))
    shared = max(one * ib + 32, 4 * shape.o * shape.c * r * s)
    if shared > _MOST_SHARED + 1024:
        return None
    return {
        "OT": ot, "Q": q, "IB": ib, "WP": wp, "GP": gp, "VP": v, "threads": combos * q,
        "shared": shared,
    }  # fmt: skip


def _busy(rows: int, q: int) -> float:
    """The part of the time that q groups have a row to work on."""
    return rows / (ceil(rows / q) * q)
