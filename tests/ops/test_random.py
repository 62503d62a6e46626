"""Random tensors against PyTorch: the same seed gives the same numbers, and the same errors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight as rl
from same import agree, compare, outcome

DRAWS = """
torch.rand(3) | torch.rand(2, 5) | torch.rand((4,)) | torch.rand([2, 2]) | torch.rand(size=(3,)) | torch.rand(0) | torch.rand(())
torch.rand(5, dtype=torch.float64) | torch.rand(5, dtype=torch.float16) | torch.rand(5, dtype=torch.bfloat16) | torch.rand(3, dtype=torch.complex64)
torch.rand(3, requires_grad=True) | torch.rand(3, dtype=torch.int64) | torch.rand(-1) | torch.rand(2, device='meta') | torch.rand(4, out=torch.zeros(4, dtype=torch.float64))
torch.randn(3) | torch.randn(17) | torch.randn(4, 8) | torch.randn(40, dtype=torch.float64) | torch.randn(20, dtype=torch.float16) | torch.randn(3, 5, requires_grad=True)
torch.randn(2, dtype=torch.complex64) | torch.randn(12, dtype=torch.complex128) | torch.randn(2, dtype=torch.int64) | torch.randn(())
torch.randint(5, (7,)) | torch.randint(-3, 9, (2, 3)) | torch.randint(high=3, size=(2,)) | torch.randint(0, 2**40, (3,)) | torch.randint(0, 0, (1,)) | torch.randint(3, 5)
torch.randint(5, (2,), dtype=torch.float32) | torch.randint(5, (4,), dtype=torch.int8) | torch.randint(low=1, high=2, size=(2,)) | torch.randint(5, size=(3,)) | torch.randint(0, 2, [2])
torch.randperm(10) | torch.randperm(0) | torch.randperm(1) | torch.randperm(7, dtype=torch.int32) | torch.randperm(-1) | torch.randperm(5, dtype=torch.float32) | torch.randperm(1000)
torch.normal(2., 3., (4,)) | torch.normal(torch.zeros(20), 2.) | torch.normal(1., torch.arange(5.)) | torch.normal(torch.arange(5.), torch.ones(5)) | torch.normal(torch.zeros(3))
torch.normal(torch.zeros(2), -1.) | torch.normal(0., -1., (2,)) | torch.normal(2, 3) | torch.normal(mean=0.5, std=1.0, size=(3, 2)) | torch.normal(torch.zeros(2, 1), torch.ones(3))
torch.bernoulli(torch.full((9,), 0.3)) | torch.bernoulli(torch.full((3, 3), 0.5, dtype=torch.float64)) | torch.bernoulli(torch.tensor([2.])) | torch.bernoulli(torch.tensor([1, 0]))
torch.ones(6).bernoulli(0.5) | torch.bernoulli(torch.rand(3, requires_grad=True)) | torch.ones(7).bernoulli_(0.4) | torch.ones(7, dtype=torch.int64).bernoulli_(0.4) | torch.ones(4).bernoulli_(torch.tensor([0.1, 0.9, 0.5, 0.5]))
torch.ones(2).bernoulli_(2) | torch.ones(8, dtype=torch.bool).bernoulli_() | torch.multinomial(torch.ones(5), 3) | torch.multinomial(torch.rand(3, 4), 6, True) | torch.multinomial(torch.rand(3, 4), 1)
torch.multinomial(torch.ones(3), 4) | torch.multinomial(torch.ones(3, 3, 3), 1) | torch.multinomial(torch.ones(3), 0) | torch.multinomial(torch.ones(3, dtype=torch.int64), 1) | torch.multinomial(torch.tensor([0., 0.]), 1) | torch.multinomial(torch.tensor([-1., 2.]), 1)
torch.poisson(torch.tensor([0., 1., 5., 30.])) | torch.poisson(torch.tensor([-1.])) | torch.poisson(torch.ones(2, dtype=torch.int64))
torch.empty(5).uniform_() | torch.empty(5).uniform_(-1, 1) | torch.empty(5).uniform_(to=3) | torch.empty(2).uniform_(1, 0) | torch.empty(2, dtype=torch.int64).uniform_() | torch.empty(3, dtype=torch.float64).uniform_(2, 5)
torch.empty(20).normal_() | torch.empty(3).normal_(1, 2) | torch.empty(3).normal_(mean=1, std=2) | torch.empty(2, dtype=torch.int64).normal_() | torch.empty(2).normal_(0, -1)
torch.empty(5, dtype=torch.int64).random_() | torch.empty(5, dtype=torch.uint8).random_() | torch.empty(5).random_() | torch.empty(5, dtype=torch.bool).random_() | torch.empty(5, dtype=torch.int32).random_(10) | torch.empty(5).random_(-2, 3)
torch.empty(2, dtype=torch.uint8).random_(0, 300) | torch.empty(5, dtype=torch.uint8).random_(0, 256) | torch.empty(2).random_(3, 1) | torch.empty(5, dtype=torch.int64).random_(to=4) | torch.empty(5, dtype=torch.float64).random_()
torch.empty(5).exponential_() | torch.empty(5).exponential_(2.) | torch.empty(2).exponential_(-1) | torch.empty(5).geometric_(0.3) | torch.empty(2).geometric_(0) | torch.empty(5, dtype=torch.int64).geometric_(0.3)
torch.empty(5).cauchy_() | torch.empty(5).cauchy_(1, 2) | torch.empty(2).cauchy_(0, -1) | torch.empty(5).log_normal_() | torch.empty(5).log_normal_(0, 0.5) | torch.empty(2).log_normal_(0, -1)
torch.rand_like(torch.ones(2, 3)) | torch.rand_like(torch.ones(2, dtype=torch.int64)) | torch.randn_like(torch.ones(4, 5, dtype=torch.float64)) | torch.randint_like(torch.ones(4), 7) | torch.randint_like(torch.ones(4, dtype=torch.int64), 2, 7)
torch.rand_like(torch.ones(2, 3).t()) | torch.empty(3, 4).t().uniform_() | torch.rand_like(torch.ones(2), dtype=torch.float64) | torch.randn_like(torch.ones(3), requires_grad=True)
torch.rand(2, generator=torch.Generator().manual_seed(3)) | torch.randn(20, generator=torch.Generator().manual_seed(3)) | torch.randperm(5, generator=torch.Generator().manual_seed(1)) | torch.rand(2, generator=5)
torch.ones(3, requires_grad=True).uniform_() | torch.ones(3, requires_grad=True).mul(2).uniform_() | torch.initial_seed() | torch.Generator().initial_seed() | torch.Generator(device='meta')
(torch.rand(3), torch.randn(5), torch.randint(9, (3,)), torch.randperm(4), torch.rand(2, dtype=torch.float64), torch.randn(1), torch.randn(30))
"""


def cases() -> list[str]:
    return [c.strip() for line in DRAWS.strip().splitlines() for c in line.split(" | ")]


@pytest.mark.parametrize("source", cases())
def test_draws_equal_torch(source: str) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(11)
    rl.manual_seed(11)
    tol = 2e-3 if "16" in source else 1e-5
    agree(source, tol)
    compare(rl.rand(3), torch.rand(3), f"after {source}", 1e-7, False)  # the streams are in step


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(-(2**63), 2**64 - 1),
    size=st.lists(st.integers(0, 9), max_size=3),
    what=st.sampled_from(["rand", "randn"]),
)
def test_any_seed_and_size(seed: int, size: list[int], what: str) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(seed)
    rl.manual_seed(seed)
    assert rl.initial_seed() == torch.initial_seed()
    agree(f"torch.{what}({size})", 1e-5)


def test_state_travels_between_the_libraries() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(5)
    torch.randn(3)
    rl.set_rng_state(rl.from_numpy(torch.get_rng_state().numpy()))
    compare(rl.randn(7), torch.randn(7), "randn", 1e-5, False)
    torch.set_rng_state(torch.from_numpy(rl.get_rng_state().numpy()))
    compare(rl.rand(7), torch.rand(7), "rand", 1e-7, False)


def test_generators_are_independent() -> None:
    rl.manual_seed(0)
    g = rl.Generator().manual_seed(0)
    first = rl.rand(3)
    assert rl.equal(first, rl.rand(3, generator=g))
    before = g.get_state()
    a = rl.rand(2, generator=g)
    g.set_state(before)
    assert rl.equal(a, rl.rand(2, generator=g))
    assert g.initial_seed() == 0
    assert str(g.device) == "cpu"
    twin = pickle.loads(pickle.dumps(g))
    assert rl.equal(rl.rand(2, generator=twin), rl.rand(2, generator=g.clone_state()))


def test_seed_is_fresh() -> None:
    assert rl.seed() != rl.seed()
    g = rl.Generator()
    chosen = g.seed()
    assert g.initial_seed() == chosen
    twin = rl.Generator().manual_seed(chosen)
    assert rl.equal(rl.rand(3, generator=g), rl.rand(3, generator=twin))


def test_fork_rng_restores() -> None:
    rl.manual_seed(1)
    with rl.random.fork_rng():
        rl.rand(100)
    after = rl.rand(2)
    rl.manual_seed(1)
    assert rl.equal(after, rl.rand(2))
    with rl.random.fork_rng(enabled=False):
        rl.rand(1)


def test_manual_seed_returns_the_default_generator() -> None:
    assert rl.manual_seed(3) is rl.default_generator is rl.random.default_generator
    assert isinstance(outcome(rl, "torch.manual_seed('a')"), ValueError)
    with pytest.raises(TypeError):
        rl.default_generator.set_state(np.zeros(3))


def test_random_writes_are_seen_by_backward() -> None:
    x = rl.ones(3, requires_grad=True)
    y = x * 2
    z = y * y
    y.uniform_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_statistics_of_large_draws() -> None:
    rl.manual_seed(0)
    n = 20000
    assert abs(rl.randn(n).mean().item()) < 0.03
    assert abs(rl.rand(n).mean().item() - 0.5) < 0.01
    assert abs(rl.empty(n).exponential_(2.0).mean().item() - 0.5) < 0.02
    assert abs(rl.empty(n).geometric_(0.25).mean().item() - 4) < 0.15
    counts = np.bincount(rl.multinomial(rl.tensor([1.0, 3.0]), n, True).numpy())
    assert abs(counts[1] / n - 0.75) < 0.02


@pytest.mark.parametrize(
    "text",
    ["torch.randint(-3, 100, (4,), dtype=torch.uint8)", "torch.randint(0, 3, (4,), dtype=torch.bool)",
     "torch.randint(0, 300, (4,), dtype=torch.int8)", "torch.randint(0, 2**20, (4,), dtype=torch.float16)",
     "torch.randint(0, 9, (4,), dtype=torch.complex64)", "torch.zeros(4, dtype=torch.float16).random_(-5, 2**20)",
     "torch.zeros(4, dtype=torch.complex64).random_()", "torch.zeros(4, dtype=torch.complex64).exponential_()",
     "torch.zeros(4, dtype=torch.complex64).cauchy_()", "torch.zeros(4, dtype=torch.complex64).log_normal_()",
     "torch.zeros(4, dtype=torch.complex64).geometric_(0.3)", "torch.zeros(4, dtype=torch.bool).geometric_(0.3)",
     "torch.zeros(4, dtype=torch.complex64).bernoulli_(0.3)",
     "torch.nn.functional.alpha_dropout(torch.ones(4, dtype=torch.int64), 0.4, training=True)"],
)  # fmt: skip
def test_numbers_that_a_dtype_cannot_hold_are_not_drawn(text):
    """They wrapped around, became infinite, or lost their fraction without a word."""
    torch = pytest.importorskip("torch")
    with pytest.raises((RuntimeError, NotImplementedError)) as theirs:
        eval(text, {"torch": torch})
    with pytest.raises(type(theirs.value)):
        eval(text, {"torch": rl})
