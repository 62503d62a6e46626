"""How a small convolution is cut into blocks and threads: the cheapest cut by a model of the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any, NamedTuple

from ..processors import multiprocessors

# In one cycle a multiprocessor issues 4 warp instructions but reads only one float per lane from shared
# memory: a thread must use every float it reads at least four times to keep the arithmetic busy.
_ISSUE = 4.0
_MOST_SUMS = 56  # running sums of a forward thread; more spill out of the registers
_MOST_ROWS = 48  # input numbers a thread holds
_MOST_WEIGHTS = 64  # running sums of a thread of the weight gradient
_MOST_THREADS = 256
_MOST_SHARED = 47 << 10
_WHOLE_ROW = 16  # rows up to here may belong to one thread
_READ, _WEIGHT_READ = 0.15, 0.4  # what reads of shared memory cost beside arithmetic, per cycle
_TALL = 0.15  # threads of many rows are slower than their instructions say
_PART = 0.02  # share of the whole time that each further part costs, when channels are loaded in several parts
_WAIT = 1.5  # cycles of one thread alone per instruction


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
            if py * xs > _MOST_ROWS and (py > kh or px == ow):
                break
            for ot in range(1, min(s.o, 8) + 1):
                if ot * py * px > _MOST_SUMS:
                    break
                for ks in (1, 2, 4, 8):
                    if ks < 2 * s.c:
                        yield _Thread(py, px, ot, ks)


def _even(n: int, most: int) -> int:
    """The size of even parts of n, none above `most`."""
    return ceil(n / ceil(n / max(1, min(n, most))))


class ConvCut:
    """A share of a thread and the blocks made of such threads, with what they cost."""

    def __init__(self, job: Job, share: _Thread, room: int = 0) -> None:
        s = self.shape = job.shape
        self.job, self.share = job, share
        self.nx = ceil(s.out[1] / share.px)
        self.one = self.nx == 1
        self.groups, self.ng = ceil(s.out[0] / share.py), ceil(s.o / share.ot)
        lanes = self.nx * share.ks
        total = lanes * self.groups * self.ng * s.images
        few = total < 2 * multiprocessors() * 128
        room = room or (min(_MOST_THREADS, max(32, total // multiprocessors())) if few else 160)
        self.ty = _even(self.groups, room // lanes)
        self.gb = _even(self.ng, room // (lanes * self.ty))
        whole = self.ty == self.groups
        self.trim = self.one and share.py == 1 and whole and s.stride[0] == s.spread[0] == 1
        self.ib = 1 if few else self._images(lanes * self.ty * self.gb)
        self.threads = lanes * self.ty * self.gb * self.ib
        self.blocks = ceil(s.images / self.ib) * ceil(self.groups / self.ty) * ceil(self.ng / self.gb)

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
        for cc in [d for d in range(s.c, 0, -1) if s.c % d == 0 and 2 * d > share.ks]:
            self._pitches(rows, need, unit, cc)
            steps = ceil(s.images / self.ib) > 2 * multiprocessors() or cc < s.c
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
    # The weights below are those with which the model picks best among 160 cuts measured on an H200.

    def _row(self) -> tuple[int, int, int]:
        """Multiplications, and reads of inputs and of weights, of a thread for one kernel row of a channel."""
        s, share = self.shape, self.share
        columns = (s.size[1] - 1) * s.spread[1] + 1
        xs = columns if self.one else (share.px - 1) * s.stride[1] + s.kernel[1]
        work = share.ot * share.py * s.kernel[1] * (min(share.px, columns) if self.one else share.px)
        fresh = 1 if s.stride[0] == 1 else share.py  # rows read anew
        return work, fresh * ceil(xs / 4), s.kernel[1] * ceil(share.ot / 4)

    def _rows(self) -> float:
        """Kernel rows of channels that a thread goes through."""
        s = self.shape
        height = s.kernel[0] * (s.size[0] / s.out[0] if self.trim and s.front[0] else 1)
        return ceil(s.c / self.share.ks) * height

    def least(self) -> float:
        """Cycles that no layout of memory can save."""
        work, reads, weights = self._row()
        return self._time(work / _ISSUE + _WEIGHT_READ * weights, work + reads + weights)

    def _time(self, each: float, chain: float) -> float:
        """Cycles of the launch when a warp needs so many for one kernel row, or waits so long."""
        share = self.share
        meet = 2 * share.ot * share.py * share.px * (share.ks.bit_length() - 1)  # adding up lanes
        tall = 1 + _TALL * (share.py / self.job.pool[0] - 1)
        warps = ceil(self.threads / 32) * max(1.0, self.blocks / multiprocessors())
        rows = self._rows()
        return max(warps * (rows * each * tall + meet / _ISSUE), _WAIT * (rows * chain + meet))

    def cost(self) -> float:
        """Cycles of the whole launch, roughly; after `place`."""
        s = self.shape
        work, _, weights = self._row()
        reads = self._row()[1] * 4 // self.vx
        each = work / _ISSUE + _READ * reads * self.cycles + _WEIGHT_READ * weights
        words = s.c * s.size[0] * s.size[1] * self.ib * max(1.0, self.blocks / multiprocessors())
        staging = words / (32 if self.buffers == 2 else 16)
        parts = 1 + _PART * (s.c // self.cc - 1)
        return self._time(each, work + reads + weights) * parts + staging

    def constants(self) -> dict[str, int]:
        s, share = self.shape, self.share
        return {
            "PY": share.py, "PX": share.px, "OT": share.ot, "KS": share.ks, "TY": self.ty,
            "IB": self.ib, "GB": self.gb, "CC": self.cc, "WP": self.wp, "PLANE": self.plane,
            "IMAGE": self.image, "VX": self.vx, "VS": self.vs,
            "VY": _wide(share.px // self.job.pool[1], s.out[1] // self.job.pool[1]),
            "TRIM": int(self.trim), "BUFFERS": self.buffers,
        }  # fmt: skip

    def grid(self, resident: int) -> tuple[int, int, int]:
        """Blocks over images, rows and channels, where `resident` fit on the GPU at once."""
        rows, channels = ceil(self.groups / self.ty), ceil(self.ng / self.gb)
        images = ceil(self.shape.images / self.ib)
        if self.buffers == 2:  # blocks that stay and take images in turn
            images = min(images, max(1, resident // (rows * channels)))
        return images, rows, channels


def best_cut(job: Job) -> ConvCut | None:
    """The cheapest way to cut a convolution; None when it is too large."""
    found = cuts(job, 1)
    return found[0] if found else None


def cuts(job: Job, most: int, tried: int = 8) -> list[ConvCut]:
    """The cheapest ways to cut a convolution, best first, of the most promising ones."""
    every = [cut for share in _threads(job) if (cut := ConvCut(job, share)).threads <= 512]
    every.sort(key=ConvCut.least)
    found: list[ConvCut] = []
    for cut in every:
        if len(found) == tried:
            break
        if cut.place():
            found.append(cut)
    return sorted(found, key=ConvCut.cost)[:most]


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
    most = multiprocessors() // shape.images  # few images: more blocks for each
    yb = max(1, min(oh // (2 * ys), most))
    threads = strips * ys
    one = ceil(shape.c * (rows * wp + 4) / 4) * 4 + ceil(shape.o * (oh * gp + 4) / 4) * 4
    buffers = 2 if 8 * one <= 100 << 10 else 1
    shared = 4 * max(buffers * one, threads * (r * s + 1)) + 16
    if shared > 100 << 10:
        return None
    return {
        "OT": ot, "YS": ys, "YB": yb, "WP": wp, "GP": gp, "VP": v, "VX": vx, "VS": vs, "BUFFERS": buffers,
        "VG": _wide(ow, gp, oh * gp), "threads": threads, "shared": shared,
    }  # fmt: skip


def taps_tile(shape: Any, window: tuple[int, int]) -> dict[str, int] | None:
    """Constants for conv_small_taps.cu with its threads, groups and shared bytes; None: too large."""
    (r, s), (oh, ow), (sh, sw) = shape.kernel, shape.out, shape.stride
    vs = _wide(shape.size[1], shape.front[1])
    need = ceil(max((ow - 1) * sw + s, shape.size[1] + shape.front[1]) / vs) * vs
    lanes = [(t // s % r, t % s) for t in range(32)]
    pitches = range(need, need + 16, vs)
    wp = min(pitches, key=lambda p: (_conflicts([u * p + v for u, v in lanes], 1), p))
    plane = ((oh - 1) * sh + r) * wp
    entries = (oh // window[0]) * (ow // window[1])
    pairs = shape.o * shape.c
    rb = r if pairs >= multiprocessors() // 2 else 1  # blocks for every multiprocessor
    pairs *= r // rb
    es = max(1, min(224 // (rb * s), shape.images * entries // 8, 64))
    threads = ceil(rb * s * es / 32) * 32
    most = min(shape.images, 2 * multiprocessors() // pairs)
    groups = max(1, most) if shape.images * entries > 4096 else 1
    per = ceil(shape.images / groups)
    one = 4 * plane + 8 * entries
    fixed = 4 * (es * rb * s + threads // 32) + 32
    ib = min(per, (_MOST_SHARED - fixed) // one)
    if ib < 1:
        return None
    ib = _even(per, ib)
    return {
        "CB": 1, "RB": rb, "IB": ib, "ES": es, "WP": wp, "VS": vs, "threads": threads,
        "pairs": pairs, "groups": ceil(shape.images / per), "shared": ib * one + fixed,
    }  # fmt: skip
