"""Views of what a loop computes are kept by the user: their memory is nobody else's until they are gone."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as rl
from rushlight import nn, optim
from traced import both

N = 14


def _inputs(n: int = N) -> list[Any]:
    return [rl.randn(4, 6) for _ in range(n)]


@pytest.mark.parametrize("transposed", [False, True])
def test_views_of_a_result_are_kept(transposed: bool) -> None:
    """Only the view is held: NumPy makes it a view of the memory's owner, not of the array that was handed out."""

    def program() -> Any:
        kept, seen = [], []
        for x in _inputs():
            out = (x.t() if transposed else x) * 2
            out = out.tanh() + 1
            kept.append(out[1:])
            seen.append(out.sum().item())
            del out
        return seen, kept

    both(program, replays=6)


@pytest.mark.parametrize("transposed", [False, True])
def test_views_of_gradients_are_kept(transposed: bool) -> None:
    def program() -> Any:
        net, kept, seen = nn.Linear(6, 3), [], []
        opt = optim.SGD(net.parameters(), lr=0.1)
        for x in _inputs():
            opt.zero_grad()
            loss = net(x).pow(2).mean()
            loss.backward()
            grad = net.weight.grad
            kept.append(grad.t()[1:] if transposed else grad[1:])
            del grad
            opt.step()
            seen.append(loss.item())
        return seen, kept

    both(program, replays=6)


def test_what_is_not_contiguous_is_kept_once() -> None:
    """A hidden value with a view inside the stretch: the program does not compute it, so holding it falls back."""

    def program() -> Any:
        kept, seen = [], []
        for i, x in enumerate(_inputs()):
            hidden = x.t() * 3
            hidden[1:].mul_(2)
            if i in (8, 11):
                kept.append(hidden)
            seen.append((hidden * hidden).sum().item())
            del hidden
        return seen, kept

    both(program, replays=4)


@pytest.mark.parametrize("take", ["view", "data", "transposed"])
def test_views_of_a_compiled_steps_gradients_are_kept(take: str) -> None:
    """A view without a base tensor holds nothing but memory, which the next replay must leave alone."""
    net = nn.Linear(6, 3)
    opt = optim.SGD(net.parameters(), lr=0.1)

    @rl.compile
    def step(x: Any) -> Any:
        opt.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        opt.step()
        return loss

    views = {"view": lambda g: g[1:].detach(), "data": lambda g: g.data[0].data, "transposed": lambda g: g.t().detach()}
    kept, copies = [], []
    for x in _inputs(8):
        step(x)
        kept.append(views[take](net.weight.grad))
        copies.append(kept[-1].clone())
    for i, (a, b) in enumerate(zip(kept, copies)):
        assert rl.equal(a, b), i


def test_detached_views_are_kept() -> None:
    def program() -> Any:
        net, kept, seen = nn.Linear(6, 3), [], []
        opt = optim.SGD(net.parameters(), lr=0.1)
        for x in _inputs():
            opt.zero_grad()
            out = net(x)
            kept.append(out[1:].detach())
            loss = out.pow(2).mean()
            loss.backward()
            kept.append(net.weight.grad[0].detach())
            del out
            opt.step()
            seen.append(loss.item())
        return seen, kept

    both(program, replays=6)


@pytest.mark.parametrize("how", ["rows", "every second row", "transposed", "seen by NumPy", "a parameter", "one row"])
def test_inputs_that_lie_otherwise(how: str) -> None:
    """An input that is laid out as ever is taken without a line of Python; each of these is looked at closely."""

    def given(i: int, net: Any, store: Any) -> Any:
        if i < 8 or i % 2:
            return rl.randn(6, 6)
        if how == "rows":
            return store[i : i + 6]
        if how == "every second row":
            return store[i : i + 12 : 2]
        if how == "transposed":
            return rl.randn(6, 6).t()
        if how == "seen by NumPy":
            x = rl.randn(6, 6)
            x.numpy()[0, 0] = i
            return x
        return net.weight.data if how == "a parameter" else rl.randn(1, 6)

    def program() -> Any:
        net, seen, store = nn.Linear(6, 6), [], rl.randn(40, 6)
        opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for i in range(20):
            x, target = given(i, net, store), rl.arange(6)
            target = target[: len(x)]
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x).reshape(-1, 6), target)
            loss.backward()
            if i == 13:
                target.fill_(1)  # what was taken is what it was
            opt.step()
            seen.append(loss.item())
        return seen, [p.detach().clone() for p in net.parameters()]

    both(program, replays=3, exact=True)


def test_classes_out_of_range_raise_where_they_come() -> None:
    def program() -> Any:
        net, seen = nn.Linear(6, 3), []
        opt = optim.SGD(net.parameters(), lr=0.1)
        for i, x in enumerate(_inputs(12)):
            opt.zero_grad()
            target = rl.tensor([0, 1, 2, 3 if i == 8 else -100 if i == 9 else 1])
            try:
                loss = nn.functional.cross_entropy(net(x), target)
            except IndexError as error:
                seen.append(str(error))
                continue
            loss.backward()
            opt.step()
            seen.append(loss.item())
        return seen

    both(program, replays=3, exact=True)
