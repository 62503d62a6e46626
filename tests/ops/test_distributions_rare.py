"""Distributions that few use: low rank normals, von Mises, LKJ, continuous Bernoulli, against PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
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


def von_mises(m: Any) -> list:
    found = m.distributions.VonMises(m.tensor([0.0, 1.0, -3.0]), m.tensor([0.5, 20.0, 1e-6]))
    m.manual_seed(0)
    drawn = found.sample((50,))
    spread, wider = found.variance, found.expand((2, 3))
    return [drawn, found.log_prob(drawn), spread, wider.variance, wider.sample()]


def lkj_cholesky(m: Any) -> list:
    found = m.distributions.LKJCholesky(3, m.tensor([0.5, 2.0]))
    m.manual_seed(0)
    drawn = found.sample((4,))
    return [drawn, found.log_prob(drawn), found.expand((4, 2)).log_prob(drawn)]


def continuous_bernoulli(m: Any) -> list:
    one = m.distributions.ContinuousBernoulli(m.tensor([0.1, 0.4995, 0.5, 0.7]))
    two = m.distributions.ContinuousBernoulli(logits=m.tensor([0.1, -3.0, 0.0]))
    m.manual_seed(0)
    x = one.rsample((4,))
    return [
        x, one.log_prob(x), one.mean, one.variance, one.stddev, one.entropy(), one.cdf(x), one.icdf(x),
        two.mean, two.probs, two.entropy(), two.expand((2, 3)).variance, two._log_normalizer(m.tensor([0.1, 0.0, 3.0])),
    ]  # fmt: skip


CASES = [low_rank, von_mises, lkj_cholesky, continuous_bernoulli]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_same_numbers_and_draws(case: Callable) -> None:
    for ours, theirs in zip(case(rl), case(torch), strict=True):
        assert tuple(ours.shape) == tuple(theirs.shape)
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=2e-4, atol=1e-5)


def gradients(m: Any) -> list:
    w, d = m.ones(3, 1, requires_grad=True), m.ones(3, requires_grad=True)
    k, p = m.tensor([2.0], requires_grad=True), m.tensor([0.3, 0.5], requires_grad=True)
    x = m.tensor([0.1, 0.2, 0.4])
    (
        m.distributions.LowRankMultivariateNormal(m.zeros(3), w, d).log_prob(x).sum()
        + m.distributions.VonMises(m.zeros(1), k).log_prob(x).sum()
        + m.distributions.ContinuousBernoulli(p).log_prob(x[:2]).sum()
    ).backward()
    return [w.grad, d.grad, k.grad, p.grad]


def test_same_gradients() -> None:
    for ours, theirs in zip(gradients(rl), gradients(torch), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-5)


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
            given = [
                lib.tensor(v, dtype=lib.float64, requires_grad=True) for v in (*scales, 3.0, 2.5)
            ]
            p, q = (lib.distributions.Pareto(given[i], given[2 + i]) for i in (0, 1))
            told = lib.distributions.kl_divergence(p, q)
            told.backward()
            found.append([told.item(), *[t.grad.item() for t in given]])
        assert found[0] == pytest.approx(found[1], rel=1e-12)
