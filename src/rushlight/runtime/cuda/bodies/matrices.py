"""Linear algebra of small matrices on the GPU: each in shared memory, as many at once as there are; larger ones are CuPy's."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ....base.arrays import DeviceArray
from ....base.shapes import broadcast_shapes
from ...door import kernel_for
from ..arrays import CUPY
from ..code.faults import mark, raised
from ..code.keyed import keyed
from ..code.launch import Result
from ..code.sources import block_room, load
from .fills import row_major

Steps = tuple[int, int, int]  # from matrix to matrix, row to row, column to column, in elements
SOLVE, INVERSE, DETERMINANT, LOGARITHM, FACTORS, CHOLESKY, TRIANGLE, REFLECTIONS = range(8)
_MOST_ROWS = {INVERSE: 100, CHOLESKY: 100}  # beyond them the library's are quicker on an H200
_BLOCK = 128  # threads that share a block among matrices
_X, _Y, _OUT, _SECOND, _SWAPS, _ORDER = range(6)  # places of the addresses


def _steps(a: DeviceArray, batch: tuple[int, ...]) -> Steps | None:
    """How the matrices of an array lie, seen as a batch; None where no three numbers say it."""
    item, lead = a.itemsize, a.shape[:-2]
    row, column = (s // item for s in a.strides[-2:])
    if prod(lead) == 1:
        return 0, row, column
    if lead != batch:
        return None
    step, inner = 0, 1
    for size, stride in zip(reversed(lead), reversed(a.strides[:-2])):
        if size != 1 and inner == 1:
            step = stride
        elif size != 1 and stride != step * inner:
            return None
        inner *= size
    return step // item, row, column


def _columns(at: int, batch: tuple[int, ...], n: int, m: int, dtype: np.dtype) -> Result:
    """A result whose matrices lie column by column, as those of PyTorch's factorisations."""
    shape, strides, step = (*batch, n, m), [dtype.itemsize, n * dtype.itemsize], n * m
    for size in reversed(batch):
        strides.insert(0, step * dtype.itemsize)
        step *= size
    return Result(at, shape, dtype, tuple(strides))


def _group(rows: int, width: int) -> int:
    """How many threads share a matrix."""
    return 8 if rows <= 8 and width <= 24 else 32 if rows <= 16 else 256 if rows <= 48 else 1024


