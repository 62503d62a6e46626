"""Layer norm and root-mean-square norm on the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .....base.arrays import DeviceArray
from ....door import kernel_for
from ...code.launch import Result
from ...code.sources import NUMBERS, PARTIALS, block_room, computed, load, partials
from ...processors import multiprocessors
from ..fills import one_launch
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
    team = int(n <= _WARP_ROW)
    wide = 16 // max([a.itemsize for a in arrays])
    vector = wide if n % wide == 0 and not any(a.data.ptr & 15 for a in arrays) else 1
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
    resident = min(-(-_UNDERWAY // (shared // 2)), (limit - 8192) // (shared + 1024), 65536 // (registers * _BLOCK))
    return _Ahead(_BLOCK, max(resident, 1), shared)


def _name(dtype: np.dtype) -> str:
    return NUMBERS[dtype.char][0]


def normalise(
    x: DeviceArray, weight: DeviceArray | None, bias: DeviceArray | None, dims: int, eps: float, rms: int, *others: DeviceArray | None, to: np.dtype | None = None
) -> Any:  # fmt: skip
    """The launch that normalises rows of x, or of x + other, with their statistics, and behind them x + other; None for others.

    `to` is another dtype for the result; the other, if there is one, may have another one than x, too.
    """
    char, kind, other = x.dtype.char, stored(weight, bias), others[0] if others else None
    there = [a for a in (x, other, weight, bias) if a is not None]
    if char not in NUMBERS or kind is None or not x.size or not _are_rows(*there):
        return None
    if other is not None and not _goes_with(other, x):
        return None
    rows, n = _rows(x, dims)
    cut, dtype = _cut(n, there), x.dtype if to is None else to
    statistics = x.shape[: x.ndim - dims] + (1,) * dims, computed(x.dtype)
    results = [Result(5, x.shape, dtype), Result(6, *statistics), Result(7, *statistics)]
    results = results[::2] if rms else results
    if other is not None:
        results.append(Result(4, x.shape, x.dtype))
    types = {"NW": kind, "NO": _name((x if other is None else other).dtype), "NY": _name(dtype)}
    launch = load("layer_norm.cu", "norm_rows", char, RMS=rms, **types, **cut.constants)
    absent = [*([] if others else [1]), *([3, 6] if rms else []), *([4] if other is None else [])]
    return launch.prepared(-(-rows // cut.rows), cut.threads, tuple(results), rows, n, eps, absent=tuple(absent))


def _are_rows(*arrays: DeviceArray | None) -> bool:
    return all(a is None or a._c_contiguous for a in arrays)


def _goes_with(a: DeviceArray, x: DeviceArray) -> bool:
    """Whether an array of another dtype may stand beside x: halves beside what they are computed in."""
    halves = x.dtype.char == "f" and a.dtype.char in ("e", "E")
    return a.shape == x.shape and (a.dtype == x.dtype or halves)


def normalise_grad(
    gy: DeviceArray, x: DeviceArray, weight: DeviceArray | None, mean: DeviceArray | None, rstd: DeviceArray,
    *past: DeviceArray | None, dims: int, rms: int, also: bool, sums: bool,
) -> Any:  # fmt: skip
    """The launches of the gradients of x, with what is `past` it added, and of weight and bias; None for others.

    `gy` may have another dtype than x; with `also` the gradient of x comes once more, last, in that one, and with
    `sums` its sums over the rows behind it.
    """
    char, kind = x.dtype.char, stored(x if weight is None else weight)
    more, kinds = past[0] if past else None, 3 if sums else 2
    if char not in NUMBERS or kind is None or not x.size or not _goes_with(gy, x):
        return None
    if more is not None and (more.shape != x.shape or more.dtype != x.dtype):
        return None
    if not _are_rows(gy, x, weight, mean, rstd, more):
        return None
    rows, n = _rows(x, dims)
    room = PARTIALS * 4 // (kinds * n * computed(x.dtype).itemsize)
    if not room:
        return None
    cut = _cut(n, [a for a in (gy, x, weight, more) if a is not None])
    types: dict[str, Any] = {"NW": kind, "RMS": rms, "NO": _name(gy.dtype)}
    made = (Result(6, x.shape, x.dtype), Result(7, x.shape, gy.dtype))[: 1 + also]
    absent = (*([3] if rms else []), *([] if past else [5]), *([] if also else [7]))
    first, splits, kinds = _rows_grad(gy, x, more is not None, cut, types, rows, n, room, kinds, made, absent)
    whole = x.shape[x.ndim - dims :], x.dtype if weight is None else weight.dtype
    results = [Result(1, *whole), Result(2, *whole), Result(3, (n,), gy.dtype)]
    missing = (*([2] if rms else []), *([3] if kinds == 2 else []))
    finish = load("layer_norm.cu", "weight_finish", char, NW=kind, NO=types["NO"], SUMS=kinds - 2)
    last = finish.prepared(
        -(-n // 32), 1024, tuple([r for r in results if r.at not in missing]), splits, n, absent=missing
    )

    def call(*arrays: Any) -> Any:
        parts = partials()
        gx, found = first(*arrays, parts), last(parts)
        found = found if found.__class__ is tuple else (found,)
        if not also:
            return gx, *found
        gx, again = gx
        if not sums:
            return gx, *found, again
        if kinds == 2:
            return gx, *found, again, reduce("sum", again, tuple(range(again.ndim - 1)), False)
        return gx, *found[:-1], again, found[-1]

    return call


def _rows_grad(
    gy: DeviceArray, x: DeviceArray, past: bool, cut: _RowTeam, types: dict[str, Any], rows: int, n: int,
    room: int, kinds: int, made: tuple[Result, ...], absent: tuple[int, ...],
) -> tuple[Any, int, int]:  # fmt: skip
    """The launch of the rows' gradient, and the parts of the weight's: how many there are, of how many kinds."""
    char = x.dtype.char
    ahead = _ahead(cut, rows, n, x.dtype, gy.dtype, past, kinds)
    if ahead is not None:
        types = {**types, "SUMS": kinds - 2}
        cuts = {"THREADS": ahead.threads, "RESIDENT": ahead.resident}
        launch = load("layer_norm.cu", "norm_grads_ahead", char, **types, **cut.constants, **cuts)
        launch.allow(ahead.shared)
        teams = ahead.threads // 32 if cut.team else 1
        splits = min(ahead.resident * multiprocessors(), room, -(-rows // teams))
        first = launch.prepared(splits, ahead.threads, made, rows, n, shared=ahead.shared, absent=absent)
        return first, splits, kinds
    if cut.holds:
        turns, splits = _turns(cut, rows, room)
        launch = load("layer_norm.cu", "norm_grads", char, **types, **cut.constants)
        first = launch.prepared(splits, cut.threads, made, rows, n, turns, absent=absent)
        return first, splits, 2
    constants = {**cut.constants, "HELD": 0, "FULL": 0}
    launch = load("layer_norm.cu", "norm_rows_grad", char, **types, **constants)
    each = launch.prepared(-(-rows // cut.rows), cut.threads, made, rows, n, absent=absent)
    columns = -(-n // 32)
    splits = max(1, min(_EACH * multiprocessors() // columns, -(-rows // 64), room))
    add_up = load("layer_norm.cu", "weight_sums", char, **types).fixed((columns, splits, 1), 512, rows, n)

    def both(*arrays: Any) -> Any:
        gy, x, _, *statistics = arrays
        mean, rstd = (None, statistics[0]) if 3 in absent else statistics[:2]
        add_up(gy, x, mean, rstd, arrays[-1])
        return each(*arrays[:-1])

    return both, splits, 2


def _turns(cut: _RowTeam, rows: int, room: int) -> tuple[int, int]:
    """How many rows each team of threads takes, the same number for all, and the number of parts."""
    most = min(_RESIDENT * multiprocessors(), room)
    turns = -(-rows // (cut.rows * most))
    return turns, -(-rows // (cut.rows * turns))


def _register(norm: str, rms: int) -> None:
    """The kernels of one of both norms, alone and as passes join them; a root-mean-square norm has neither bias nor mean."""

    def forward(x: DeviceArray, weight: Any, bias: Any = None, *, dims: int, eps: float) -> Any:
        return normalise(x, weight, bias, dims, eps, rms)

    def added(
        x: DeviceArray, other: Any, weight: Any, bias: Any = None, *, dims: int, eps: float, to: Any = None
    ) -> Any:
        return normalise(x, weight, bias, dims, eps, rms, other, to=to and to.np)

    def backward(
        gy: DeviceArray, x: DeviceArray, weight: Any, *rest: Any, dims: int, eps: float, also: bool = False,
        sums: bool = False,
    ) -> Any:  # fmt: skip
        """`rest` is the mean, 1 / standard deviation, and perhaps what is added to the gradient of x."""
        statistics = (None, *rest) if rms else rest
        return normalise_grad(gy, x, weight, *statistics, dims=dims, rms=rms, also=also, sums=sums)

    kernel_for("cuda", norm)(one_launch(forward))
    kernel_for("cuda", f"{norm}_grad")(one_launch(backward))
    for name in (f"add_{norm}", f"{norm}_mixed"):
        kernel_for("cuda", name)(one_launch(added))
    for name in (f"{norm}_grad_add", f"{norm}_grad_mixed"):
        kernel_for("cuda", name)(one_launch(backward))
    kernel_for("cuda", f"{norm}_grad_summed")(one_launch(partial(backward, also=True, sums=True)))


_register("layer_norm", 0)
_register("rms_norm", 1)
