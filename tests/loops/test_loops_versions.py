"""Version counters that several tensors share are raised once for each write, compiled and traced as eager."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as rl
from rushlight import optim
from traced import both


def _change(x: Any, y: Any) -> Any:
    y.copy_(x + 1)
    x[0].fill_(0.5)
    return x * 2


def _pair(kind: str) -> tuple[Any, Any]:
    if kind == "beside":  # views of one tensor have one counter
        whole = rl.zeros(6, 4)
        return whole[:3], whole[3:]
    return rl.zeros(3, 4), rl.zeros(3, 4)


@pytest.mark.parametrize("usual, other", [("beside", "apart"), ("apart", "beside")])
def test_arguments_that_share_a_counter(usual: str, other: str) -> None:
    step = rl.compile(_change)
    for i in range(12):
        kind = other if i in (5, 8) else usual
        (x, y), (a, b) = _pair(kind), _pair(kind)
        step(x, y)
        _change(a, b)
        assert (x._version, y._version) == (a._version, b._version), i


def test_state_that_shares_a_counter() -> None:
    def made() -> tuple[Any, Any]:
        buffer = rl.zeros(3, 4)
        part = buffer[1:]

        def step(x: Any) -> Any:
            buffer.add_(x)
            part.mul_(0.5)
            return buffer * 2

        return step, buffer

    (plain, expected), (fn, buffer) = made(), made()
    step = rl.compile(fn)
    for i in range(8):
        step(rl.ones(3, 4))
        plain(rl.ones(3, 4))
        assert buffer._version == expected._version, i


def test_an_argument_and_state_that_share_a_counter() -> None:
    def made() -> tuple[Any, Any]:
        buffer = rl.zeros(6, 4)

        def step(x: Any) -> Any:
            buffer[3:].add_(1)
            return x.add_(1) * 2

        return step, buffer

    (plain, expected), (fn, buffer) = made(), made()
    step, mine, theirs = rl.compile(fn), buffer[:3], expected[:3]
    for i in range(10):
        step(mine.data if i == 7 else mine)  # `data` has a counter of its own
        plain(theirs.data if i == 7 else theirs)
        assert buffer._version == expected._version, i


@pytest.mark.filterwarnings("ignore:compile")  # that it runs eagerly, since its backward fails
@pytest.mark.parametrize("late", [False, True])
def test_a_call_that_writes_what_its_backward_reads(late: bool) -> None:
    """Before the parameter is used that is fine; afterwards backward refuses, as eager does."""

    def made() -> tuple[Any, Any]:
        w = rl.ones(4, 4, requires_grad=True)

        def step(x: Any) -> Any:
            y = x @ w if late else None
            with rl.no_grad():
                w.mul_(0.5)
            return y if late else x @ w

        return step, w

    (plain, expected), (fn, w) = made(), made()
    step = rl.compile(fn)
    for i in range(8):
        x = rl.ones(2, 4, requires_grad=True)
        told = []
        for call in (plain, step):
            try:
                call(x).sum().backward()
                told.append("")
            except RuntimeError as error:
                told.append(str(error)[:70])
        assert told[0] == told[1] and bool(told[0]) is late, (i, told)
        assert w._version == expected._version, i
        if not late:
            assert rl.equal(w.grad, expected.grad), i


def test_parameters_and_gradients_of_one_memory() -> None:
    """Parameters that are views of one tensor, and their gradients, too: each step raises one counter twice."""

    def program() -> Any:
        rl.manual_seed(0)
        flat, slope = rl.randn(8, 4), rl.zeros(8, 4)
        a, b = flat[:4].requires_grad_(), flat[4:].requires_grad_()
        a.grad, b.grad = slope[:4], slope[4:]
        opt = optim.SGD([a, b], lr=0.1)
        seen = []
        for x in [rl.randn(2, 4) for _ in range(12)]:
            loss = (x @ a + x.flip(0) @ b).pow(2).mean()
            opt.zero_grad(set_to_none=False)
            loss.backward()
            opt.step()
            seen.append((loss.item(), flat._version, slope._version, a._version, b._version))
        return seen, flat, slope

    both(program)
