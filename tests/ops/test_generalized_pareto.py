"""`torch.distributions.GeneralizedPareto` beside PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
PARAMETERS = ([0.0, 1.0, -2.0, 0.5], [1.0, 2.0, 0.5, 1.0], [0.3, 0.0, -0.4, 1.5])


def both(call: Any, dtype: str = "float64") -> None:
    found = []
    for lib in (torch, rushlight):
        given = [lib.tensor(p, dtype=getattr(lib, dtype), requires_grad=True) for p in PARAMETERS]
        y = call(lib, lib.distributions.GeneralizedPareto(*given))
        grads: tuple = ()
        if y.requires_grad:
            y.nan_to_num(0.0).sum().backward()
            grads = tuple([g.grad.numpy() for g in given if g.grad is not None])
        found.append((y.detach().numpy(), grads))
    rtol, atol = (1e-10, 1e-12) if dtype == "float64" else (1e-4, 1e-5)
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=rtol, atol=atol)
    assert len(found[0][1]) == len(found[1][1])
    for ours, theirs in zip(found[1][1], found[0][1]):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


VALUES = [0.7, 1.9, -1.5, 4.0]


@pytest.mark.parametrize("name", ["log_prob", "cdf", "log_cdf", "log_survival_function"])
def test_of_values(name: str) -> None:
    """In float32 only: PyTorch 2.13 refuses parameters of other dtypes here."""
    both(lambda lib, d: getattr(d, name)(lib.tensor(VALUES)), "float32")


@pytest.mark.parametrize("name", ["mean", "variance", "mode"])
def test_moments(name: str) -> None:
    both(lambda lib, d: getattr(d, name))


def test_the_rest() -> None:
    both(lambda lib, d: d.icdf(lib.tensor([0.1, 0.5, 0.9, 0.99], dtype=lib.float64)))
    both(lambda lib, d: d.entropy())
    both(lambda lib, d: d.expand((2, 4)).mean)
    both(lambda lib, d: d.support.upper_bound)
    for lib in (torch, rushlight):
        d = lib.distributions.GeneralizedPareto(0.0, 1.0, -0.5)
        assert d.batch_shape == () and d.rsample((3, 2)).shape == (3, 2)
        with pytest.raises(ValueError, match="within the support"):
            d.log_prob(lib.tensor(5.0))


def test_draws() -> None:
    """Draws have the distribution's mean."""
    rushlight.manual_seed(0)
    d = rushlight.distributions.GeneralizedPareto(1.0, 2.0, 0.1)
    assert abs(d.sample((20000,)).mean().item() - d.mean.item()) < 0.1
