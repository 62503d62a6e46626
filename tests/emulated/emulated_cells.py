"""Recurrent cells and layers without cuDNN on the emulated GPU beside the CPU."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

import rushlight as rl
from rushlight import nn
from rushlight.runtime import devices


def compare(name: str, how: dict, x: Any, call: Any) -> None:
    """Results and gradients of `call(net, x)` on both devices."""
    rl.manual_seed(0)
    net = getattr(nn, name)(4, 8, **how)
    found = []
    for device in ("cpu", "cuda"):
        own, data = copy.deepcopy(net).to(device), x.clone().to(device).requires_grad_()
        outs = call(own, data)
        for out in outs:
            out.backward(rl.ones(out.shape).to(device), retain_graph=True)
        found.append([*[o.detach() for o in outs], data.grad, *[p.grad for p in own.parameters()]])
    for a, b in zip(*found):
        if a is None:
            continue
        np.testing.assert_allclose(b.cpu().numpy(), a.numpy(), atol=2e-5)


def cell(net: Any, x: Any) -> list[Any]:
    """Three steps of a cell."""
    rows = x.detach().unbind(0)
    out = net(rows[0])
    for row in rows[1:]:
        out = net(row, out)
    return list(out) if isinstance(out, tuple) else [out]


def layer(net: Any, x: Any) -> list[Any]:
    out, state = net(x)
    return [out, *(state if isinstance(state, tuple) else (state,))]


def packed(net: Any, x: Any) -> list[Any]:
    sizes = rl.tensor([2, 2, 1])
    out, state = net(rl.nn.utils.rnn.PackedSequence(x, sizes))
    return [out.data, *(state if isinstance(state, tuple) else (state,))]


def main() -> None:
    own = devices.overrides("cuda")
    for kind in ("lstm", "gru", "rnn"):
        assert f"{kind}_sequence" in own and f"{kind}_sequence_grad" in own
    x = rl.randn(3, 2, 4)
    for name, how in (("LSTMCell", {}), ("GRUCell", {}), ("GRUCell", {"bias": False}), ("RNNCell", {}),
                      ("RNNCell", {"nonlinearity": "relu"})):  # fmt: skip
        compare(name, how, x, cell)
    for odd in (math.nan, math.inf, -math.inf):
        beside = x.clone()
        beside[1, 1, 2] = odd
        compare("RNNCell", {"nonlinearity": "relu"}, beside, cell)
    for name in ("LSTM", "GRU", "RNN"):
        compare(name, {}, x, layer)
        compare(name, {"bidirectional": True}, rl.randn(5, 4), packed)
    print("equal")


if __name__ == "__main__":
    main()
