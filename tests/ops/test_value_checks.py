"""Values that an op refuses: in eager calls, in replays of programs, in compiled functions that are traced."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as rl
from rushlight.base.config import settings
from rushlight.nn import functional as F
from traced import both

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
    """In a compiled function that is traced kernels run later than Python asks for them."""

    def fn(x: Any, y: Any) -> Any:
        if x.sum() > 1000:
            return x
        divisor = x * y  # not computed yet when the division asks for its values
        return (x + 1) // divisor

    monkeypatch.setattr(settings, "trace_on_cpu", True)
    with pytest.warns(UserWarning, match="is traced"):
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


# -- errors stay inside the `try` that stands around them -------------------------------------------

# name: the call; `n` is whole numbers [4, 1] that are 1, and somewhere 99; `x` is [4, 3]
CAUGHT: dict[str, Callable[[Any, Any], Any]] = {
    "embedding_bag": lambda x, n: F.embedding_bag(n, x, mode="sum"),
    "embedding_bag's offsets": lambda x, n: F.embedding_bag(
        rl.tensor([0, 1, 2, 1]), x, (n.view(-1)[:2] - 1), mode="sum"
    ),
    "multi_margin_loss": lambda x, n: F.multi_margin_loss(x, n.view(-1)),
    "multilabel_margin_loss": lambda x, n: F.multilabel_margin_loss(x, n.expand(4, 3)),
    "max_unpool1d": lambda x, n: F.max_unpool1d(x[:, None], n[:, None].expand(4, 1, 3), 2),
    "max_unpool3d": lambda x, n: F.max_unpool3d(x.view(4, 1, 3, 1, 1), n.view(4, 1, 1, 1, 1).expand(4, 1, 3, 1, 1), 2),
    "index_put": lambda x, n: x.index_put((n.view(-1),), rl.zeros(())),
    "poisson": lambda x, n: rl.poisson(50.0 - n.float()),
    "multinomial": lambda x, n: rl.multinomial(50.0 - n.float(), 1).float(),
}


@pytest.mark.parametrize("made", [False, True], ids=["given", "made"])
@pytest.mark.parametrize("name", CAUGHT)
def test_errors_of_a_traced_loop_stay_in_their_try(name: str, made: bool) -> None:
    def program() -> Any:
        net = rl.nn.Linear(3, 3)
        opt = rl.optim.SGD(net.parameters(), 0.1)
        skipped = []
        for i in range(20):
            h = net(rl.randn(4, 3))
            n = rl.tensor([[99 if i == 16 else 1]] * 4)  # no kernel, whose attribute would tell
            if made:
                n = h.detach().argmax(1, keepdim=True) * 0 + n
            try:
                loss = CAUGHT[name](h, n).sum() * 1e-3
            except (RuntimeError, IndexError):
                loss = h.sum() * 0
                skipped.append(i)
            opt.zero_grad()
            (h.pow(2).mean() + loss).backward()
            opt.step()
        assert skipped == [16]
        return list(net.parameters())

    both(program)


@pytest.mark.parametrize("made", [False, True], ids=["given", "made"])
@pytest.mark.parametrize("name", CAUGHT)
def test_errors_of_a_compiled_function_stay_in_their_try(name: str, made: bool) -> None:
    count = rl.zeros(())

    def fn(x: Any, n: Any) -> Any:
        count.add_(1)  # from here on the call cannot be run anew
        if made:
            n = n * 1
        try:
            return CAUGHT[name](x, n).sum() * 0 + 1
        except (RuntimeError, IndexError):
            return x.sum() * 0 - 1

    compiled = rl.compile(fn)
    x, fine, bad = rl.rand(4, 3), rl.full((4, 1), 1), rl.full((4, 1), 99)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it cannot be one program
        got = [float(compiled(x, n)) for n in (fine, fine, fine, bad, fine)]
    assert got == [1, 1, 1, -1, 1] and count.item() == 5


@pytest.mark.parametrize("n", [1, 2, 3])
def test_places_outside_of_the_image(n: int) -> None:
    unpool = getattr(F, f"max_unpool{n}d")
    shape, volume = (1, 2, *[2] * n), "x".join(["4"] * n) if n > 1 else "4x1"
    for wrong in (-1, 4**n):  # an image of the batch must not be written at another one's place
        with pytest.raises(RuntimeError, match=f"max index: {wrong} .*size {volume}"):
            unpool(rl.randn(shape), rl.full(shape, wrong), 2)


def test_columns_are_no_view_of_the_image() -> None:
    for x, kernel in ((rl.ones(1, 2, 3, 3), 1), (rl.ones(1, 2, 3, 3), 3)):
        y = F.unfold(x, kernel)
        y.mul_(10)
        assert x.unique().tolist() == [1.0]


def test_a_degree_that_is_no_number() -> None:
    x = rl.tensor([0.5, 0.5, 0.5, 0.5])
    degree = rl.tensor([float("nan"), float("inf"), -1.0, 2.0])
    assert rl.special.hermite_polynomial_h(x, degree).tolist() == [0.0, 0.0, 0.0, -1.0]
