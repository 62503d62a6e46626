"""Gradients are taken over only when nobody else holds them, whatever this Python counts as a reference."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rushlight as rl
from rushlight.core import memory
from rushlight.core.gradients import tape
from rushlight.core.references import least


def test_a_gradient_that_nobody_holds_is_taken_as_it_is():
    made = []

    class Tell(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            fresh = rl.ones(5) * 2
            made.append(fresh.data_ptr())
            return fresh

    x = rl.zeros(5, requires_grad=True)
    Tell.apply(x).sum().backward()
    assert x.grad.data_ptr() == made[0]


@pytest.mark.parametrize("way", ["hook", "post hook", "tensor", "array"])
def test_a_gradient_that_somebody_holds_is_copied(way: str):
    held = []

    class Give(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            fresh = rl.ones(5) * 2
            if way == "tensor":
                held.append(fresh)
            elif way == "array":
                held.append(fresh.numpy())
            return fresh

    x = rl.zeros(5, requires_grad=True)
    y = Give.apply(x)
    if way == "hook":
        x.register_hook(held.append)
    elif way == "post hook":
        y.grad_fn.register_hook(lambda gxs, gys: held.append(gxs[0]))
    y.sum().backward()
    x.grad.add_(1)
    assert x.grad.tolist() == [3.0] * 5
    assert held[0].tolist() == [2.0] * 5


def test_counts_are_measured():
    assert 1 <= tape.ALONE <= 4 and 1 <= memory._ALONE <= 4
    assert least(lambda count: count >= 3) == 3
    with pytest.raises(RuntimeError, match="counts references"):
        least(lambda count: False)


def test_an_import_inside_of_a_profile() -> None:
    """`python -m cProfile script.py`: before Python 3.12 nobody can switch such a profiler off and on again."""
    script = "import rushlight as rl; rl.manual_seed(0); print((rl.ones(3) * 2).sum().item())"
    command = [sys.executable, "-c", f"import cProfile; cProfile.run({script!r})"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("6.0\n") and "function calls" in done.stdout
