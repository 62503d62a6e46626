"""Distributions that few use, against PyTorch's: distances and misuse of low rank normals, von Mises, LKJ, Pareto."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")


def low_rank(m: Any) -> list:
    m.manual_seed(0)
    loc, w, d, x = m.randn(4), m.randn(2, 4, 2), m.rand(4) + 0.1, m.randn(3, 2, 4)
    one = m.distributions.LowRankMultivariateNormal(loc, w, d)
    two = m.distributions.MultivariateNormal(loc, m.eye(4))
    kl = m.distributions.kl_divergence
    return [
        one.log_prob(x), one.entropy(), one.variance, one.covariance_matrix, one.precision_matrix, one.scale_tril,
        one.sample((5,)), kl(one, two), kl(two, one), kl(one, one), one.expand((3, 2)).log_prob(x),
        one.expand((3, 2)).covariance_matrix, one.expand((3, 2)).variance,  # not those that were asked for before
    ]  # fmt: skip


def test_low_rank_normals() -> None:
    for ours, theirs in zip(low_rank(rl), low_rank(torch), strict=True):
        assert tuple(ours.shape) == tuple(theirs.shape)
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("m", [rl, torch], ids=["rushlight", "torch"])
def test_misuse_is_refused_in_the_same_types(m: Any) -> None:
    low = m.distributions.LowRankMultivariateNormal
    for loc, w, d in [((), (3, 1), (3,)), ((3,), (3,), (3,)), ((3,), (2, 1), (3,)), ((3,), (3, 1), (2,)), ((3,), (3, 1), (4, 2)), ((2, 3), (5, 3, 1), (3,))]:  # fmt: skip
        with pytest.raises(ValueError):
            low(m.ones(loc), m.ones(w), m.ones(d))
    with pytest.raises(ValueError):
        m.distributions.LKJCholesky(1)
    with pytest.raises(ValueError):
        m.distributions.VonMises(0.0, -1.0)
    with pytest.raises(ValueError):
        m.distributions.ContinuousBernoulli(m.tensor(0.5), logits=m.tensor(0.5))


def test_pareto_distance_knows_its_scales():
    """The exponentials beneath two of equal scales are equal, but the scales have gradients."""
    torch = pytest.importorskip("torch")
    for scales in ((0.7, 0.7), (1.5, 0.7), (0.7, 1.5)):
        found = []
        for lib in (rl, torch):
            given = [lib.tensor(v, dtype=lib.float64, requires_grad=True) for v in (*scales, 3.0, 2.5)]
            p, q = (lib.distributions.Pareto(given[i], given[2 + i]) for i in (0, 1))
            told = lib.distributions.kl_divergence(p, q)
            told.backward()
            found.append([told.item(), *[t.grad.item() for t in given]])
        assert found[0] == pytest.approx(found[1], rel=1e-12)
