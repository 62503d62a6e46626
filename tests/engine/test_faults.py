"""A step that fails leaves nothing half changed: on the CPU by a kernel that raises, on the emulated GPU by memory."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as rl
from faults import OPTIMISERS, Case, Injected, check_optimiser, check_training, kernel_fails, near
from rushlight.capture.loops import path
from rushlight.capture.lower import lower
from rushlight.core.hot import meeting
from rushlight.runtime import door
from traced import run_traced


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


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_a_step_refused_in_its_middle_leaves_every_parameter_whole(name: str) -> None:
    """The second group's kernel fails: the first group moved and is counted, the second is as it was."""
    for before in (0, 1):
        case, wanted = Case("cpu", name), Case("cpu", name)
        for i in range(before):
            case.step(i)
            wanted.step(i)
        case.backward(before)
        wanted.backward(before)
        for p in wanted.net[2].parameters():
            p.grad = None
        wanted.opt.step()
        begun = [0]

        def second(kernel: Any, arrays: Any, attrs: Any, call: Any, begun: Any = begun) -> Any:
            begun[0] += kernel.name.endswith("_update")
            if begun[0] == 2:
                raise Injected(kernel.name)
            return call()

        with door.listening(second), pytest.raises(Injected) as found:
            case.opt.step()
        assert case.everything() == wanted.everything()
        assert case.versions() == wanted.versions()
        assert "2 parameters had moved before this" in found.value.__notes__[0]


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


class Lookup:
    """A step whose kernels refuse a batch: an embedding that has no such row."""

    def __init__(self, name: str) -> None:
        rl.manual_seed(0)
        self.table, self.head = rl.nn.Embedding(5, 4), rl.nn.Linear(4, 2)
        groups = [{"params": self.table.parameters()}, {"params": self.head.parameters()}]
        self.opt = getattr(rl.optim, name)(groups, lr=0.1)

    def step(self, i: rl.Tensor) -> rl.Tensor:
        self.opt.zero_grad()
        loss = self.head(self.table(i)).square().mean()
        loss.backward()
        self.opt.step()
        return loss.detach()

    def state(self) -> list:
        held = [v for s in self.opt.state.values() for v in s.values()]
        return [self.opt._step_count, *[v.tolist() for v in held]]

    def weights(self) -> list:
        return [p.tolist() for p in (*self.table.parameters(), *self.head.parameters())]


@pytest.mark.parametrize("name", ["Adam", "NAdam", "ASGD", "RMSprop"])
def test_a_replay_that_refuses_its_batch_counts_no_step(name: str) -> None:
    good, bad = rl.tensor([0, 3, 4]), rl.tensor([0, 3, 5])
    plain, case = Lookup(name), Lookup(name)
    step = rl.compile(case.step)
    for _ in range(4):
        plain.step(good)
        step(good)
    assert step.replays
    before = case.state()
    with pytest.raises(IndexError):
        step(bad)
    assert case.state() == before
    plain.step(good)
    step(good)
    assert case.state()[0] == plain.opt._step_count
    for a, b in zip(case.weights(), plain.weights()):
        assert rl.allclose(rl.tensor(a), rl.tensor(b), atol=1e-6)


def test_of_two_optimisers_the_one_that_stepped_stays_counted() -> None:
    first, second = Lookup("Adam"), Lookup("Adam")

    def both(i: rl.Tensor, j: rl.Tensor) -> rl.Tensor:
        return first.step(i) + second.step(j)

    step, good, bad = rl.compile(both), rl.tensor([0, 3, 4]), rl.tensor([0, 3, 5])
    for _ in range(4):
        step(good, good)
    before, moved = (first.state(), second.state()), first.weights()
    with pytest.raises(IndexError):
        step(good, bad)
    assert second.state() == before[1]
    assert first.opt._step_count == 5 and first.weights() != moved


def test_a_loop_whose_program_fails_counts_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    fails = [False]

    def breakable(*args: Any, **how: Any) -> Any:
        low = lower(*args, **how)
        run = low.run

        def broken() -> Any:
            if fails[0]:
                raise Injected("the program is not begun")
            return run()

        low.run = broken
        return low

    def counts(case: Case) -> list[Any]:  # past the door: reading weights would end the loop's program
        steps = [s["step"]._a.item() for s in case.opt.state.values()]
        return [case.opt._step_count, *case.versions(), *steps]

    def trained() -> tuple[Case, int]:
        case, failures = Case("cpu"), 0
        for i in range(12):
            before = counts(case)
            try:
                fails[0] = i == 9
                case.tensors_step(*case.batches[i % 4])
            except Injected:
                fails[0], failures = False, failures + 1
                assert counts(case) == before
                case.tensors_step(*case.batches[i % 4])
        return case, failures

    monkeypatch.setattr(path, "lower", breakable)
    monkeypatch.setattr(meeting, "barred", None)
    (case, failures), seen = run_traced(trained)
    assert failures == 1 and seen.replayed, (seen.fallbacks, seen.loops)
    wanted, _ = trained()
    assert near(case.everything(), wanted.everything())


def test_an_op_that_finds_no_memory_raises_both_kinds_of_error_with_sizes() -> None:
    """PyTorch's is a RuntimeError, Python's a MemoryError: who catches either one goes on."""
    far, row = rl.zeros(1).expand(1 << 46), rl.zeros(1, 1).expand(1 << 24, 1)
    for op in (lambda: far + 1, far.exp, far.clone, far.double, lambda: rl.cat([far, far]), lambda: row + row.t(),
               lambda: row @ row.t(), lambda: rl.stack([far, far]), lambda: rl.randn_like(far)):  # fmt: skip
        with pytest.raises(RuntimeError, match="DefaultCPUAllocator") as told:
            op()
        assert isinstance(told.value, MemoryError)
    with pytest.raises(RuntimeError, match=r"allocate 281474976710656 bytes \(in exp of"):
        far.exp()
    leaf = rl.zeros(1, requires_grad=True)
    with pytest.raises(MemoryError):
        leaf.expand(1 << 46).exp()
    leaf.exp().backward()
    assert leaf.grad.item() == 1.0