def _launch(task: int, x: DeviceArray, y: DeviceArray | None, upper: bool = False, ones: bool = False) -> Any:
    """What is called with the operands, or None for those that are not small, or of another kind."""
    n, dtype = x.shape[-1], x.dtype
    m = n if y is None else y.shape[-1]
    batch = x.shape[:-2] if y is None else broadcast_shapes(x.shape[:-2], y.shape[:-2])
    count = prod(batch)
    if dtype.char not in "fd" or not 0 < n <= _MOST_ROWS.get(task, 128) or x.shape[-2] != n or not count or not m:
        return None
    if y is not None and (y.dtype != dtype or y.shape[-2] != n):
        return None
    lies = _steps(x, batch), None if y is None else _steps(y, batch)
    if lies[0] is None or (y is not None and lies[1] is None):
        return None
    width = n if task in (DETERMINANT, LOGARITHM, FACTORS, CHOLESKY) else n + m
    group = _group(n, width)
    held = max(1, _BLOCK // group)
    room = held * n * (width * dtype.itemsize + 4)
    if room > block_room():
        return None
    results: tuple[Result, ...] = (_columns(_OUT, batch, n, m, dtype),)
    if task in (DETERMINANT, LOGARITHM):
        places = (_OUT, _SECOND)[: task - 1]
        results = tuple([Result(at, batch, dtype) for at in places])
    elif task == FACTORS:
        results = (
            *results, Result(_SWAPS, (*batch, n), np.dtype(np.int32)), Result(_ORDER, (*batch, n), np.dtype(np.int64))
        )  # fmt: skip
    made = [r.at for r in results]
    absent = tuple([at for at in range(1 if y is None else 2, 6) if at not in made])
    launch = load("matrices.cu", "matrices", dtype.char, GROUP=group, TASK=task)
    launch.allow(room)
    call = launch.prepared(
        -(-count // held), max(_BLOCK, group), results, count, n, m, *lies[0], *(lies[1] or (0, 0, 0)),
        int(upper), int(ones), shared=room, absent=absent,
    )  # fmt: skip
    if task not in (SOLVE, INVERSE, CHOLESKY):
        return lambda *arrays: call(*arrays, None)

    def checked(*arrays: Any) -> Any:
        bad = mark()
        out = call(*arrays, bad)
        return NotImplemented if raised(bad) else out

    return checked


def _reflections(x: DeviceArray, mode: str) -> Any:
    """The orthogonal factor and the triangle of small matrices, which need not be square; None for others."""
    n, m = x.shape[-2:]
    batch, dtype = x.shape[:-2], x.dtype
    count, lies = prod(batch), _steps(x, batch)
    if dtype.char not in "fd" or not 0 < n <= 128 or not 0 < m <= 128 or not count or lies is None:
        return None
    square = n if mode == "complete" else min(n, m)
    group = _group(max(n, m), m)
    held = max(1, _BLOCK // group)
    room = held * (n * m + n * square + min(n, m)) * dtype.itemsize
    if room > block_room():
        return None
    results = (_columns(_OUT, batch, n, square, dtype), _columns(_SECOND, batch, square, m, dtype))
    launch = load("matrices.cu", "matrices", dtype.char, GROUP=group, TASK=REFLECTIONS)
    launch.allow(room)
    call = launch.prepared(
        -(-count // held), max(_BLOCK, group), results, count, n, m, *lies, 0, 0, 0, square, 0, shared=room,
        absent=(1, _SWAPS, _ORDER),
    )  # fmt: skip
    return lambda x: call(x, None)


def _factored(x: DeviceArray, *, mode: str) -> Any:
    x = row_major(x)
    launch = _reflections(x, mode)
    return NotImplemented if launch is None else launch(x)


def _turned(a: DeviceArray) -> Any:
    return a.swapaxes(-2, -1)


def _small(task: int, larger: Callable[..., Any] = lambda *given, **how: NotImplemented) -> Callable[..., Any]:
    """The body of a kernel: the launch found by its operands; of operands that lie otherwise, or lack a batch, copies."""

    def prepare(x: DeviceArray, y: DeviceArray | None = None, **how: Any) -> Any:
        upper, ones = how.get("upper", False), how.get("unitriangular", False)
        if y is None or how.get("left", True):
            return _launch(task, x, y, upper, ones)
        turned = _launch(task, _turned(x), _turned(y), not upper, ones)  # x A = y as A' x' = y'
        return None if turned is None else lambda x, y: _turned(turned(_turned(x), _turned(y)))

    def body(x: DeviceArray, y: DeviceArray | None = None, **how: Any) -> Any:
        given = (row_major(x),) if y is None else (row_major(x), row_major(y))
        launch = prepare(*given, **how)
        return larger(*given, **how) if launch is None else launch(*given)

    return keyed(body, prepare)


def _by_library(x: DeviceArray, y: DeviceArray, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """Triangular equations that are too large for a launch, or complex: cuBLAS refuses none, whatever the values."""
    if x.dtype.char not in "fdFD" or y.dtype != x.dtype or not x.size or not y.size:
        return NotImplemented
    if not left:
        return _turned(_triangle(_turned(x), _turned(y), upper=not upper, unitriangular=unitriangular))
    from cupyx.scipy.linalg import solve_triangular

    batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x, y = [CUPY.broadcast_to(a, (*batch, *a.shape[-2:])) for a in (x, y)]
    return solve_triangular(x, y, lower=not upper, unit_diagonal=unitriangular)


_triangle = _small(TRIANGLE, _by_library)


def _by_factor(y: DeviceArray, x: DeviceArray, *, upper: bool) -> Any:
    other = _turned(x).conj() if x.dtype.kind == "c" else _turned(x)
    lower, above = (other, x) if upper else (x, other)
    first = _triangle(lower, y, upper=False)
    return NotImplemented if first is NotImplemented else _triangle(above, first, upper=True)


kernel_for("cuda", "linalg_solve")(_small(SOLVE))
kernel_for("cuda", "linalg_inv")(_small(INVERSE))
kernel_for("cuda", "linalg_det")(_small(DETERMINANT))
kernel_for("cuda", "linalg_slogdet")(_small(LOGARITHM))
kernel_for("cuda", "linalg_lu_factor")(_small(FACTORS))
kernel_for("cuda", "linalg_cholesky")(_small(CHOLESKY))
kernel_for("cuda", "linalg_solve_triangular")(_triangle)
kernel_for("cuda", "linalg_cholesky_solve")(_by_factor)
kernel_for("cuda", "linalg_qr")(keyed(_factored, _reflections))
