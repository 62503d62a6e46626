"""Rows at computed places: the GPU's kernels without a GPU, and on one where it is there."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as rl


@pytest.mark.parametrize("dtype", [rl.float32, rl.bfloat16])
@pytest.mark.parametrize("deterministic", [False, True])
def test_message_passing_has_the_same_numbers_everywhere(device, dtype, deterministic):
    draw = np.random.default_rng(0)
    x = draw.integers(-4, 5, (50, 12)).astype(np.float32)  # sums of small integers are exact
    source, target = [draw.integers(0, 50, 90) for _ in range(2)]
    before = rl.are_deterministic_algorithms_enabled()
    rl.use_deterministic_algorithms(deterministic)
    try:
        t = rl.tensor(x).to(device, dtype).requires_grad_()
        s, d = rl.tensor(source).to(device), rl.tensor(target).to(device)
        out = rl.zeros_like(t).index_add(0, d, t[s])
        out.sum().backward()
    finally:
        rl.use_deterministic_algorithms(before)
    expected = np.zeros_like(x)
    np.add.at(expected, target, x[source])
    np.testing.assert_array_equal(out.detach().float().cpu().numpy(), expected)
    counts = np.bincount(source, minlength=50).astype(np.float32)
    np.testing.assert_array_equal(t.grad.float().cpu().numpy(), np.tile(counts[:, None], (1, 12)))
