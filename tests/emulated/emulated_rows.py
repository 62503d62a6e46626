"""Row groups on the emulated GPU: compiled functions beside the same on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import emulated_capture
import numpy as np

import row_functions
import rushlight as rl
from rushlight.capture.joined import cuda_row_group as row_group_cuda

draws = np.random.default_rng(0)


def run(fn: Callable, arguments: list[Any], device: str, wrap: Callable) -> tuple[list[Any], Any]:
    """Values and gradients of a few calls."""
    given = [a.detach().to(device).requires_grad_() for a in arguments]

    def step(*args: Any) -> Any:
        loss = fn(*args)
        return loss, rl.autograd.grad(loss.sum(), args)

    called, found = wrap(step), []
    for _ in range(4):
        loss, grads = called(*given)
        found.append([loss.detach().cpu(), *[g.cpu() for g in grads]])
    return found[-1], called


def alone(name: str, columns: int) -> None:
    """The row groups that a GPU's answers make of a function on the CPU, each beside its generic body."""
    fn, *shapes = row_functions.FUNCTIONS[name]
    rl.manual_seed(0)
    arguments = [rl.randn(*[columns if n is None else n for n in s]) for s in shapes]
    row_functions.answer_as_a_gpu(setattr)
    _, compiled = run(fn, arguments, "cpu", rl.compile)
    groups = [ins for ins in compiled.program().instructions if ins.name == "row_group"]
    assert groups
    for ins in groups:
        inputs = [np.asarray(draws.standard_normal(s.shape), s.dtype) for s in ins.inputs]
        there = [rl.tensor(a).to("cuda")._a for a in inputs]
        own = row_group_cuda.row_group(*there, **ins.attrs)
        for a, b in zip(own, ins.kernel.generic(np, *inputs, **ins.attrs)):
            np.testing.assert_allclose(emulated_capture.on_host(a), b, rtol=2e-5, atol=2e-5)
    print(name, columns, "agrees alone", flush=True)


def main() -> None:
    alone("attention", 33)
    alone("attention", 256)
    emulated_capture.install()
    for name, (fn, *shapes) in row_functions.FUNCTIONS.items():
        if name == "attention":  # eager logsumexp is CuPy's, which is not there
            continue
        for columns in (33,) if name == "square" else (33, 768):
            rl.manual_seed(0)
            arguments = [rl.randn(*[columns if n is None else n for n in s]) for s in shapes]
            expected, _ = run(fn, arguments, "cpu", lambda f: f)
            got, compiled = run(fn, arguments, "cuda", rl.compile)
            assert compiled.replays, compiled.why()
            names = [ins.name for ins in compiled.program().instructions]
            assert "row_group" in names, (name, columns, names)
            for a, b in zip(got, expected):
                far = (a - b).abs().max() / b.abs().max().clamp(min=1)
                assert far < 2e-5, (name, columns, float(far))
            print(name, columns, "agrees", flush=True)
    print("equal")


if __name__ == "__main__":
    main()
