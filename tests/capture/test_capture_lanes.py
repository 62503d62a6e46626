"""Branches of a captured graph: what may run beside the main lane, and what must live until it has."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.capture.lower import cuda_lanes as lanes
from rushlight.capture.lower.cuda_lanes import Branches, heaviest_last, keep_longer


def program_of(step, *args):
    compiled = torch.compile(step)
    for _ in range(4):
        compiled(*args)
    assert compiled.replays, compiled.why()
    return compiled.program()


def training(net, loss_of, *args):
    """The program of a training step."""
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step(x, y):
        opt.zero_grad()
        loss = loss_of(net(x), y)
        loss.backward()
        opt.step()
        return loss

    return program_of(step, *args)


@pytest.fixture
def program():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5))
    args = torch.randn(2, 1, 8, 8), torch.tensor([1, 2])
    return training(net, nn.functional.cross_entropy, *args)


def test_only_what_the_update_alone_reads_runs_beside(program):
    code = program.instructions
    branches = Branches(program, code)
    update = [i for i, ins in enumerate(code) if ins.name == "sgd_update"]
    beside = [i for i, lane in enumerate(branches.lane) if lane]
    assert beside and branches.waits == set(update)
    assert {code[i].name for i in beside} <= {"mm_tn", "sum", "conv_grad_weight", "conv_grads", "linear_grads"}
    for i in beside:
        written = {s.storage.number for s in code[i].outputs}
        for j, ins in enumerate(code):
            if written & {s.storage.number for s in ins.reads}:
                assert j in update and branches.until[i] == update[0]
    assert {branches.lane[i] for i in beside} == {1, 2}


def test_the_last_branch_runs_where_nothing_else_would(program):
    code = program.instructions
    branches = Branches(program, code)
    end = max(branches.waits)
    last = max(i for i in range(end) if not code[i].is_view)
    assert branches.lane[last] == 0 and last not in branches.until
    assert {s.storage.number for s in code[last].outputs} & {
        s.storage.number for s in code[end].reads
    }  # a gradient that the update alone waits for


def test_the_largest_of_the_last_branches_comes_last():
    net = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 3))
    program = training(net, nn.functional.mse_loss, torch.randn(8, 64), torch.randn(8, 3))
    code = heaviest_last(program, program.instructions)
    assert sorted(map(id, code)) == sorted(map(id, program.instructions))
    known = set()
    for ins in code:  # nothing is read before it is made
        assert all(s.number in known or s.storage.kind != "made" for s in ins.reads), ins.name
        known.update(s.number for s in ins.outputs)
    end = next(i for i, ins in enumerate(code) if ins.name == "sgd_update")
    assert code[end - 1].outputs[0].shape == (48, 64) and code[end - 2].name == "sum"
    assert Branches(program, code).lane[end - 2 : end] == [2, 0]


def test_what_a_branch_reads_lives_until_it_is_waited_for(program):
    code = program.instructions
    branches = Branches(program, code)
    end = max(branches.waits)
    at = next(i for i, lane in enumerate(branches.lane) if lane)
    number = code[at].reads[0].number
    kept = keep_longer({at: [number, -1]}, branches, code)
    assert kept == {end: [number], at: [-1]}


def test_large_programs_have_one_lane(program, monkeypatch):
    monkeypatch.setattr(lanes, "_MOST_BYTES", 16)
    branches = Branches(program, program.instructions)
    assert not any(branches.lane) and not branches.waits


def test_a_function_without_an_update_has_one_lane():
    program = program_of(lambda x: (x @ x).relu().sum(), torch.randn(4, 4))
    assert not any(Branches(program, program.instructions).lane)


def test_what_a_branch_reads_is_not_written_over_before_it_ends():
    """A result made of a parameter, which the update then changes."""
    torch.manual_seed(0)
    net = nn.Linear(6, 5)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)

    def step(x, y):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        before = net.weight.detach().abs()
        loss.backward()
        opt.step()
        return loss, before

    program = program_of(step, torch.randn(4, 6), torch.tensor([0, 1, 2, 3]))
    code = program.instructions
    branches = Branches(program, code)
    at = next(i for i, ins in enumerate(code) if ins.name == "abs")
    update = next(i for i, ins in enumerate(code) if ins.name == "sgd_update")
    assert branches.until.get(at, at) <= update
