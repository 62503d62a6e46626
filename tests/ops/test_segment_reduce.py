"""`segment_reduce` against PyTorch: values, derivatives, empty pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

CUTS: dict[str, Any] = {
    "lengths": lambda lib: {"lengths": lib.tensor([2, 0])},
    "rows of lengths": lambda lib: {"lengths": lib.tensor([[1, 3, 0], [2, 2, 0]]), "axis": 1},
    "offsets": lambda lib: {"offsets": lib.tensor([0, 1, 2])},
    "a part": lambda lib: {"lengths": lib.tensor([1]), "unsafe": True},
    "a beginning": lambda lib: {"lengths": lib.tensor([2, 0]), "initial": 5.0},
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "min"])
def test_values_and_gradients(reduce: str, cut: str) -> None:
    found = []
    for lib in (rl, torch):
        x = lib.arange(24.0, dtype=lib.float64).reshape(2, 4, 3).requires_grad_()
        y = lib.segment_reduce(x, reduce, **CUTS[cut](lib))
        y[lib.isfinite(y)].sum().backward()
        found.append((y.detach().numpy(), x.grad.numpy()))
    for ours, theirs in zip(*found, strict=True):
        assert ours.shape == theirs.shape and np.allclose(ours, theirs, equal_nan=True)
