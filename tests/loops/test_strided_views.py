"""Views by strides share memory with what they were taken from, in compiled functions and traced loops, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.core.memory import root_array
from traced import both


def written(x: rl.Tensor, s: rl.Tensor) -> rl.Tensor:
    y = x.clone()
    y.as_strided((2, 2), (4, 1), 1).copy_(s)
    return y * 2


def windows(x: rl.Tensor, s: rl.Tensor) -> rl.Tensor:
    y = x.clone().reshape(-1)
    w = y.unfold(0, 3, 3)
    w.mul_(s.sum())
    y.add_(1)
    return w + y.unfold(0, 3, 3)


def scattered(x: rl.Tensor, s: rl.Tensor) -> rl.Tensor:
    return x.as_strided_scatter(s, (2, 2), (4, 1), 1)


def kept(x: rl.Tensor, s: rl.Tensor) -> rl.Tensor:
    w = (x + 1).as_strided((2, 2), (4, 1), 1)
    return w.t() @ s


FUNCTIONS = [written, windows, scattered, kept]


def inputs(device: str, seed: int) -> tuple[rl.Tensor, rl.Tensor]:
    draw = np.random.default_rng(seed)
    return tuple(rl.tensor(draw.standard_normal(n).astype("f4")).to(device) for n in [(3, 4), (2, 2)])


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_compiled(function: Any, device: str) -> None:
    compiled = rl.compile(function)
    for seed in range(6):
        expected, found = function(*inputs(device, seed)), compiled(*inputs(device, seed))
        np.testing.assert_allclose(found.cpu().numpy(), expected.cpu().numpy(), rtol=1e-6)
    assert compiled.why() is None


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_traced(function: Any, device: str) -> None:
    def program() -> Any:
        log = []
        for seed in range(12):
            x, s = inputs(device, seed)
            log.append(function(x.relu() - 0.5, s.tanh()).sum().item())
        return log

    both(program, exact=True, replays=0)  # a window looks at where memory is, which ends a stretch


def test_a_window_knows_the_owner_of_its_memory(device: str) -> None:
    x = rl.zeros(3, 4, device=device)
    for view in (x.as_strided((2, 2), (4, 1), 1), x.reshape(-1).unfold(0, 3, 2), x[1:].as_strided((2,), (1,))):
        assert root_array(view._a) is root_array(x._a)
        view.fill_(1)
    assert x.sum().item() == 11 and view._a.base is not None


@pytest.mark.parametrize("narrow", [False, True])
def test_a_window_of_an_input_when_tracing_ends(narrow: bool) -> None:
    """What waits is computed step by step then, from a copy of the input: its elements without the memory around them."""

    def program() -> Any:
        p = rl.nn.Parameter(rl.full((3, 4), 0.5))
        opt, log = rl.optim.SGD([p], lr=0.05, momentum=0.9), []
        for x in [rl.arange(12.0).view(3, 4) + i for i in range(15)]:
            t = x.repeat(1, 2)[:, 2:6]
            (t * p).sum().backward()
            opt.step()
            window = t.as_strided((2, 3), (8, 1), 3) if narrow else t.as_strided((3, 4), t.stride())
            log.append((window.detach().clone(), (window * 2).sum(0)))
        return log  # the last stretch still waits

    both(program, exact=True)
