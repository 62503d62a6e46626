"""Compiled functions whose backward goes on behind their arguments: graphs and hooks from outside are those of eager."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as rl
from rushlight.capture.record.recorder import CannotCapture, HostReadError

N = 8


def _halve(g: Any) -> Any:
    return g * 0.5


# What happens before the call of each iteration from the fifth on: the leaf, and a result of it.
def _thrice(leaf: Any) -> None:
    leaf.grad.mul_(3)


CHANGES: dict[str, Callable[[Any, Any, int], Any]] = {
    "nothing": lambda p, t, i: None,
    "a hook of the leaf": lambda p, t, i: p.register_hook(_halve) if i == 5 else None,
    "a hook after accumulation": lambda p, t, i: (p.register_post_accumulate_grad_hook(_thrice) if i == 5 else None),
    "a hook of the result": lambda p, t, i: t.register_hook(_halve),
    "a hook of the node": lambda p, t, i: t.grad_fn.register_hook(
        lambda gi, go: tuple(None if g is None else g * 0.5 for g in gi)
    ),
    "the gradient is kept": lambda p, t, i: t.retain_grad(),
}


def _run(given: str, change: str, compiled: bool) -> list[Any]:
    p = rl.nn.Parameter(rl.ones(3))
    held: dict[str, Any] = {}

    def step(x: Any) -> Any:
        (held["t"] * x).sum().backward() if given == "closure" else (x * 2).sum().backward()
        return (x * 1).detach()

    call = rl.compile(step) if compiled else step
    told: list[Any] = []
    for i in range(N):
        p.grad = None
        t = p * 3
        if i >= 5:
            CHANGES[change](p, t, i)
        held["t"] = t
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = call({"leaf": p, "result": t, "closure": rl.ones(3)}[given])
        told.append([v if v is None else v.tolist() for v in (out, p.grad)])
        if change == "the gradient is kept" and i >= 5:
            told.append(t.grad if t.grad is None else t.grad.tolist())
    return told


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("given", ["leaf", "result", "closure"])
def test_backward_inside(given: str, change: str) -> None:
    assert _run(given, change, compiled=True) == _run(given, change, compiled=False)


def test_fullgraph_says_so() -> None:
    p = rl.nn.Parameter(rl.ones(3))

    def step(x: Any) -> None:
        x.sum().backward()

    call = rl.compile(step, fullgraph=True)
    with pytest.raises((CannotCapture, HostReadError), match="from outside"):
        for _ in range(3):
            call(p * 2)


@pytest.mark.parametrize("device", ["cpu"])
def test_a_frozen_parameter_that_gets_a_gradient_later_is_looked_at(device: str) -> None:
    """Found by the fuzzer, seed 910538: `zero_grad(set_to_none=False)` left it as it was."""
    p = rl.nn.Parameter(rl.ones(3, device=device))
    opt = rl.optim.SGD([p], lr=0.1)

    @rl.compile
    def step(x: Any) -> Any:
        opt.zero_grad(set_to_none=False)
        return x * 2

    p.requires_grad_(False)
    for _ in range(4):
        step(rl.ones(2))
    for _ in range(3):
        p.grad = rl.ones(3)
        step(rl.ones(2))
        assert p.grad.tolist() == [0.0, 0.0, 0.0]
