"""How a small convolution is cut into blocks and threads: the cheapest cut by a model of the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any, NamedTuple

# In one cycle a multiprocessor issues 4 warp instructions but reads only one float per lane from shared
# memory: a thread must use every float it reads at least four times to keep the arithmetic busy.
_ISSUE = 4.0
_SM = 132  # multiprocessors of an H200
_MOST_SUMS = 56  # running sums of a forward thread; more spill out of the registers
_MOST_ROWS = 48  # input numbers a thread holds
_MOST_WEIGHTS = 64  # running sums of a thread of the weight gradient
_MOST_THREADS = 256
_MOST_SHARED = 47 << 10
_WHOLE_ROW = 16  # rows up to here may belong to one thread


def _wide(*numbers: int) -> int:
    """How many neighbours one access may take where everything starts at a multiple of these."""
    return next(v for v in (4, 2, 1) if all(n % v == 0 for n in numbers))


def _conflicts(addresses: list[int], v: int) -> int:
    """Cycles in which a warp reads v neighbours at each of these addresses of shared memory."""
    cycles = 0
    for first in range(0, len(addresses), 32 // v):
        banks: dict[int, set[int]] = {}
        for word in set(addresses[first : first + 32 // v]):
            for k in range(v):
                banks.setdefault((word + k) % 32, set()).add(word + k)
        cycles += max([len(words) for words in banks.values()])
    return cycles


class Job(NamedTuple):
    """A convolution to cut: its shape, the windows it ends or begins with, how its input lies."""

    shape: Any
    pool: tuple[int, int] = (1, 1)  # windows whose maxima are the result
    source: int = 1  # FROM of conv_small.cu


class _Thread(NamedTuple):
    """What one thread computes."""

    py: int
    px: int
    ot: int
    ks: int


def _threads(job: Job) -> Iterator[_Thread]:
    """Every sensible share of a thread."""
    s, (kh, kw) = job.shape, job.pool
    oh, ow = s.out
    widths = {kw * k for k in (1, 2, 3, 4) if kw * k <= 8} | ({ow} if ow <= _WHOLE_ROW else set())
    for px in sorted(widths):
        if px > ow:
            continue
        xs = s.size[1] * s.spread[1] if px == ow else (px - 1) * s.stride[1] + s.kernel[1]
        for py in range(kh, min(oh, 4 * kh) + 1, kh):
            if py * xs > _MOST_ROWS and py > kh:
                break
            for ot in range(1, min(s.o, 8) + 1):
                if ot * py * px > _MOST_SUMS:
                    break
                for ks in (1, 2, 4, 8):
                    if ks == 1 or (ks <= s.c and s.c % ks == 0):
                        yield _Thread(py, px, ot, ks)


def _even(n: int, most: int) -> int:
    """The size of even parts of n, none above `most`."""
    return ceil(n / ceil(n / max(1, min(n, most))))


class Cut:
    """A share of a thread and the blocks made of such threads, with what they cost."""

    def __init__(self, job: Job, share: _Thread, room: int = 0) -> None:
        s = self.shape = job.shape
        self.job, self.share = job, share
        self.unroll = 0
        self.nx = ceil(s.out[1] / share.px)
        self.one = self.nx == 1
        self.groups, self.ng = ceil(s.out[0] / share.py), ceil(s.o / share.ot)
        lanes = self.nx * share.ks
        total = lanes * self.groups * self.ng * s.images
        few = total < 2 * _SM * 128
        room = room or (min(_MOST_THREADS, max(32, total // _SM)) if few else 160)
        self.ty = _even(self.groups, room // lanes)
        self.gb = _even(self.ng, room // (lanes * self.ty))
        whole = self.ty == self.groups
        self.trim = self.one and share.py == 1 and whole and s.stride[0] == s.spread[0] == 1
        self.ib = 1 if few else self._images(lanes * self.ty * self.gb)
        self.threads = lanes * self.ty * self.gb * self.ib
        self.blocks = (
            ceil(s.images / self.ib) * ceil(self.groups / self.ty) * ceil(self.ng / self.gb)
        )

    def _images(self, each: int) -> int:
        """Images of a block: enough threads, and few idle lanes in its last warp."""
        best = (0.0, 1)
        for ib in range(1, min(8, max(1, _MOST_THREADS // each)) + 1):
            threads = each * ib
            fill = threads / (ceil(threads / 32) * 32) * min(1.0, threads / 96)
            best = max(best, (round(fill, 2), -ib))
        return abs(best[1])

    # -- memory ---------------------------------------------------------------------------------

    def place(self) -> bool:
        """Lay out shared memory; false when it does not fit."""
        s, share = self.shape, self.share
        (r, k), px = s.kernel, share.px
        rows = s.size[0] if self.trim else (self.ty * share.py - 1) * s.stride[0] + r
        columns = (s.size[1] - 1) * s.spread[1] + 1
        self.vx = 4 if self.one else _wide(px * s.stride[1])
        xs = columns if self.one else (px - 1) * s.stride[1] + k
        need = (self.nx - 1) * px * s.stride[1] + ceil(xs / self.vx) * self.vx
        left = 0 if self.one else s.front[1]
        unit = self.vx
        if self.job.source == 1:
            self.vs = _wide(s.size[1], left)
            unit = max(unit, self.vs)
            need = max(need, left + s.size[1])
        else:
            self.vs = 1
            need = max(need, left + columns)
        self.op = share.ot if share.ot <= 2 else ceil(share.ot / 4) * 4
        weights = 4 * s.c * r * k * self.gb * self.op
        for cc in [d for d in range(s.c, 0, -1) if s.c % d == 0 and d % share.ks == 0]:
            self._pitches(rows, need, unit, cc)
            steps = ceil(s.images / self.ib) > 2 * _SM or cc < s.c
            self.buffers = 2 if steps else 1
            self.shared = 4 * self.buffers * self.ib * self.image + weights + 16
            self.cc = cc
            if self.shared <= _MOST_SHARED:
                return True
        return False

    def _pitches(self, rows: int, need: int, unit: int, cc: int) -> None:
        """Pitches of row, channel and image with the fewest bank conflicts."""
        best = (10**9, 0, 0, 0, 0)
        base = ceil(need / unit) * unit
        for wp in (base, base + unit, base + 2 * unit):
            plane = rows * wp
            for pad in (0, 4, 8, 16) if self.ib > 1 or self.share.ks > 1 else (0,):
                if self.share.ks > 1:
                    p, image = plane + pad, cc * (plane + pad)
                else:
                    p, image = plane, cc * plane + pad
                p, image = ceil(p / unit) * unit, ceil(image / unit) * unit
                worst = _conflicts([self._address(t, wp, p, image) for t in range(32)], self.vx)
                best = min(best, (worst, image, wp, p, image))
        self.cycles, _, self.wp, self.plane, self.image = best

    def _address(self, t: int, wp: int, plane: int, image: int) -> int:
        """Where in the tile thread t begins to read."""
        share, s = self.share, self.shape
        t %= self.threads
        ks, t = t % share.ks, t // share.ks
        sx, t = t % self.nx, t // self.nx
        if self.trim:
            im, t = t % self.ib, t // self.ib
            gy = t // self.gb % self.ty
        else:
            gy, t = t % self.ty, t // self.ty
            im = t % self.ib
        row = gy * share.py * s.stride[0]
        return im * image + ks * plane + row * wp + sx * share.px * s.stride[1]

    # -- time -----------------------------------------------------------------------------------

    def cost(self) -> float:
        """Cycles of the whole launch, roughly."""
        s, share = self.shape, self.share
        r, k = s.kernel
        columns = (s.size[1] - 1) * s.spread[1] + 1
        xs = columns if self.one else (share.px - 1) * s.stride[1] + k
        fresh = 1 if s.stride[0] == 1 and self.buffers == 2 else share.py
        work = k * share.ot * share.py * share.px
        if self.one:
            work = share.ot * share.py * min(k * share.px, k * columns)
        reads = fresh * ceil(xs / self.vx)
        per_row = work + reads + k * ceil(self.op / 4)
        shared = reads * self.cycles + k * ceil(self.op / 4)
        height = r * s.size[0] / s.out[0] if self.trim and s.front[0] else r
        loops = s.c / share.ks * height
        warps = ceil(self.threads / 32)
        meet = share.ot * share.py * share.px * 2 * (share.ks.bit_length() - 1)  # adding up lanes
        on_one = ceil(self.blocks / _SM) if self.blocks < 4 * _SM else self.blocks / _SM
        busy = on_one * warps * (loops * max(per_row / _ISSUE, shared) + meet)
        chain = (loops * (per_row + 12 * reads) + 8 * meet) * max(
            1.0, warps / 4 if self.blocks < 2 * _SM else 1.0
        )
        words = s.c * s.size[0] * s.size[1] * self.ib + s.c * r * k * self.gb * self.op
        staging = on_one * words / 16 + 40 * ceil(words / self.threads / 8)
        return max(busy, chain) + staging / (2 if self.buffers == 2 else 1)

    def constants(self) -> dict[str, int]:
        s, share = self.shape, self.share
        few = self.buffers == 1
        return {
            "PY": share.py, "PX": share.px, "OT": share.ot, "KS": share.ks, "TY": self.ty,
            "IB": self.ib, "GB": self.gb, "CC": self.cc, "WP": self.wp, "PLANE": self.plane,
            "IMAGE": self.image, "VX": self.vx, "VS": self.vs, "VY": _wide(share.px, s.out[1]),
            "TRIM": int(self.trim), "BUFFERS": self.buffers, "UNROLL": self.unroll or (1 if few else s.kernel[0]),
        }  # fmt: skip

    def grid(self) -> tuple[int, int, int]:
        s = self.shape
        rows, channels = ceil(self.groups / self.ty), ceil(self.ng / self.gb)
        images = ceil(s.images / self.ib)
        if self.buffers == 2:  # blocks that stay and take image after image
            images = min(images, max(1, self.waves() // (rows * channels)))
        return images, rows, channels

    def waves(self) -> int:
        """Blocks that the GPU holds at once."""
        registers = self.share.ot * self.share.py * self.share.px + 64
        warps = ceil(self.threads / 32)
        each = min(65536 // (registers * warps * 32), (227 << 10) // (self.shared + 1024), 32)
        return _SM * max(1, each)


def best_cut(job: Job) -> Cut | None:
    """The cheapest way to cut a convolution; None when it is too large."""
    found = cuts(job, 1)
    return found[0] if found else None


def cuts(job: Job, most: int) -> list[Cut]:
    """The cheapest ways to cut a convolution, best first."""
    found = []
    for share in _threads(job):
        cut = Cut(job, share)
        if cut.threads <= 512 and cut.place():
            found.append((cut.cost(), len(found), cut))
    return [cut for _, _, cut in sorted(found)[:most]]


# -- weight gradients -----------------------------------------------------------------------------


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
    rows = (oh - 1) * sh + r
    vx, vs = _wide(v * sw), _wide(shape.size[1], shape.front[1])
    unit = max(vx, vs)
    wp = ceil(max((gp - 1) * sw + s, shape.size[1] + shape.front[1]) / unit) * unit
    strips = shape.c * ceil(shape.o / ot) * (gp // v)
    ys = max(1, min(oh // 2, 192 // strips))
    threads = strips * ys
    one = ceil(shape.c * (rows * wp + 4) / 4) * 4 + ceil(shape.o * (oh * gp + 4) / 4) * 4
    buffers = 2 if 8 * one <= 100 << 10 else 1
    shared = 4 * max(buffers * one, threads * (r * s + 1)) + 16
    if shared > 100 << 10:
        return None
    return {
        "OT": ot, "YS": ys, "WP": wp, "GP": gp, "VP": v, "VX": vx, "VS": vs, "BUFFERS": buffers,
        "VG": _wide(ow, gp, oh * gp), "threads": threads, "shared": shared,
    }  # fmt: skip


def taps_tile(shape: Any, window: tuple[int, int]) -> dict[str, int] | None:
    """Constants for conv_small_taps.cu with its threads, groups and shared bytes; None: too large."""
    (r, s), (oh, ow), (sh, sw) = shape.kernel, shape.out, shape.stride
    need = max((ow - 1) * sw + s, shape.size[1] + shape.front[1])
    lanes = [(t // s % r, t % s) for t in range(32)]
    pitches = range(need, need + 16)
    wp = min(pitches, key=lambda p: (_conflicts([u * p + v for u, v in lanes], 1), p))
    plane = ((oh - 1) * sh + r) * wp
    entries = (oh // window[0]) * (ow // window[1])
    cb = 1
    es = max(1, min(192 // (cb * r * s), 16))
    threads = ceil(cb * r * s * es / 32) * 32
    pairs = shape.o * (shape.c // cb)
    groups = max(1, min(shape.images, 2 * _SM // pairs)) if shape.images * entries > 512 else 1
    per = ceil(shape.images / groups)
    one = 4 * cb * plane + 8 * entries
    fixed = 4 * (es * cb * r * s + threads // 32) + 32
    ib = min(per, (_MOST_SHARED - fixed) // one)
    if ib < 1:
        return None
    ib = _even(per, ib)
    return {
        "CB": cb, "IB": ib, "ES": es, "WP": wp, "VS": _wide(shape.size[1]), "threads": threads,
        "groups": ceil(shape.images / per), "shared": ib * one + fixed,
    }  # fmt: skip
