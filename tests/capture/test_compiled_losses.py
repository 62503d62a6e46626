"""Compiled losses of class numbers: what backward keeps of them stays what it was until backward has read it."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as rl

F = rl.nn.functional


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("factor", [1.0, 0.9])
def test_a_compiled_loss_has_the_gradient_of_an_eager_one(factor: float, smoothing: float) -> None:
    """The loss is read, and its memory used again, before backward reads how many targets counted."""

    def step(x: rl.Tensor, y: rl.Tensor) -> tuple:
        x = x.detach().clone().requires_grad_()
        loss = F.cross_entropy(x, y, label_smoothing=smoothing) * factor
        return loss.detach(), rl.autograd.grad(loss, x)[0]

    compiled = rl.compile(step)
    draw = np.random.RandomState(0)
    for _ in range(6):
        x, y = rl.from_numpy(draw.randn(4, 3).astype("f")), rl.from_numpy(draw.randint(0, 3, 4))
        for got, expected in zip(compiled(x, y), step(x, y)):
            np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-6, atol=1e-7)
