"""How a small convolution is cut into blocks and threads: the cheapest cut by a model of the GPU."""

from __future__ import annotations

from math import ceil
from typing import Any

# In one cycle a multiprocessor issues 4 warp instructions but reads only one float per lane from shared
# memory: a thread must use every float it reads at least four times to keep the arithmetic busy.
_ISSUE = 4.0
_MOST_SUMS = 48  # running sums of a forward thread; more spill out of the registers
_FEW_SUMS = 16  # with few images threads are what is short
_MOST_WEIGHTS = 64  # and of a thread of the weight gradient
_MOST_THREADS = 256
_MOST_SHARED = 44 << 10
_ROOMY = 28 << 10  # so that a multiprocessor holds several blocks


def best_pitch(need: int, unit: int, places: list[int], rows: list[int]) -> int:
    """The row pitch near `need` with the fewest bank conflicts for lanes at (row, place)."""
    least = ceil(need / unit) * unit
    best = (10**9, 0)
    for pitch in range(least, least + 4 * unit, unit):
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


def _wide(n: int) -> int:
    """How many neighbours one access may take where everything starts at a multiple of n."""
    return 4 if n % 4 == 0 else 2 if n % 2 == 0 else 1


def _thread_tile(shape: Any, px: int, vx: int, most: int) -> tuple[int, int]:
    """Rows and channels of one thread: least arithmetic wasted, most reuse of what is read."""
    s, oh = shape.kernel[1], shape.out[0]
    xs = (px - 1) * shape.stride[1] + s
    best = (float("inf"), 0, 0)
    for py in range(1, min(oh, max(1, min(14, most) // px)) + 1):
        if py * xs > 48:
            continue
        for ot in range(1, min(shape.o, max(1, most // (px * py))) + 1):
            fresh = 1 if shape.stride[0] == 1 else py  # rows read anew for every kernel row
            reads = fresh * xs + s * (ceil(ot / 4) * 4)
            instructions = fresh * ceil(xs / vx) + s * ceil(ot / 4)
            work = s * ot * py * px
            waste = ceil(oh / py) * py / oh * ceil(shape.o / ot) * ot / shape.o
            cost = waste * max((work + instructions) / _ISSUE, reads) / work
            best = min(best, (cost, py, ot))
    return best[1], best[2]


def _divisors(n: int) -> list[int]:
    return [d for d in range(n, 0, -1) if n % d == 0]


def forward_tile(shape: Any, waves: int, dense: bool) -> dict[str, int] | None:
    """Constants for conv_small.cu with its threads, row groups and shared bytes; None: too large."""
    ow, sw = shape.out[1], shape.stride[1]
    vy = _wide(ow)
    px = vy if vy > 1 else min(ow, 4)
    vx = _wide(px * sw)
    py, ot = _thread_tile(shape, px, vx, _MOST_SUMS if shape.images >= waves else _FEW_SUMS)
    if not py:
        return None
    nx, ng, groups = ceil(ow / px), ceil(shape.o / ot), ceil(shape.out[0] / py)
    if nx * ng > 512:
        return None
    ty = min(groups, max(1, _MOST_THREADS // (nx * ng)))
    xs = (px - 1) * sw + shape.kernel[1]
    need = (nx - 1) * px * sw + ceil(xs / vx) * vx
    bare = shape.front == (0, 0) and shape.spread == (1, 1)
    rows = (ty * py - 1) * shape.stride[0] + shape.kernel[0]
    flat = (
        dense and bare and ty == groups and need <= shape.size[1] and shape.size[1] % vx == 0
        and rows == shape.size[0] and shape.c * rows * shape.size[1] % 4 == 0
    )  # fmt: skip
    if flat:
        wp = shape.size[1]
    else:
        lanes = [(y, x) for y in range(ty) for x in range(nx)][:64]
        wp = best_pitch(
            need, vx, [x * px * sw for _, x in lanes], [y * py * shape.stride[0] for y, _ in lanes]
        )
    cut = _staging(shape, nx * ng, ty, py, ot, ng, wp, groups, waves, flat)
    if cut is None:
        return None
    ty, cc, ib, shared = cut
    whole = 0 if not dense or ty != groups else 2 if flat and cc == shape.c else 1
    return {
        "PY": py, "PX": px, "OT": ot, "TY": ty, "IB": ib, "CC": cc, "WP": wp, "VX": vx, "VY": vy,
        "WHOLE": whole, "threads": nx * ty * ng * ib, "groups": ceil(groups / ty),
        "shared": shared,
    }  # fmt: skip


def _staging(
    shape: Any, across: int, ty: int, py: int, ot: int, ng: int, wp: int, groups: int, waves: int,
    flat: bool,
) -> tuple[int, int, int, int] | None:  # fmt: skip
    """Row groups, channels staged at once and images of a block, with the shared bytes they take."""
    r, s = shape.kernel
    while ty:
        rows = (ty * py - 1) * shape.stride[0] + r
        found = []
        for cc in _divisors(shape.c)[: 1 if flat else None]:
            for ib in (1, 2, 4, 8):
                threads = across * ty * ib
                full = shape.images * ceil(groups / ty) >= waves * ib
                if ib > 1 and (threads > _MOST_THREADS or not full):
                    continue
                one, weights = 4 * cc * rows * wp, 4 * cc * r * s * ng * (ceil(ot / 4) * 4)
                shared = one * ib + weights + 32
                if shared <= (_MOST_SHARED if cc in (1, shape.c) and ib == 1 else _ROOMY):
                    found.append((min(threads, 96), cc, -ib, shared))
        if found:
            _, cc, ib, shared = max(found)
            return ty, cc, -ib, shared
        ty //= 2
        flat = False
    return None


def weight_tile(shape: Any) -> dict[str, int] | None:
    """Constants for conv_small_weight.cu with its threads and shared bytes; None: too large."""
    (r, s), (oh, ow), (sh, sw) = shape.kernel, shape.out, shape.stride
    best = (float("inf"), 0, 0)
    for v in (4, 2, 1):
        for ot in range(1, min(shape.o, max(1, _MOST_WEIGHTS // (r * s))) + 1):
            if shape.c * ceil(shape.o / ot) * ceil(ow / v) > 512:
                continue
            xn = (v - 1) * sw + s
            reads = ot * v + xn * (1 if sh == 1 else r)
            work = ot * r * s * v
            waste = ceil(ow / v) * v / ow * ceil(shape.o / ot) * ot / shape.o
            instructions = ot + ceil(xn / _wide(v * sw))
            cost = waste * max((work + instructions) / _ISSUE, reads) / work
            best = min(best, (cost, v, ot))
    _, v, ot = best
    if not v:
        return None
    gp = ceil(ow / v) * v
    rows, need = (oh - 1) * sh + r, (gp - 1) * sw + s
    vx = _wide(v * sw)
    bare = shape.front == (0, 0) and rows == shape.size[0] and shape.size[1] % vx == 0
    xflat = bare and need <= shape.size[1] and shape.size[0] * shape.size[1] % 4 == 0
    wp = shape.size[1] if xflat else ceil(need / vx) * vx
    strips = shape.c * ceil(shape.o / ot) * (gp // v)
    ys = max(1, min(oh // 2, 192 // strips))
    shared = 4 * (ceil(shape.c * (rows * wp + 4) / 4) * 4 + shape.o * (oh * gp + 4))
    shared = max(shared, 4 * shape.o * shape.c * r * s) + 16
    if shared > _MOST_SHARED:
        return None
    return {
        "OT": ot, "YS": ys, "WP": wp, "GP": gp, "VP": v, "VX": vx, "XFLAT": int(xflat),
        "GFLAT": int(gp == ow and oh * ow % 4 == 0), "threads": strips * ys, "shared": shared,
    }  # fmt: skip
