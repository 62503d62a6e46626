"""Recurrent layers over whole sequences in one launch, on the emulated GPU and on the CPU."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from cupy.cuda import runtime

import rushlight as rl
from rushlight.runtime.cuda.bodies.layers import recurrent_whole


def compare(name: str, how: dict, sizes: list[int] | None = None, hidden: int = 4, batch: int = 2) -> None:
    """Layers on the emulated GPU and on the CPU: results and gradients."""
    rl.manual_seed(0)
    net = getattr(rl.nn, name)(3, hidden, **how)
    x = rl.randn(5, batch, 3) if sizes is None else rl.randn(sum(sizes), 3)
    found = []
    for device in ("cpu", "cuda"):
        own, data = copy.deepcopy(net).to(device), x.clone().to(device).requires_grad_()
        given: Any = data
        if sizes is not None:
            given = rl.nn.utils.rnn.PackedSequence(data, rl.tensor(sizes))
        out, states = own(given)
        out = out if sizes is None else out.data
        last = states[0] if isinstance(states, tuple) else states
        out.backward(rl.ones(out.shape).to(device), retain_graph=True)
        last.backward(rl.ones(last.shape).to(device))
        found.append([out.detach(), last.detach(), data.grad, *[p.grad for p in own.parameters()]])
    for a, b in zip(*found):
        rough = 1e-2 if rl.backends.cudnn.allow_tf32 else 1e-5
        np.testing.assert_allclose(b.cpu().numpy(), a.numpy(), atol=rough, rtol=rough)
    print(name, how, "equal")


def main() -> None:
    """Our kernel, where a single block holds all weights: blocks of this GPU cannot wait for each other."""
    rl.backends.cudnn.enabled = False
    for major in (7, 8):  # without tensor cores and with them
        runtime.deviceGetAttribute = lambda which, i, major=major: {75: major}.get(which, 227 << 10)
        rl.backends.cudnn.allow_tf32 = major > 7
        recurrent_whole._cut.cache_clear()
        for name, how in [
            ("LSTM", {"num_layers": 2, "bidirectional": True}), ("GRU", {"bidirectional": True}),
            ("GRU", {"bias": False}), ("RNN", {"nonlinearity": "relu"}), ("RNN", {}),
        ]:  # fmt: skip
            compare(name, how, None, 5, 19)
            compare(name, how, [18, 18, 9, 1], 8)
        for name in ("whole_forward", "whole_backward"):
            for gates in (1, 3, 4):
                cut = recurrent_whole._cut(0, name, "f", major > 7, gates, 5, 19)
                assert cut is not None and cut.blocks == cut.teams == 2, cut


if __name__ == "__main__":
    main()
