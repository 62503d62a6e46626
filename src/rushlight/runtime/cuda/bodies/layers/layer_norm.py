"""Layer norm and root-mean-square norm on the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

import cupy
import numpy as np

from .....base.arrays import DeviceArray
from ....door import kernel_for
from ...code.keyed import keyed
from ...code.launch import Launch, Result
from ...code.sources import NUMBERS, PARTIALS, block_room, computed, load, partials
from ...processors import multiprocessors
from ..fills import row_major
from ..reduce import reduce

_EACH = 8  # blocks that keep a multiprocessor busy


def stored(*arrays: DeviceArray | None) -> str | None:
    """The one type name of the arrays that are there; None when they differ or are not floats."""
    chars = {a.dtype.char for a in arrays if a is not None}
    if len(chars) > 1:
        return None
    char = chars.pop() if chars else "f"
    return NUMBERS[char][0] if char in NUMBERS else None


_WARP_ROW = 1024  # rows up to here take a warp
_BLOCK = 256  # threads for longer ones
_WARPS = 4  # of a block, each with rows of its own
_MOST_HELD = 32  # numbers of a row that a thread keeps in registers
_RESIDENT = 2  # blocks of `norm_grads` that a multiprocessor has room for
_AHEAD = 1 << 20  # numbers from which on rows are brought ahead of their turn
_UNDERWAY = 30 << 10  # bytes on their way that keep a multiprocessor busy


def _rows(x: DeviceArray, dims: int) -> tuple[int, int]:
    n = prod(x.shape[x.ndim - dims :])
    return x.size // n, n


class _RowTeam(NamedTuple):
    """How threads share rows of n numbers."""

    team: int  # 1: a warp per row
    threads: int
    rows: int  # of a block
    constants: dict[str, int]

    @property
    def holds(self) -> bool:
        """Whether a row stays in registers."""
        return self.constants["HELD"] > 0


def _cut(n: int, arrays: Sequence[Any]) -> _RowTeam:
    """The cut for arrays of rows of n numbers: by 16 bytes of the widest one where all of them lie so."""
    return _cut_by(n, arrays, not any(a.data.ptr & 15 for a in arrays))


def _cut_by(n: int, arrays: Sequence[Any], aligned: bool) -> _RowTeam:
    team = int(n <= _WARP_ROW)
    wide = 16 // max([a.itemsize for a in arrays])
    vector = wide if aligned and n % wide == 0 else 1
    across = (32 if team else _BLOCK) * vector
    held = -(-n // across)
    if held * vector > _MOST_HELD:
        held = 0
    constants = {"TEAM": team, "VW": vector, "HELD": held, "FULL": int(n == held * across)}
    threads = 32 * _WARPS if team else _BLOCK
    return _RowTeam(team, threads, _WARPS if team else 1, constants)


class _Ahead(NamedTuple):
    """How `norm_grads_ahead` shares a multiprocessor: blocks of so many threads, with so many bytes each."""

    threads: int
    resident: int
    shared: int


def _ahead(
    cut: _RowTeam, rows: int, n: int, own: np.dtype, other: np.dtype, past: bool, kinds: int = 2
) -> _Ahead | None:
    """The cut for rows that are brought ahead; None where that does not pay or has no room."""
    vector, held = cut.constants["VW"], cut.constants["HELD"]
    if not cut.holds or rows * n < _AHEAD or vector * min(own.itemsize, other.itemsize) < 4:
        return None
    numbers = vector * held  # of a thread
    each = 2 * numbers * (own.itemsize * (2 if past else 1) + other.itemsize)
    shared, limit = each * _BLOCK, block_room()
    if shared + 1024 > limit:
        return None
    registers = 48 + (2 + kinds) * numbers * computed(own).itemsize // 4
    resident = min(
        -(-_UNDERWAY // (shared // 2)),
        (limit - 8192) // (shared + 1024),
        65536 // (registers * _BLOCK),
    )
    return _Ahead(_BLOCK, max(resident, 1), shared)


def _name(dtype: np.dtype) -> str:
    return NUMBERS[dtype.char][0]


def normalise(
    x: DeviceArray, weight: DeviceArray | None, bias: DeviceArray | None, dims: int, eps: float, rms: int = 0, other: DeviceArray | None = None, to: np.dtype | None = None
) -> Any:  # fmt: skip
    """Rows of x, or of x + other, normalised, with their statistics; behind them x + other.

    `to` is another dtype for the result; `other` may have another one than x, too.
    """
    char, kind = x.dtype.char, stored(weight, bias)
    if char not in NUMBERS or kind is None or not x.size:
        return NotImplemented
    if other is not None and not _goes_with(other, x):
        return NotImplemented
    x, weight, bias, other = row_major(x), row_major(weight), row_major(bias), row_major(other)
    rows, n = _rows(x, dims)
    shape = x.shape[: x.ndim - dims] + (1,) * dims
    out = cupy.ndarray(x.shape, x.dtype if to is None else to)
    total = None if other is None else cupy.ndarray(x.shape, x.dtype)
    mean = None if rms else cupy.ndarray(shape, computed(x.dtype))
    rstd = cupy.ndarray(shape, computed(x.dtype))
    cut = _cut(n, [a for a in (x, other, weight, bias) if a is not None])
    types = {"NW": kind, "NO": _name((x if other is None else other).dtype), "NY": _name(out.dtype)}
    launch = load("layer_norm.cu", "norm_rows", char, RMS=rms, **types, **cut.constants)
    launch.fixed(-(-rows // cut.rows), cut.threads, rows, n, eps)(
        x, other, weight, bias, total, out, mean, rstd
    )
    made = (out, rstd) if rms else (out, mean, rstd)
    return made if total is None else (*made, total)


def _goes_with(a: DeviceArray, x: DeviceArray) -> bool:
    """Whether an array of another dtype may stand beside x: halves beside what they are computed in."""
    halves = x.dtype.char == "f" and a.dtype.char in ("e", "E")
    return a.shape == x.shape and (a.dtype == x.dtype or halves)


def normalise_grad(
    gy: DeviceArray, x: DeviceArray, weight: DeviceArray | None, mean: DeviceArray | None, rstd: DeviceArray, dims: int, rms: int = 0, more: DeviceArray | None = None,
    also: bool = False, sums: bool = False,
) -> Any:  # fmt: skip
    """The gradients of x, with `more` added to it, and of weight and bias.

    `gy` may have another dtype than x; with `also` the gradient of x comes once more, last, in that one, and with
    `sums` its sums over the rows behind it.
    """
    char, kind = x.dtype.char, stored(x if weight is None else weight)
    if char not in NUMBERS or kind is None or not x.size or not _goes_with(gy, x):
        return NotImplemented
    if more is not None and (more.shape != x.shape or more.dtype != x.dtype):
        return NotImplemented
    gy, x, weight, more = row_major(gy), row_major(x), row_major(weight), row_major(more)
    mean, rstd = row_major(mean), row_major(rstd)
    rows, n = _rows(x, dims)
    cut = _cut(n, [a for a in (gy, x, weight, more) if a is not None])
    gx = cupy.ndarray(x.shape, x.dtype)
    again = cupy.ndarray(x.shape, gy.dtype) if also else None
    types = {"NW": kind, "RMS": rms, "NO": _name(gy.dtype)}
    values = [gy, x, weight, mean, rstd, more, gx, again]
    parts, splits, kinds = _launch_grads(values, cut, types, char, rows, n, 3 if sums else 2)
    dtype = x.dtype if weight is None else weight.dtype
    gw = cupy.ndarray(x.shape[x.ndim - dims :], dtype)
    gb = None if rms else cupy.ndarray(x.shape[x.ndim - dims :], dtype)
    total = cupy.ndarray((n,), gy.dtype) if kinds == 3 else None
    finish = load(
        "layer_norm.cu", "weight_finish", char, NW=kind, NO=_name(gy.dtype), SUMS=kinds - 2
    )
    finish.fixed(-(-n // 32), 1024, splits, n)(parts, gw, gb, total)
    made = (gx, gw) if rms else (gx, gw, gb)
    if again is None:
        return made
    if not sums:
        return (*made, again)
    if total is None:
        total = reduce("sum", again, tuple(range(again.ndim - 1)), False)
    return (*made, again, total)


def _launch_grads(
    values: list[Any],
    cut: _RowTeam,
    types: dict[str, Any],
    char: str,
    rows: int,
    n: int,
    kinds: int,
) -> tuple[int, int, int]:
    """The gradient of the rows, and the parts of the weight's: where they lie, how many there are, of how many kinds."""
    parts, room = partials(), PARTIALS // (kinds * n)
    gy, x, more = values[0], values[1], values[5]
    ahead = _ahead(cut, rows, n, x.dtype, gy.dtype, more is not None, kinds) if room else None
    if ahead is not None:
        launch, splits = _launch_ahead(ahead, cut, {**types, "SUMS": kinds - 2}, char, rows, room)
        grid, block = (splits, 1, 1), (ahead.threads, 1, 1)
        launch.fixed(grid, block, rows, n, shared=ahead.shared)(*values, parts)
        return parts, splits, kinds
    if cut.holds and room:
        turns, splits = _turns(cut, rows, room)
        load("layer_norm.cu", "norm_grads", char, **types, **cut.constants)(
            splits, cut.threads, *values, parts, rows, n, turns
        )
        return parts, splits, 2
    constants = {**cut.constants, "HELD": 0, "FULL": 0}
    load("layer_norm.cu", "norm_rows_grad", char, **types, **constants)(
        -(-rows // cut.rows), cut.threads, *values, rows, n
    )
    columns = -(-n // 32)
    splits = max(1, min(_EACH * multiprocessors() // columns, -(-rows // 64), room))
    g, rest, _, mean, rstd = values[:5]
    load("layer_norm.cu", "weight_sums", char, **types)(
        (columns, splits, 1), 512, g, rest, mean, rstd, parts, rows, n
    )
    return parts, splits, 2


def _launch_ahead(
    ahead: _Ahead, cut: _RowTeam, types: dict[str, Any], char: str, rows: int, room: int
) -> tuple[Launch, int]:
    """`norm_grads_ahead` for such rows, and its number of blocks."""
    cuts = {"THREADS": ahead.threads, "RESIDENT": ahead.resident}
    launch = load("layer_norm.cu", "norm_grads_ahead", char, **types, **cut.constants, **cuts)
    launch.allow(ahead.shared)
    teams = ahead.threads // 32 if cut.team else 1
    return launch, min(ahead.resident * multiprocessors(), room, -(-rows // teams))


# -- as launches that are prepared once for a kind of call -----------------------------------------


def _are_rows(*arrays: DeviceArray | None) -> bool:
    return all(a is None or a._c_contiguous for a in arrays)


def _prepared(
    x: DeviceArray, weight: DeviceArray | None, bias: DeviceArray | None, dims: int, eps: float, rms: int
) -> Any:  # fmt: skip
    """`normalise` of arrays that lie row by row, as a launch of those that are there; None for others."""
    char, kind = x.dtype.char, stored(weight, bias)
    if char not in NUMBERS or kind is None or not x.size or not _are_rows(x, weight, bias):
        return None
    rows, n = _rows(x, dims)
    cut = _cut_by(n, [a for a in (x, weight, bias) if a is not None], True)
    statistics = x.shape[: x.ndim - dims] + (1,) * dims, computed(x.dtype)
    types = {"NW": kind, "NO": _name(x.dtype), "NY": _name(x.dtype)}
    launch = load("layer_norm.cu", "norm_rows", char, RMS=rms, **types, **cut.constants)
    results = (Result(5, x.shape, x.dtype), Result(6, *statistics), Result(7, *statistics))
    return launch.prepared(
        -(-rows // cut.rows), cut.threads, results[::2] if rms else results, rows, n, eps,
        aligned=() if cut.constants["VW"] == 1 else (0, 2) if rms else (0, 2, 3),
        absent=(1, 3, 4, 6) if rms else (1, 4),
    )  # fmt: skip


def _prepared_grad(
    gy: DeviceArray, x: DeviceArray, weight: DeviceArray | None, mean: DeviceArray | None, rstd: DeviceArray, dims: int,
    rms: int,
) -> Any:  # fmt: skip
    """`normalise_grad` in the same way, for rows that stay in registers: two launches."""
    char, kind = x.dtype.char, stored(x if weight is None else weight)
    if char not in NUMBERS or kind is None or not x.size or not _goes_with(gy, x):
        return None
    rows, n = _rows(x, dims)
    cut = _cut_by(n, [a for a in (gy, x, weight) if a is not None], True)
    room = PARTIALS // (2 * n)
    if not _are_rows(gy, x, weight, mean, rstd) or not cut.holds or not room:
        return None
    types: dict[str, Any] = {"NW": kind, "RMS": rms, "NO": _name(gy.dtype)}
    ahead = _ahead(cut, rows, n, x.dtype, gy.dtype, False)
    constants: tuple[int, ...] = (rows, n)
    if ahead is not None:
        launch, splits = _launch_ahead(ahead, cut, types, char, rows, room)
        threads, shared = ahead.threads, ahead.shared
    else:
        turns, splits = _turns(cut, rows, room)
        launch = load("layer_norm.cu", "norm_grads", char, **types, **cut.constants)
        threads, shared, constants = cut.threads, 0, (rows, n, turns)
    first = launch.prepared(
        splits, threads, (Result(6, x.shape, x.dtype),), *constants, shared=shared,
        aligned=() if cut.constants["VW"] == 1 else (0, 1, 2), absent=(3, 5, 7) if rms else (5, 7),
    )  # fmt: skip
    whole = x.shape[x.ndim - dims :], x.dtype if weight is None else weight.dtype
    launch = load("layer_norm.cu", "weight_finish", char, NW=kind, NO=types["NO"], SUMS=0)
    results = (Result(1, *whole), Result(2, *whole))[: 1 if rms else 2]
    last = launch.prepared(-(-n // 32), 1024, results, splits, n, absent=(2, 3) if rms else (3,))

    def call(*arrays: Any) -> Any:
        parts = partials()
        gx = first(*arrays, parts)
        if gx is NotImplemented:
            return gx
        return (gx, last(parts)) if rms else (gx, *last(parts))

    return call


def _turns(cut: _RowTeam, rows: int, room: int) -> tuple[int, int]:
    """How many rows each team of threads takes, the same number for all, and the number of parts."""
    most = min(_RESIDENT * multiprocessors(), room)
    turns = -(-rows // (cut.rows * most))
    return turns, -(-rows // (cut.rows * turns))


def _register(norm: str, rms: int) -> None:
    """The kernels of one of both norms, alone and as passes join them; a root-mean-square norm has neither bias nor mean."""

    def forward(x: DeviceArray, weight: Any, bias: Any = None, *, dims: int, eps: float) -> Any:
        return normalise(x, weight, bias, dims, eps, rms)

    def prepare(x: DeviceArray, weight: Any, bias: Any = None, *, dims: int, eps: float) -> Any:
        return _prepared(x, weight, bias, dims, eps, rms)

    def added(
        x: DeviceArray, other: Any, weight: Any, bias: Any = None, *, dims: int, eps: float, to: Any = None
    ) -> Any:  # fmt: skip
        return normalise(x, weight, bias, dims, eps, rms, other, to and to.np)

    def backward(
        gy: DeviceArray, x: DeviceArray, weight: Any, *rest: Any, dims: int, eps: float, also: bool = False,
        sums: bool = False,
    ) -> Any:  # fmt: skip
        """`rest` is the mean, 1 / standard deviation, and perhaps what is added to the gradient of x."""
        mean, rstd, *more = (None, *rest) if rms else rest
        return normalise_grad(
            gy, x, weight, mean, rstd, dims, rms, more[0] if more else None, also, sums
        )

    def prepare_grad(gy: DeviceArray, x: DeviceArray, weight: Any, *rest: Any, dims: int, eps: float) -> Any:  # fmt: skip
        mean, rstd = (None, *rest) if rms else rest
        return _prepared_grad(gy, x, weight, mean, rstd, dims, rms)

    kernel_for("cuda", norm)(keyed(forward, prepare))
    kernel_for("cuda", f"{norm}_grad")(keyed(backward, prepare_grad))
    kernel_for("cuda", f"add_{norm}")(added)
    kernel_for("cuda", f"{norm}_mixed")(added)
    kernel_for("cuda", f"{norm}_grad_add")(backward)
    kernel_for("cuda", f"{norm}_grad_mixed")(backward)
    kernel_for("cuda", f"{norm}_grad_summed")(partial(backward, also=True, sums=True))


_register("layer_norm", 0)
_register("rms_norm", 1)
