"""Recurrent layers step by step on the GPU: a product and one launch for all gates, for cells and what cuDNN refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import cupy
from cupy.cuda import runtime

from .....base.arrays import DeviceArray
from ....door import kernel_for
from ...code.sources import NUMBERS, blocks_for, load
from ...memory.streams import current
from ...small import dense
from ..fills import copied, copy_to, row_major
from ..products import product
from ..reduce import reduce
from . import recurrent_whole as whole

if TYPE_CHECKING:
    import numpy as np


# Bodies of the kernels of operators/layers/recurrent_kernels.py: the same arguments and results.


def _fits(*arrays: Any) -> bool:
    first = arrays[0]
    return first.dtype.char in NUMBERS and all(a is None or (a.size > 0 and a.dtype == first.dtype) for a in arrays)


def _agree(gates: int, xw: DeviceArray, h0: DeviceArray, w_hh: DeviceArray, sizes: tuple[int, ...]) -> bool:
    """Whether shapes are what the kernels take for granted; where they are not, the generic body raises the error."""
    if h0.ndim != 2:
        return False
    batch, hidden = h0.shape
    return batch == sizes[0] and w_hh.shape == (gates * hidden, hidden) and xw.shape == (sum(sizes), gates * hidden)


def _steps(sizes: tuple[int, ...], reverse: bool) -> list[tuple[int, int]]:
    """The first row of each step, in the order they are computed, and how many sequences are that long."""
    steps, start = [], 0
    for n in sizes:
        steps.append((start, n))
        start += n
    return steps[::-1] if reverse else steps


def _times(x: DeviceArray, w: DeviceArray, flip: bool) -> Any:
    """`x @ w`, or `x @ w.T`."""
    m, k = x.shape
    n = w.shape[0] if flip else w.shape[1]
    out = dense.product("nt" if flip else "nn", x, w, m, n, k)
    return product(x, w, False, flip) if out is None else out


def _weight(g: DeviceArray, h_before: DeviceArray) -> Any:
    """`g.T @ h_before`, the gradient of the state's weights."""
    (k, m), n = g.shape, h_before.shape[1]
    out = dense.product("tn", g, h_before, m, n, k)
    return product(g, h_before, True, False) if out is None else out


def _go(name: str, char: str, pointers: tuple, count: int, last: int) -> None:
    """One launch of a kernel of recurrent.cu."""
    load("recurrent.cu", name, char)(blocks_for(count), 256, *pointers, count, last)


def _at(a: DeviceArray | None, row: int) -> int | None:
    """The address of a row."""
    return None if a is None else a.data.ptr + row * a.strides[0]


class _State:
    """A state that steps read and write. The first step reads the initial state itself where that saves a copy."""

    def __init__(self, start: DeviceArray, sizes: tuple[int, ...]) -> None:
        even = sizes[0] == sizes[-1]
        self.now = cupy.ndarray(start.shape, start.dtype) if even else copied(start, "C")
        self.before = start if even else self.now

    def turn(self) -> tuple[int, int]:
        """The addresses to read from and to write to."""
        pair = self.before.data.ptr, self.now.data.ptr
        self.before = self.now
        return pair


def _forward(h: _State, w_hh: DeviceArray, sizes: tuple, reverse: bool) -> Iterator[tuple[int, int, Any]]:
    """Row, number of sequences and the product of the state, step by step."""
    for row, n in _steps(sizes, reverse):
        yield row, n, _times(h.before[:n], w_hh, True)


class _Back:
    """The gradient of a state in backward: the result of the last product, in the rows of sequences that are long enough."""

    def __init__(self, g: DeviceArray | None, shape: tuple, dtype: np.dtype, even: bool) -> None:
        self.even = even
        self.now = row_major(g)
        if not even:
            self.now = cupy.ndarray(shape, dtype) if g is None else copied(self.now, "C")
            if g is None:
                runtime.memsetAsync(self.now.data.ptr, 0, self.now.nbytes, current.ptr)

    def put(self, n: int, value: DeviceArray) -> None:
        if self.even:
            self.now = value
        else:
            copy_to(self.now[:n], value)

    @property
    def pointer(self) -> int | None:
        return None if self.now is None else self.now.data.ptr


