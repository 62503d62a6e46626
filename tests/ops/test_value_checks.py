"""Values that an op refuses: in eager calls, in replays of programs, in functions split at host reads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as rl
from rushlight.base.config import settings
from rushlight.nn import functional as F

# name: (function, arguments that are fine, arguments that are refused, the error)
CASES: dict[str, tuple[Callable, tuple, tuple, type, str]] = {
    "//": (lambda x, y: x // y, ([4, 7], [2, 3]), ([4, 7], [2, 0]), RuntimeError, "ZeroDivision"),
    "%": (lambda x, y: x % y, ([4, 7], [2, 3]), ([4, 7], [0, 3]), RuntimeError, "ZeroDivision"),
    "fmod": (rl.fmod, ([4, 7], [2, 3]), ([4, 7], [0, 3]), RuntimeError, "ZeroDivision"),
    "div trunc": (
        lambda x, y: rl.div(x, y, rounding_mode="trunc"), ([4, 7], [2, 3]), ([4, 7], [0, 3]),
        RuntimeError, "ZeroDivision",
    ),
    "bernoulli": (rl.bernoulli, ([0.2, 1.0],), ([0.2, 1.5],), RuntimeError, "p_in"),
    "bce": (
        F.binary_cross_entropy, ([0.2, 1.0], [0.0, 1.0]), ([0.2, float("nan")], [0.0, 1.0]),
        RuntimeError, "between 0 and 1",
    ),
    "multi margin": (
        F.multi_margin_loss, ([[0.2, 1.0]], [1]), ([[0.2, 1.0]], [2]), RuntimeError, "out of range",
    ),
    "quantile": (
        lambda x, q: rl.quantile(x, q), ([0.2, 1.0], [0.5]), ([0.2, 1.0], [1.5]),
        RuntimeError, "range",
    ),
    "take": (rl.take, ([3.0, 4.0], [1, -2]), ([3.0, 4.0], [1, 2]), IndexError, "index 2 on"),
    "a distribution": (
        lambda x, s: rl.distributions.Normal(x, s).log_prob(x), ([0.2, 1.0], [1.0, 2.0]),
        ([0.2, 1.0], [1.0, -2.0]), ValueError, "GreaterThan",
    ),
    "a draw of a distribution": (
        lambda p, x: rl.distributions.Geometric(p).log_prob(x), ([0.2, 1.0], [1.0, 2.0]),
        ([0.2, 1.0], [1.0, 0.5]), ValueError, "the support",
    ),
    "bags": (
        lambda x, w, at: F.embedding_bag(x, w, at), ([0, 1, 1], [[1.0], [2.0]], [0, 2]),
        ([0, 1, 1], [[1.0], [2.0]], [0, 4]), RuntimeError, "input's length",
    ),
    "one hot": (
        lambda x: F.one_hot(x, 3), ([0, 2],), ([0, 3],), RuntimeError, "smaller than num_classes",
    ),
}  # fmt: skip


def _tensors(values: tuple) -> list[Any]:
    return [rl.tensor(v) for v in values]


@pytest.mark.parametrize("name", CASES)
def test_a_replay_refuses_what_an_eager_call_refuses(name: str) -> None:
    fn, fine, bad, error, match = CASES[name]
    with pytest.raises(error, match=match):
        fn(*_tensors(bad))
    compiled = rl.compile(lambda *args: fn(*args), fullgraph=True)
    for _ in range(3):
        want = compiled(*_tensors(fine))
    assert compiled.replays  # a check is no host read
    with pytest.raises(error, match=match):
        compiled(*_tensors(bad))
    if name != "bernoulli":
        assert compiled(*_tensors(fine)).tolist() == want.tolist()


def test_values_are_looked_at_when_they_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a function split at host reads kernels run later than Python asks for them."""

    def fn(x: Any, y: Any) -> Any:
        if x.sum() > 1000:
            return x
        divisor = x * y  # not computed yet when the division asks for its values
        return (x + 1) // divisor

    monkeypatch.setattr(settings, "split_on_cpu", True)
    monkeypatch.setattr(settings, "split_timed", False)
    with pytest.warns(UserWarning, match="is split"):
        compiled = rl.compile(fn)
        for _ in range(6):
            got = compiled(rl.tensor([1, 2]), rl.tensor([3, 4]))
    assert got.tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="ZeroDivision"):
        compiled(rl.tensor([1, 0]), rl.tensor([3, 4]))
    assert compiled(rl.tensor([5, 2]), rl.tensor([1, 1])).tolist() == [1, 1]


def test_a_check_on_meta_looks_at_nothing() -> None:
    x = rl.ones(2, dtype=rl.int64, device="meta")
    assert (x // x).shape == (2,) and F.one_hot(x, 2).shape == (2, 2)


def test_the_first_call_of_a_process_may_be_a_compiled_one() -> None:
    """The engine reads files when it is loaded; that is no side effect of the function."""
    source = """
import warnings
warnings.simplefilter("error")
import rushlight as rl
f = rl.compile(lambda x: x * 2, fullgraph=True)
x = rl.from_numpy(__import__("numpy").ones(3, "f"))
for _ in range(3):
    f(x)
assert f.replays
"""
    subprocess.run([sys.executable, "-c", source], check=True)


@pytest.mark.parametrize(
    "draw",
    [
        lambda s: rl.distributions.Normal(rl.zeros(3), s).sample(),
        lambda s: rl.distributions.Normal(rl.zeros(3), s).rsample(),
        lambda s: rl.normal(rl.zeros(3), s),
        lambda s: rl.distributions.MultivariateNormal(rl.zeros(3), rl.diag(s)).rsample(),
        lambda s: rl.distributions.LogNormal(rl.zeros(3), s).rsample(),
    ],
    ids=["sample", "rsample", "normal", "multivariate", "log normal"],
)
def test_compiled_draws_around_tensors_are_one_program(draw: Any) -> None:
    """They looked at the spread on the host, which made every such step run eagerly."""
    step = rl.compile(draw, fullgraph=True)
    spread = rl.tensor([0.5, 1.0, 2.0])
    rl.manual_seed(0)
    want = [draw(spread) for _ in range(4)]
    rl.manual_seed(0)
    got = [step(spread) for _ in range(4)]
    assert [g.tolist() for g in got] == [w.tolist() for w in want]
    with pytest.raises((RuntimeError, ValueError)):
        step(rl.tensor([0.5, -1.0, 2.0]))


def test_matrices_of_a_batch_that_are_not_positive_definite() -> None:
    check = rl.distributions.constraints.positive_definite.check
    nan = rl.full((2, 2), float("nan"))
    batch = rl.stack([rl.eye(2), -rl.eye(2), rl.tensor([[1.0, 2.0], [0.0, 1.0]]), nan])
    assert check(batch).tolist() == [True, False, False, False]
    assert not check(rl.ones(2, 3)).any()
