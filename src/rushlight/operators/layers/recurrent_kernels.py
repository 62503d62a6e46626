"""The recurrences as ops: one kernel walks all time steps of a layer, one walks them back.

Frames of all steps lie in one matrix, step after step; `sizes` says how many sequences are alive at each
(never growing, as in packed sequences). The state is [B, H]; a step changes its first rows only, so ended
sequences keep their last state, and in reverse direction late ones their first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...base.arrays import Array, ArrayModule
from ...core.op import Op
from ...core.public import NAMESPACES
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.precision import in_float32
from ..made_of.reference import by_reference, vjp


def _steps(sizes: tuple[int, ...], reverse: bool) -> list[tuple[slice, int]]:
    """The rows of each step in the order of work, and the number of sequences at it."""
    steps, start = [], 0
    for n in sizes:
        steps.append((slice(start, start + n), n))
        start += n
    return steps[::-1] if reverse else steps


def _sigmoid(xp: ArrayModule, x: Array) -> Any:
    return 1 / (1 + xp.exp(-x))


def _like(g: Array | None, shape: tuple, model: Array, xp: ArrayModule) -> Any:
    """A gradient that may be written to; zeros if none arrived."""
    return xp.zeros(shape, model.dtype) if g is None else g.astype(model.dtype, copy=True)


def _plus(g: Array, gout: Array | None, rows: slice) -> Any:
    return g if gout is None else g + gout[rows]


# -- LSTM ---------------------------------------------------------------------------------------


@in_float32
def _lstm_body(xp: ArrayModule, xw: Array, h0: Array, c0: Array, w_hh: Array, *, sizes: tuple, reverse: bool) -> tuple:
    """xw holds the projected inputs with both biases, gates in the order i f g o."""
    hidden = h0.shape[1]
    gates = xp.empty_like(xw)
    out = xp.empty((xw.shape[0], hidden), xw.dtype)
    h_before, c_before = xp.empty_like(out), xp.empty_like(out)
    h, c = h0.copy(), c0.copy()
    w = w_hh.T
    for rows, n in _steps(sizes, reverse):
        h_before[rows], c_before[rows] = h[:n], c[:n]
        z = xp.matmul(h[:n], w)
        z += xw[rows]
        a = gates[rows]
        a[:, : 2 * hidden] = _sigmoid(xp, z[:, : 2 * hidden])
        a[:, 2 * hidden : 3 * hidden] = xp.tanh(z[:, 2 * hidden : 3 * hidden])
        a[:, 3 * hidden :] = _sigmoid(xp, z[:, 3 * hidden :])
        i, f, g, o = (a[:, k * hidden : (k + 1) * hidden] for k in range(4))
        c[:n] = f * c[:n] + i * g
        h[:n] = o * xp.tanh(c[:n])
        out[rows] = h[:n]
    return out, h, c, gates, h_before, c_before


@in_float32
def _lstm_grad_body(
    xp: ArrayModule, xw: Array, h0: Array, c0: Array, w_hh: Array, gates: Array, h_before: Array, c_before: Array,
    gout: Array | None, gh: Array, gc: Array, *, sizes: tuple, reverse: bool,
) -> tuple:  # fmt: skip
    hidden = h0.shape[1]
    gxw = xp.empty_like(xw)
    gh, gc = _like(gh, h0.shape, xw, xp), _like(gc, c0.shape, xw, xp)
    for rows, n in reversed(_steps(sizes, reverse)):
        i, f, g, o = (gates[rows, k * hidden : (k + 1) * hidden] for k in range(4))
        before = c_before[rows]
        tanh_c = xp.tanh(f * before + i * g)
        to_h = _plus(gh[:n], gout, rows)
        to_c = gc[:n] + to_h * o * (1 - tanh_c * tanh_c)
        d = gxw[rows]
        d[:, :hidden] = to_c * g * i * (1 - i)
        d[:, hidden : 2 * hidden] = to_c * before * f * (1 - f)
        d[:, 2 * hidden : 3 * hidden] = to_c * i * (1 - g * g)
        d[:, 3 * hidden :] = to_h * tanh_c * o * (1 - o)
        gc[:n] = to_c * f
        gh[:n] = xp.matmul(d, w_hh)
    return gxw, gh, gc, xp.matmul(gxw.T, h_before)


lstm_sequence = Op(_lstm_body, "lstm_sequence", grad_name="LstmBackward0", facts=Facts(autocast="low", onnx="lstm"))
lstm_sequence.viewed = ("w_hh",)
lstm_sequence_grad = Op(_lstm_grad_body, "lstm_sequence_grad")


@lstm_sequence.backward
def _lstm_backward(
    gs: list, xw: Tensor, h0: Tensor, c0: Tensor, w_hh: Tensor, out3: Tensor, out4: Tensor,
    out5: Tensor, sizes: tuple, reverse: bool,
) -> tuple:  # fmt: skip
    return lstm_sequence_grad(
        xw, h0, c0, w_hh, out3.detach(), out4.detach(), out5.detach(), *gs[:3], sizes=sizes, reverse=reverse
    )


# -- GRU ----------------------------------------------------------------------------------------


@in_float32
def _gru_body(
    xp: ArrayModule, xw: Array, h0: Array, w_hh: Array, b_hh: Array | None, *, sizes: tuple, reverse: bool
) -> tuple:
    """xw holds the projected inputs with their bias, gates in the order r z n."""
    hidden = h0.shape[1]
    gates = xp.empty_like(xw)
    out = xp.empty((xw.shape[0], hidden), xw.dtype)
    h_before, inner = xp.empty_like(out), xp.empty_like(out)
    h = h0.copy()
    w = w_hh.T
    for rows, n in _steps(sizes, reverse):
        h_before[rows] = h[:n]
        z = xp.matmul(h[:n], w)
        if b_hh is not None:
            z += b_hh
        a = gates[rows]
        a[:, : 2 * hidden] = _sigmoid(xp, xw[rows, : 2 * hidden] + z[:, : 2 * hidden])
        inner[rows] = z[:, 2 * hidden :]
        r, u = a[:, :hidden], a[:, hidden : 2 * hidden]
        new = xp.tanh(xw[rows, 2 * hidden :] + r * inner[rows])
        a[:, 2 * hidden :] = new
        h[:n] = new + u * (h[:n] - new)
        out[rows] = h[:n]
    return out, h, gates, h_before, inner


@in_float32
def _gru_grad_body(
    xp: ArrayModule, xw: Array, h0: Array, w_hh: Array, b_hh: Array | None, gates: Array, h_before: Array, inner: Array,
    gout: Array, gh: Array | None, *, sizes: tuple, reverse: bool,
) -> tuple:  # fmt: skip
    hidden = h0.shape[1]
    gxw, ghw = xp.empty_like(xw), xp.empty_like(xw)
    gh = _like(gh, h0.shape, xw, xp)
    for rows, n in reversed(_steps(sizes, reverse)):
        r, u, new = (gates[rows, k * hidden : (k + 1) * hidden] for k in range(3))
        to_h = _plus(gh[:n], gout, rows)
        d = gxw[rows]
        to_new = to_h * (1 - u) * (1 - new * new)
        d[:, :hidden] = to_new * inner[rows] * r * (1 - r)
        d[:, hidden : 2 * hidden] = to_h * (h_before[rows] - new) * u * (1 - u)
        d[:, 2 * hidden :] = to_new
        e = ghw[rows]
        e[:, : 2 * hidden] = d[:, : 2 * hidden]
        e[:, 2 * hidden :] = to_new * r
        gh[:n] = to_h * u + xp.matmul(e, w_hh)
    return gxw, gh, xp.matmul(ghw.T, h_before), ghw.sum(axis=0)


gru_sequence = Op(_gru_body, "gru_sequence", grad_name="GruBackward0", facts=Facts(autocast="low", onnx="gru"))
gru_sequence.viewed = ("w_hh",)
gru_sequence_grad = Op(_gru_grad_body, "gru_sequence_grad")


@gru_sequence.backward
def _gru_backward(
    gs: list, xw: Tensor, h0: Tensor, w_hh: Tensor, b_hh: Any, out2: Tensor, out3: Tensor,
    out4: Tensor, sizes: tuple, reverse: bool,
) -> tuple:  # fmt: skip
    found = gru_sequence_grad(
        xw, h0, w_hh, b_hh, out2.detach(), out3.detach(), out4.detach(), *gs[:2], sizes=sizes, reverse=reverse
    )
    return found if b_hh is not None else (*found[:3], None)


# -- plain RNN ----------------------------------------------------------------------------------


@in_float32
def _rnn_body(xp: ArrayModule, xw: Array, h0: Array, w_hh: Array, *, sizes: tuple, reverse: bool, act: str) -> tuple:
    """xw holds the projected inputs with both biases."""
    out, h_before = xp.empty_like(xw), xp.empty_like(xw)
    h = h0.copy()
    w = w_hh.T
    for rows, n in _steps(sizes, reverse):
        h_before[rows] = h[:n]
        z = xp.matmul(h[:n], w) + xw[rows]
        h[:n] = xp.tanh(z) if act == "tanh" else xp.maximum(z, 0)
        out[rows] = h[:n]
    return out, h, h_before


@in_float32
def _rnn_grad_body(
    xp: ArrayModule, xw: Array, h0: Array, w_hh: Array, y: Array, h_before: Array, gout: Array, gh: Array | None, *,
    sizes: tuple, reverse: bool, act: str,
) -> tuple:  # fmt: skip
    gxw = xp.empty_like(xw)
    gh = _like(gh, h0.shape, xw, xp)
    for rows, n in reversed(_steps(sizes, reverse)):
        after = y[rows]
        coming = _plus(gh[:n], gout, rows)
        if act == "tanh":
            gxw[rows] = coming * (1 - after * after)
        else:
            gxw[rows] = xp.where(after <= 0, 0, coming)
        gh[:n] = xp.matmul(gxw[rows], w_hh)
    return gxw, gh, xp.matmul(gxw.T, h_before)


rnn_sequence = Op(_rnn_body, "rnn_sequence", grad_name="RnnBackward0", facts=Facts(autocast="low", onnx="rnn"))
rnn_sequence.viewed = ("w_hh",)
rnn_sequence_grad = Op(_rnn_grad_body, "rnn_sequence_grad")


@rnn_sequence.backward
def _rnn_backward(
    gs: list, xw: Tensor, h0: Tensor, w_hh: Tensor, out: Tensor, out2: Tensor, sizes: tuple, reverse: bool, act: str
) -> tuple:
    return rnn_sequence_grad(xw, h0, w_hh, out.detach(), out2.detach(), *gs[:2], sizes=sizes, reverse=reverse, act=act)


# -- the same recurrences in tensor ops, for derivatives of higher order ------------------------


def _unrolled(xw: Tensor, states: tuple, sizes: tuple, reverse: bool, step: Callable) -> tuple[Tensor, ...]:
    """Run all steps by `step(frames, *states)`; rows of sequences that have ended keep their state."""
    cat = NAMESPACES["torch"]["cat"]
    outs: dict[int, Tensor] = {}
    for rows, n in _steps(sizes, reverse):
        frames = xw.narrow(0, rows.start, n)
        new = step(frames, *[s.narrow(0, 0, n) for s in states])
        outs[rows.start] = new[0]
        states = tuple(_joined(cat, a, s, n) for a, s in zip(new, states))
    return (cat([outs[k] for k in sorted(outs)], 0), *states)


def _joined(cat: Callable, new: Tensor, old: Tensor, n: int) -> Tensor:
    rest = old._a.shape[0] - n
    return cat([new, old.narrow(0, n, rest)], 0) if rest else new


def _chunks(x: Tensor, count: int) -> Iterator[Tensor]:
    size = x._a.shape[1] // count
    return iter([x.narrow(1, k * size, size) for k in range(count)])


def _lstm_unrolled(
    xw: Tensor, h0: Tensor, c0: Tensor, w_hh: Tensor, sizes: tuple, reverse: bool, w_hr: Tensor | None = None
) -> tuple:
    def step(frames: Tensor, h: Tensor, c: Tensor) -> tuple:
        i, f, g, o = _chunks(frames + h @ w_hh.transpose(0, 1), 4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        return (h if w_hr is None else h @ w_hr.transpose(0, 1)), c

    return _unrolled(xw, (h0, c0), sizes, reverse, step)


def lstm_projected(
    xw: Tensor, h0: Tensor, c0: Tensor, w_hh: Tensor, w_hr: Tensor, sizes: tuple, reverse: bool
) -> tuple:
    """An LSTM layer whose output is projected by `w_hr` before it returns as state."""
    return _lstm_unrolled(xw, h0, c0, w_hh, sizes, reverse, w_hr)


def _gru_unrolled(xw: Tensor, h0: Tensor, w_hh: Tensor, b_hh: Any, sizes: tuple, reverse: bool) -> tuple:
    def step(frames: Tensor, h: Tensor) -> tuple:
        z = h @ w_hh.transpose(0, 1)
        r_h, u_h, n_h = _chunks(z if b_hh is None else z + b_hh, 3)
        r_x, u_x, n_x = _chunks(frames, 3)
        u = (u_x + u_h).sigmoid()
        new = (n_x + (r_x + r_h).sigmoid() * n_h).tanh()
        return (new + u * (h - new),)

    return _unrolled(xw, (h0,), sizes, reverse, step)


def _rnn_unrolled(xw: Tensor, h0: Tensor, w_hh: Tensor, sizes: tuple, reverse: bool, act: str) -> tuple:
    def step(frames: Tensor, h: Tensor) -> tuple:
        z = frames + h @ w_hh.transpose(0, 1)
        return (z.tanh() if act == "tanh" else z.relu(),)

    return _unrolled(xw, (h0,), sizes, reverse, step)


def _grad_formula(unrolled: Callable, primals: int, saved: int) -> Callable:
    """What a `*_sequence_grad` computes, in tensor ops of its inputs and the incoming gradients."""

    def formula(*inputs: Any, **attrs: Any) -> tuple:
        given, gs = inputs[:primals], inputs[primals + saved :]
        needs = [x is not None for x in given]
        return vjp(lambda *xs: unrolled(*xs, **attrs), given, needs, gs)

    return formula


by_reference(lstm_sequence_grad, _grad_formula(_lstm_unrolled, 4, 3))
by_reference(gru_sequence_grad, _grad_formula(_gru_unrolled, 4, 3))
by_reference(rnn_sequence_grad, _grad_formula(_rnn_unrolled, 3, 2))