@kernel_for("cuda", "lstm_sequence")
def lstm_sequence(
    xw: DeviceArray, h0: DeviceArray, c0: DeviceArray, w_hh: DeviceArray, *, sizes: tuple, reverse: bool
) -> Any:
    if not _fits(xw, h0, c0, w_hh) or not _agree(4, xw, h0, w_hh, sizes) or c0.shape != h0.shape:
        return NotImplemented
    xw, h0, c0 = row_major(xw), row_major(h0), row_major(c0)
    found = whole.forward("lstm", xw, h0, c0, row_major(w_hh), None, sizes, reverse)
    if found is not None:
        return found[1], found[4], found[5], found[0], found[2], found[3]
    hidden, char = h0.shape[1], xw.dtype.char
    shape = (xw.shape[0], hidden)
    gates = cupy.ndarray(xw.shape, xw.dtype)
    out, h_before, c_before = [cupy.ndarray(shape, xw.dtype) for _ in range(3)]
    h, c = _State(h0, sizes), _State(c0, sizes)
    for row, n, z in _forward(h, w_hh, sizes, reverse):
        (h_in, h_out), (c_in, c_out) = h.turn(), c.turn()
        pointers = (
            _at(xw, row), z.data.ptr, h_in, c_in, _at(gates, row), _at(out, row),
            _at(h_before, row), _at(c_before, row), h_out, c_out,
        )  # fmt: skip
        _go("lstm_step", char, pointers, n * hidden, hidden)
    return out, h.now, c.now, gates, h_before, c_before


@kernel_for("cuda", "lstm_sequence_grad")
def lstm_sequence_grad(
    xw: DeviceArray, h0: DeviceArray, c0: DeviceArray, w_hh: DeviceArray, gates: DeviceArray, h_before: DeviceArray, c_before: DeviceArray, gout: DeviceArray | None,
    gh: DeviceArray, gc: DeviceArray, *, sizes: tuple, reverse: bool,
) -> Any:  # fmt: skip
    if not _fits(xw, h0, c0, w_hh, gates, h_before, c_before, gout, gh, gc):
        return NotImplemented
    gates, c_before, gout = row_major(gates), row_major(c_before), row_major(gout)
    coming = (gout, row_major(gh), row_major(gc))
    found = whole.backward("lstm", row_major(w_hh), gates, c_before, None, coming, sizes, reverse)
    if found is not None:
        return found[0], found[2], found[3], _weight(found[0], row_major(h_before))
    hidden, char, even = h0.shape[1], xw.dtype.char, sizes[0] == sizes[-1]
    gxw = cupy.ndarray(xw.shape, xw.dtype)
    to_h, to_c = [_Back(g, s.shape, xw.dtype, even) for g, s in ((gh, h0), (gc, c0))]
    for row, n in reversed(_steps(sizes, reverse)):
        after = cupy.ndarray((n, hidden), xw.dtype)
        pointers = (
            _at(gates, row), _at(c_before, row), to_h.pointer, to_c.pointer, _at(gout, row),
            _at(gxw, row), after.data.ptr,
        )  # fmt: skip
        _go("lstm_step_grad", char, pointers, n * hidden, hidden)
        to_c.put(n, after)
        to_h.put(n, _times(gxw[row : row + n], w_hh, False))
    return gxw, to_h.now, to_c.now, _weight(gxw, row_major(h_before))


@kernel_for("cuda", "gru_sequence")
def gru_sequence(
    xw: DeviceArray, h0: DeviceArray, w_hh: DeviceArray, b_hh: DeviceArray | None, *, sizes: tuple, reverse: bool
) -> Any:
    if not _fits(xw, h0, w_hh, b_hh) or not _agree(3, xw, h0, w_hh, sizes):
        return NotImplemented
    if b_hh is not None and b_hh.size != xw.shape[1]:
        return NotImplemented
    xw, h0, b_hh = row_major(xw), row_major(h0), row_major(b_hh)
    found = whole.forward("gru", xw, h0, None, row_major(w_hh), b_hh, sizes, reverse)
    if found is not None:
        return found[1], found[4], found[0], found[2], found[3]
    hidden, char = h0.shape[1], xw.dtype.char
    gates = cupy.ndarray(xw.shape, xw.dtype)
    out, h_before, inner = [cupy.ndarray((xw.shape[0], hidden), xw.dtype) for _ in range(3)]
    h = _State(h0, sizes)
    for row, n, z in _forward(h, w_hh, sizes, reverse):
        h_in, h_out = h.turn()
        pointers = (
            _at(xw, row), z.data.ptr, _at(b_hh, 0), h_in, _at(gates, row), _at(out, row),
            _at(h_before, row), _at(inner, row), h_out,
        )  # fmt: skip
        _go("gru_step", char, pointers, n * hidden, hidden)
    return out, h.now, gates, h_before, inner


