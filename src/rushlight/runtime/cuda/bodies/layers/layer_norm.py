"""Layer norm and root-mean-square norm on the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import cupy
import numpy as np

from ....door import kernel_for
from ...code.keyed import keyed
from ...code.launch import Launch, Result
from ...code.sources import NUMBERS, PARTIALS, block_room, load, partials
from ...processors import multiprocessors
from ..fills import row_major
from ..reduce import reduce

if TYPE_CHECKING:
    from .....base.protocols import DeviceArray

_EACH = 8  # blocks that keep a multiprocessor busy


_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


def wide(char: str) -> Any:
    """The dtype that statistics of numbers of dtype `char` are kept in."""
    return _F64 if char == "d" else _F32


def stored(*arrays: DeviceArray | None) -> str | None:
    """The one type name of the arrays that are there; None when they differ or are not floats."""
    chars = {a.dtype.char for a in arrays if a is not None}
    if len(chars) > 1:
        return None
    char = chars.pop() if chars else "f"
    return NUMBERS[char][0] if char in NUMBERS else None


def pointer(a: DeviceArray | None) -> int:
    """Where an array lies; 0 for one that is missing."""
    return 0 if a is None else a.data.ptr


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
    registers = 48 + (2 + kinds) * numbers * wide(own.char).itemsize // 4
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
    mean = None if rms else cupy.ndarray(shape, wide(char))
    rstd = cupy.ndarray(shape, wide(char))
    cut = _cut(n, [a for a in (x, other, weight, bias) if a is not None])
    types = {"NW": kind, "NO": _name((x if other is None else other).dtype), "NY": _name(out.dtype)}
    formats = ("P",) * 8 + ("q", "i", "d")
    launch = load("layer_norm.cu", "norm_rows", formats, char, RMS=rms, **types, **cut.constants)
    launch.fixed((-(-rows // cut.rows), 1, 1), (cut.threads, 1, 1), 0, 8, rows, n, eps)(
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
        "layer_norm.cu", "weight_finish", _FINISH, char, NW=kind, NO=_name(gy.dtype), SUMS=kinds - 2
    )
    finish.fixed((-(-n // 32), 1, 1), (1024, 1, 1), 0, 4, splits, n)(parts, gw, gb, total)
    made = (gx, gw) if rms else (gx, gw, gb)
    if again is None:
        return made
    if not sums:
        return (*made, again)
    if total is None:
        total = reduce("sum", again, tuple(range(again.ndim - 1)), False)
    return (*made, again, total)


_FINISH = ("P", "P", "P", "P", "i", "i")


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
    pointers = [pointer(a) for a in values]
    parts, room = partials(), PARTIALS // (kinds * n)
    formats: tuple[str, ...]
    gy, x, more = values[0], values[1], values[5]
    ahead = _ahead(cut, rows, n, x.dtype, gy.dtype, more is not None, kinds) if room else None
    if ahead is not None:
        launch, splits = _launch_ahead(ahead, cut, {**types, "SUMS": kinds - 2}, char, rows, room)
        grid, block = (splits, 1, 1), (ahead.threads, 1, 1)
        launch.fixed(grid, block, ahead.shared, 9, rows, n)(*pointers, parts)
        return parts, splits, kinds
    if cut.holds and room:
        turns, splits = _turns(cut, rows, room)
        formats = ("P",) * 9 + ("q", "i", "i")
        load("layer_norm.cu", "norm_grads", formats, char, **types, **cut.constants)(
            splits, cut.threads, *pointers, parts, rows, n, turns
        )
        return parts, splits, 2
    constants = {**cut.constants, "HELD": 0, "FULL": 0}
    formats = ("P",) * 8 + ("q", "i")
    load("layer_norm.cu", "norm_rows_grad", formats, char, **types, **constants)(
        -(-rows // cut.rows), cut.threads, *pointers, rows, n
    )
    columns = -(-n // 32)
    splits = max(1, min(_EACH * multiprocessors() // columns, -(-rows // 64), room))
    g, rest, _, mean, rstd = pointers[:5]
    load("layer_norm.cu", "weight_sums", ("P",) * 5 + ("q", "i"), char, **types).on_grid(
        (columns, splits, 1), (512, 1, 1), 0, g, rest, mean, rstd, parts, rows, n
    )
    return parts, splits, 2


def _launch_ahead(
    ahead: _Ahead, cut: _RowTeam, types: dict[str, Any], char: str, rows: int, room: int
) -> tuple[Launch, int]:
    """`norm_grads_ahead` for such rows, and its number of blocks."""
    formats: tuple[str, ...] = ("P",) * 9 + ("q", "i")
    cuts = {"THREADS": ahead.threads, "RESIDENT": ahead.resident}
    launch = load(
        "layer_norm.cu", "norm_grads_ahead", formats, char, **types, **cut.constants, **cuts
    )
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
    statistics = x.shape[: x.ndim - dims] + (1,) * dims, wide(char)
    types = {"NW": kind, "NO": _name(x.dtype), "NY": _name(x.dtype)}
    formats = ("P",) * 8 + ("q", "i", "d")
    launch = load("layer_norm.cu", "norm_rows", formats, char, RMS=rms, **types, **cut.constants)
    results = (Result(5, x.shape, x.dtype), Result(6, *statistics), Result(7, *statistics))
    return launch.prepared(
        (-(-rows // cut.rows), 1, 1), (cut.threads, 1, 1), 0, 8, results[::2] if rms else results, rows, n, eps,
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
        formats: tuple[str, ...] = ("P",) * 9 + ("q", "i", "i")
        launch = load("layer_norm.cu", "norm_grads", formats, char, **types, **cut.constants)
        threads, shared, constants = cut.threads, 0, (rows, n, turns)
    first = launch.prepared(
        (splits, 1, 1), (threads, 1, 1), shared, 9, (Result(6, x.shape, x.dtype),), *constants,
        aligned=() if cut.constants["VW"] == 1 else (0, 1, 2),
        absent=(3, 5, 7) if rms else (5, 7),
    )  # fmt: skip
    whole = x.shape[x.ndim - dims :], x.dtype if weight is None else weight.dtype
    launch = load("layer_norm.cu", "weight_finish", _FINISH, char, NW=kind, NO=types["NO"], SUMS=0)
    results = (Result(1, *whole), Result(2, *whole))[: 1 if rms else 2]
    last = launch.prepared(
        (-(-n // 32), 1, 1), (1024, 1, 1), 0, 4, results, splits, n, absent=(2, 3) if rms else (3,)
    )

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


def layer_norm(
    x: DeviceArray, weight: DeviceArray | None, bias: DeviceArray | None, *, dims: int, eps: float
) -> Any:
    return normalise(x, weight, bias, dims, eps, 0)


def layer_norm_grad(
    gy: DeviceArray,
    x: DeviceArray,
    weight: DeviceArray | None,
    mean: DeviceArray,
    rstd: DeviceArray,
    *,
    dims: int,
    eps: float,
) -> Any:
    return normalise_grad(gy, x, weight, mean, rstd, dims, 0)


def rms_norm(x: DeviceArray, weight: DeviceArray | None, *, dims: int, eps: float) -> Any:
    return normalise(x, weight, None, dims, eps, 1)


def rms_norm_grad(
    gy: DeviceArray,
    x: DeviceArray,
    weight: DeviceArray | None,
    rstd: DeviceArray,
    *,
    dims: int,
    eps: float,
) -> Any:
    return normalise_grad(gy, x, weight, None, rstd, dims, 1)


kernel_for("cuda", "layer_norm")(
    keyed(layer_norm, lambda x, w, b, *, dims, eps: _prepared(x, w, b, dims, eps, 0))
)
kernel_for("cuda", "rms_norm")(
    keyed(rms_norm, lambda x, w, *, dims, eps: _prepared(x, w, None, dims, eps, 1))
)
kernel_for("cuda", "layer_norm_grad")(
    keyed(
        layer_norm_grad,
        lambda gy, x, w, mean, rstd, *, dims, eps: _prepared_grad(gy, x, w, mean, rstd, dims, 0),
    )
)
kernel_for("cuda", "rms_norm_grad")(
    keyed(
        rms_norm_grad,
        lambda gy, x, w, rstd, *, dims, eps: _prepared_grad(gy, x, w, None, rstd, dims, 1),
    )
)


# -- joined with residual sums by passes ----------------------------------------------------------


@kernel_for("cuda", "add_layer_norm")
def add_layer_norm(
    x: DeviceArray,
    other: DeviceArray,
    weight: DeviceArray | None,
    bias: DeviceArray | None,
    *,
    dims: int,
    eps: float,
) -> Any:
    return normalise(x, weight, bias, dims, eps, 0, other)


@kernel_for("cuda", "add_rms_norm")
def add_rms_norm(
    x: DeviceArray, other: DeviceArray, weight: DeviceArray | None, *, dims: int, eps: float
) -> Any:
    return normalise(x, weight, None, dims, eps, 1, other)


@kernel_for("cuda", "layer_norm_grad_add")
def layer_norm_grad_add(
    gy: DeviceArray,
    x: DeviceArray,
    weight: DeviceArray | None,
    mean: DeviceArray,
    rstd: DeviceArray,
    more: DeviceArray,
    *,
    dims: int,
    eps: float,
) -> Any:
    return normalise_grad(gy, x, weight, mean, rstd, dims, 0, more)


@kernel_for("cuda", "rms_norm_grad_add")
def rms_norm_grad_add(
    gy: DeviceArray,
    x: DeviceArray,
    weight: DeviceArray | None,
    rstd: DeviceArray,
    more: DeviceArray,
    *,
    dims: int,
    eps: float,
) -> Any:
    return normalise_grad(gy, x, weight, None, rstd, dims, 1, more)


# -- ... and with casts ---------------------------------------------------------------------------


@kernel_for("cuda", "layer_norm_mixed")
def layer_norm_mixed(
    x: DeviceArray,
    other: DeviceArray | None,
    weight: DeviceArray | None,
    bias: DeviceArray | None,
    *,
    dims: int,
    eps: float,
    to: Any,
) -> Any:
    return normalise(x, weight, bias, dims, eps, 0, other, to and to.np)


@kernel_for("cuda", "rms_norm_mixed")
def rms_norm_mixed(
    x: DeviceArray,
    other: DeviceArray | None,
    weight: DeviceArray | None,
    *,
    dims: int,
    eps: float,
    to: Any,
) -> Any:
    return normalise(x, weight, None, dims, eps, 1, other, to and to.np)


@kernel_for("cuda", "layer_norm_grad_mixed")
def layer_norm_grad_mixed(
    gy: DeviceArray, x: DeviceArray, weight: DeviceArray | None, mean: DeviceArray, rstd: DeviceArray, more: DeviceArray | None, *, dims: int, eps: float, also: bool
) -> Any:  # fmt: skip
    return normalise_grad(gy, x, weight, mean, rstd, dims, 0, more, also)


@kernel_for("cuda", "rms_norm_grad_mixed")
def rms_norm_grad_mixed(
    gy: DeviceArray,
    x: DeviceArray,
    weight: DeviceArray | None,
    rstd: DeviceArray,
    more: DeviceArray | None,
    *,
    dims: int,
    eps: float,
    also: bool,
) -> Any:
    return normalise_grad(gy, x, weight, None, rstd, dims, 1, more, also)


# -- ... and with the gradient of a bias behind them ------------------------------------------------


@kernel_for("cuda", "layer_norm_grad_summed")
def layer_norm_grad_summed(
    gy: DeviceArray, x: DeviceArray, weight: DeviceArray | None, mean: DeviceArray, rstd: DeviceArray, more: DeviceArray | None, *, dims: int, eps: float
) -> Any:  # fmt: skip
    return normalise_grad(gy, x, weight, mean, rstd, dims, 0, more, True, True)


@kernel_for("cuda", "rms_norm_grad_summed")
def rms_norm_grad_summed(
    gy: DeviceArray, x: DeviceArray, weight: DeviceArray | None, rstd: DeviceArray, more: DeviceArray | None, *, dims: int, eps: float
) -> Any:  # fmt: skip
    return normalise_grad(gy, x, weight, None, rstd, dims, 1, more, True, True)
