"""A step that fails leaves nothing half changed: on the CPU by a kernel that raises, on the emulated GPU by memory."""

from __future__ import annotations

import pytest

import rushlight as rl
from cuda_on_host import needs_compiler, runs_on_the_emulated_gpu
from faults import OPTIMISERS, Case, Injected, check_optimiser, check_training, kernel_fails


@pytest.mark.parametrize("name", [*OPTIMISERS, "Adafactor"])
def test_a_step_that_fails_is_not_begun(name: str) -> None:
    assert check_optimiser("cpu", name, kernel_fails, Injected) >= 2


def test_forward_and_backward_can_fail_anywhere() -> None:
    assert check_training("cpu", kernel_fails, Injected) >= 10


def test_muon_takes_its_momentum_back() -> None:
    def fresh() -> tuple[rl.nn.Parameter, rl.optim.Muon]:
        p = rl.nn.Parameter(rl.arange(12.0).reshape(3, 4))
        p.grad = rl.arange(12.0).cos().reshape(3, 4)
        return p, rl.optim.Muon([p], lr=0.1)

    q, wanted = fresh()
    wanted.step()
    wanted.step()
    failures = 0
    for k in range(1, 200):
        p, opt = fresh()
        opt.step()
        before, momentum = p.detach().clone(), opt.state[p]["momentum_buffer"].clone()
        try:
            with kernel_fails(k):
                opt.step()
        except Injected:
            failures += 1
            assert (p == before).all() and (opt.state[p]["momentum_buffer"] == momentum).all()
            opt.step()
        assert (p == q).all()
    assert failures >= 2


def test_a_recording_that_fails_leaves_no_trace() -> None:
    wanted = Case("cpu")
    losses = [wanted.step(i) for i in range(4)]
    for k in range(1, 60, 3):
        case = Case("cpu")
        step = rl.compile(lambda i, case=case: case.step(i))
        found = []
        for i in range(4):
            try:
                with kernel_fails(k if i == 1 else 0):
                    found.append(step(i))
            except Injected:
                found.append(step(i))
        assert found == losses, k
        assert case.everything() == wanted.everything(), k


@needs_compiler
def test_memory_runs_out_on_the_emulated_gpu() -> None:
    runs_on_the_emulated_gpu("emulated_faults.py")