@kernel_for("cuda", "gru_sequence_grad")
def gru_sequence_grad(
    xw: DeviceArray, h0: DeviceArray, w_hh: DeviceArray, b_hh: DeviceArray | None, gates: DeviceArray, h_before: DeviceArray, inner: DeviceArray, gout: DeviceArray,
    gh: DeviceArray | None, *, sizes: tuple, reverse: bool,
) -> Any:  # fmt: skip
    if not _fits(xw, h0, w_hh, b_hh, gates, h_before, inner, gout, gh):
        return NotImplemented
    gates, h_before, inner, gout = [row_major(a) for a in (gates, h_before, inner, gout)]
    coming = (gout, row_major(gh), None)
    found = whole.backward("gru", row_major(w_hh), gates, h_before, inner, coming, sizes, reverse)
    if found is not None:
        gxw, ghw, gh0, _ = found
        return gxw, gh0, _weight(ghw, h_before), reduce("sum", ghw, (0,), False)
    hidden, char, even = h0.shape[1], xw.dtype.char, sizes[0] == sizes[-1]
    gxw, ghw = [cupy.ndarray(xw.shape, xw.dtype) for _ in range(2)]
    through = _Back(gh, h0.shape, xw.dtype, even)
    past = _Back(None, h0.shape, xw.dtype, even)
    for row, n in reversed(_steps(sizes, reverse)):
        after = cupy.ndarray((n, hidden), xw.dtype)
        pointers = (
            _at(gates, row), _at(h_before, row), _at(inner, row), through.pointer, past.pointer,
            _at(gout, row), _at(gxw, row), _at(ghw, row), after.data.ptr,
        )  # fmt: skip
        _go("gru_step_grad", char, pointers, n * hidden, hidden)
        past.put(n, after)
        through.put(n, _times(ghw[row : row + n], w_hh, False))
    gh0 = cupy.ndarray(h0.shape, xw.dtype)
    _go("gru_start_grad", char, (through.pointer, past.pointer, gh0), gh0.size, hidden)
    return gxw, gh0, _weight(ghw, h_before), reduce("sum", ghw, (0,), False)


@kernel_for("cuda", "rnn_sequence")
def rnn_sequence(xw: DeviceArray, h0: DeviceArray, w_hh: DeviceArray, *, sizes: tuple, reverse: bool, act: str) -> Any:
    if not _fits(xw, h0, w_hh) or not _agree(1, xw, h0, w_hh, sizes):
        return NotImplemented
    xw, h0 = row_major(xw), row_major(h0)
    found = whole.forward(act, xw, h0, None, row_major(w_hh), None, sizes, reverse)
    if found is not None:
        return found[1], found[4], found[2]
    out, h_before = [cupy.ndarray(xw.shape, xw.dtype) for _ in range(2)]
    h = _State(h0, sizes)
    for row, n, z in _forward(h, w_hh, sizes, reverse):
        h_in, h_out = h.turn()
        pointers = (_at(xw, row), z.data.ptr, h_in, _at(out, row), _at(h_before, row), h_out)
        _go("rnn_step", xw.dtype.char, pointers, n * xw.shape[1], int(act == "relu"))
    return out, h.now, h_before


@kernel_for("cuda", "rnn_sequence_grad")
def rnn_sequence_grad(
    xw: DeviceArray, h0: DeviceArray, w_hh: DeviceArray, y: DeviceArray, h_before: DeviceArray, gout: DeviceArray, gh: DeviceArray | None, *, sizes: tuple,
    reverse: bool, act: str,
) -> Any:  # fmt: skip
    if not _fits(xw, h0, w_hh, y, h_before, gout, gh):
        return NotImplemented
    y, gout = row_major(y), row_major(gout)
    coming = (gout, row_major(gh), None)
    found = whole.backward(act, row_major(w_hh), None, None, y, coming, sizes, reverse)
    if found is not None:
        return found[0], found[2], _weight(found[0], row_major(h_before))
    gxw = cupy.ndarray(xw.shape, xw.dtype)
    back = _Back(gh, h0.shape, xw.dtype, sizes[0] == sizes[-1])
    for row, n in reversed(_steps(sizes, reverse)):
        pointers = (_at(y, row), back.pointer, _at(gout, row), _at(gxw, row))
        _go("rnn_step_grad", xw.dtype.char, pointers, n * xw.shape[1], int(act == "relu"))
        back.put(n, _times(gxw[row : row + n], w_hh, False))
    return gxw, back.now, _weight(gxw, row_major(h_before))
