"""Compiled functions beside `torch.func`: maps over samples, inside and around, give what the function itself gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight import func

N = 6


def scores(u: Any) -> Any:
    return (u.tanh() * 2).sum(-1) + u[..., 0]


def of_one(u: Any) -> Any:
    return scores(u).sum()


AROUND: dict[str, Callable[[Any, Any], Any]] = {
    "vmap": lambda f, x: func.vmap(f)(x),
    "vmap of grad": lambda f, x: func.vmap(func.grad(lambda u: f(u).sum()))(x),
    "jacrev": lambda f, x: func.jacrev(f)(x),
    "jacfwd": lambda f, x: func.jacfwd(f)(x),
    "hessian": lambda f, x: func.hessian(lambda u: f(u).sum())(x),
    "jvp": lambda f, x: func.jvp(f, (x,), (x * 2,))[1],
    "vjp": lambda f, x: func.vjp(f, x)[1](rl.ones(4))[0],
    "batched seeds": lambda f, x: rl.autograd.grad(
        f(y := x.clone().requires_grad_()), y, rl.eye(4), is_grads_batched=True
    )[0],
    "autograd.functional": lambda f, x: rl.autograd.functional.jacobian(f, x, vectorize=True),
}


@pytest.mark.parametrize("first", ["plain", "mapped"])
@pytest.mark.parametrize("name", AROUND)
def test_maps_around_a_compiled_function(name: str, first: str) -> None:
    step, draw = rl.compile(scores), np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no call says that something in the engine failed
        warnings.filterwarnings("ignore", message=".*differentiated")
        for i in range(N):
            x = rl.tensor(draw.standard_normal((4, 3)).astype("f4"))
            if first == "plain" and i < 4:
                y = x.clone().requires_grad_()
                step(y).sum().backward()
                continue
            found, wanted = AROUND[name](step, x), AROUND[name](scores, x)
            np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)
