"""SobolEngine beside PyTorch's: the same direction numbers, points and scrambling, to the bit."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dimension", [1, 2, 7, 40, 1111])
def test_points(dimension: int) -> None:
    ours = rl.quasirandom.SobolEngine(dimension)
    theirs = torch.quasirandom.SobolEngine(dimension)
    for n in (1, 2, 5, 0, 8):
        a, b = ours.draw(n), theirs.draw(n)
        assert a.shape == tuple(b.shape) and a.dtype is rl.float32
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    ours.fast_forward(9), theirs.fast_forward(9)
    a, b = ours.draw(3, dtype=rl.float64), theirs.draw(3, dtype=torch.float64)
    np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert ours.num_generated == theirs.num_generated == 28
    np.testing.assert_array_equal(ours.reset().draw(4).numpy(), theirs.reset().draw(4).numpy())


def test_the_whole_table() -> None:
    ours, theirs = rl.quasirandom.SobolEngine(21201), torch.quasirandom.SobolEngine(21201)
    np.testing.assert_array_equal(ours.sobolstate.numpy(), theirs.sobolstate.numpy())


@pytest.mark.parametrize("seed", [None, 7])
def test_scrambled(seed: int | None) -> None:
    rl.manual_seed(3), torch.manual_seed(3)
    ours = rl.quasirandom.SobolEngine(12, scramble=True, seed=seed)
    theirs = torch.quasirandom.SobolEngine(12, scramble=True, seed=seed)
    assert repr(ours) == repr(theirs)
    np.testing.assert_array_equal(ours.draw_base2(5).numpy(), theirs.draw_base2(5).numpy())
    copied = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(copied.draw(3).numpy(), theirs.draw(3).numpy())
    np.testing.assert_array_equal(rl.rand(3).numpy(), torch.rand(3).numpy())


@pytest.mark.parametrize("lib", [rl, torch], ids=["rushlight", "torch"])
def test_misuse(lib) -> None:
    with pytest.raises(ValueError, match="Supported range of dimensionality"):
        lib.quasirandom.SobolEngine(21202)
    engine = lib.quasirandom.SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match="require n to be a power of 2"):
        engine.draw_base2(2)
    out = lib.empty(0)
    assert engine.draw(2, out=out) is out and out.shape == (2, 2)
