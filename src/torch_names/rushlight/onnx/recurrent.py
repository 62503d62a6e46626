"""LSTM, GRU and plain recurrent layers as ONNX's own nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .sizes import fixed
from .table import Site, writes

# Where ONNX's gates are among ours: it orders i o f c and z r h, we have i f g o and r z n.
_LSTM, _GRU, _RNN = (0, 3, 1, 2), (1, 0, 2), (0,)


def _gates(site: Site, name: str, order: tuple[int, ...], hidden: int) -> str:
    """Rows of a weight or a bias in ONNX's order."""
    g = site.g
    if name in g.arrays:
        a = g.arrays[name]
        return g.constant(np.concatenate([a[k * hidden : (k + 1) * hidden] for k in order]), name=name)
    parts = g.node("Split", name, g.ints(*[hidden] * len(order)), outputs=len(order), axis=0)
    return g.node("Concat", *[parts[k] for k in order], axis=0) if len(order) > 1 else name


def _source(s: Site, order: tuple[int, ...], hidden: int) -> tuple[str, str, str | None]:
    """The inputs before their projection, its weight and its bias.

    What the kernel is given is projected already, by the linear layer before; where it was not that, the
    projection is the unit matrix.
    """
    before = s.source(s.inputs[0])
    if before is not None and before.kernel == "linear" and before.rank == 2:
        bias = before.inputs[2] if len(before.inputs) > 2 else None
        return (before.x(0), _gates(s, before.x(1), order, hidden), bias and _gates(s, bias, order, hidden))
    count = len(order) * hidden
    eye = s.g.constant(np.eye(count, dtype=s.dtypes[0]))
    return s.x(0), _gates(s, eye, order, hidden), None


def _recurrent(s: Site, op: str, order: tuple[int, ...], w_hh: int, b_hh: int | None, **more: Any) -> list[str]:
    """One layer in one direction: its outputs [rows, hidden] and its last states [batch, hidden]."""
    g = s.g
    steps, batch = s.attrs["steps"], s.attrs["batch"]
    hidden = fixed(s.shapes[1][-1], "the hidden size")
    x, w, bias = _source(s, order, hidden)
    frames = g.node("Reshape", x, g.shape((steps, batch, -1)))
    zeros = g.constant(np.zeros(len(order) * hidden, s.dtypes[0]))
    own = _gates(s, s.x(b_hh), order, hidden) if b_hh is not None and s.inputs[b_hh] is not None else zeros
    both = g.unsqueeze(g.node("Concat", bias or zeros, own, axis=0), 0)
    weights = [g.unsqueeze(w, 0), g.unsqueeze(_gates(s, s.x(w_hh), order, hidden), 0)]
    states = [g.unsqueeze(s.x(i), 0) for i in range(1, w_hh)]
    found = g.node(op, frames, *weights, both, "", *states, outputs=1 + len(states), hidden_size=hidden,
                   direction="reverse" if s.attrs["reverse"] else "forward", **more)  # fmt: skip
    rows = g.node("Reshape", found[0], g.ints(-1, hidden))
    return [rows, *[g.squeeze(last, 0) for last in found[1:]]]


@writes
def lstm(s: Site) -> list[str]:
    return _recurrent(s, "LSTM", _LSTM, 3, None)


@writes
def gru(s: Site) -> list[str]:
    return _recurrent(s, "GRU", _GRU, 2, 3, linear_before_reset=1)


@writes
def rnn(s: Site) -> list[str]:
    return _recurrent(s, "RNN", _RNN, 2, None, activations=[s.fixed("act").capitalize()])


def steps_of(attrs: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a recurrence with its number of steps and sequences in the place of every step's size."""
    sizes = attrs["sizes"]
    if len(set(sizes)) != 1:
        from .errors import UnsupportedOperatorError

        raise UnsupportedOperatorError("packed sequences of different lengths: give padded ones")
    rest = {k: v for k, v in attrs.items() if k != "sizes"}
    return {**rest, "steps": len(sizes), "batch": sizes[0]}
