"""Compiled steps over long rows of bfloat16 logits, on the emulated GPU beside the CPU."""

from __future__ import annotations

import emulated_capture
import numpy as np

import rushlight as rl
from rushlight import nn
from rushlight.runtime.cuda import joins

CLASSES = 2056  # from 2,048 on a block takes a row


def train(device, cast, rows=3):
    """The losses of five steps and the weight they leave."""
    rl.manual_seed(0)
    w = rl.randn(rows, CLASSES).to(device).requires_grad_()
    opt = rl.optim.SGD([w], lr=0.5)

    def step(x, t):
        opt.zero_grad()
        logits = (x * w).bfloat16()  # no product: the emulator has none of the libraries' own
        with rl.autocast(device, rl.bfloat16):
            loss = nn.functional.cross_entropy(logits.float() if cast else logits, t)
        loss.backward()
        opt.step()
        return loss

    go = rl.compile(step) if device == "cuda" else step
    random = np.random.default_rng(0)
    losses = []
    for _ in range(5):
        x = rl.tensor(random.standard_normal((rows, 1)).astype(np.float32))
        t = rl.tensor(random.integers(0, CLASSES, rows))
        losses.append(go(x.to(device), t.to(device)).detach().cpu())
    if device == "cuda":
        kernels = [ins.name for ins in go.program().instructions]
        assert "cross_entropy_grad_over" in kernels, kernels
        assert not [k for k in go.program().instructions if k.name == "cast" and k.inputs[0].shape == (rows, CLASSES)]
    return [*losses, w.detach().cpu()]


def main() -> None:
    emulated_capture.install()
    joins._LARGE = 0
    for cast in (False, True):
        found = [train(d, cast) for d in ("cpu", "cuda")]
        for a, b in zip(*found):
            np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-3, atol=1e-3)
    print("equal")


if __name__ == "__main__":
    main()
