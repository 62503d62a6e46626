"""Compiled steps on the emulated GPU over one arena, and over memory of their own."""

from __future__ import annotations

import copy
import gc
import sys
import weakref
from typing import Any

import emulated_capture

import rushlight as rl
from rushlight import nn
from rushlight.base.bounded import Bounded
from rushlight.capture.lower import cuda_arena
from rushlight.runtime.cuda.code import held
from rushlight.runtime.devices import nothing_reused

CALLS = 8
HELD = (4, 6)  # calls whose gradients are kept: in the arena the first time, then apart


def train(device: str, start: nn.Module) -> tuple[list[float], nn.Module, Any]:
    """Losses of some steps, the trained network, and on a GPU the compiled step."""
    rl.manual_seed(1)
    net = copy.deepcopy(start).to(device)
    opt = rl.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step(x: Any, t: Any) -> Any:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), t)
        loss.backward()
        opt.step()
        return loss

    run = step if device == "cpu" else rl.compile(step, fullgraph=True)
    losses, kept = [], []
    for i in range(CALLS):
        x, t = rl.randn(6, 12), rl.randint(0, 5, (6,))
        losses.append(run(x.to(device), t.to(device)).item())
        if device == "cuda" and i in HELD:
            array = net[0].weight.grad._a
            kept.append((array, emulated_capture.on_host(array).copy()))
    for array, then in kept:
        now = emulated_capture.on_host(array)
        assert (now == then).all(), "a gradient that somebody holds was written over"
    return losses, net, run


def twice(device: str, start: nn.Module) -> tuple[list[float], list[Any], Any]:
    """A network whose backward comes outside, and comes twice: what it needs must still be there."""
    rl.manual_seed(1)
    net = copy.deepcopy(start).to(device)
    run = net if device == "cpu" else rl.compile(net)
    losses, gradients = [], []
    for _ in range(CALLS):
        x, t = rl.randn(6, 12).to(device), rl.randint(0, 5, (6,)).to(device)
        net.zero_grad()
        loss = nn.functional.cross_entropy(run(x), t)
        loss.backward(retain_graph=True)
        loss.backward()
        losses.append(loss.item())
        gradients += [p.grad.detach().cpu() for p in net.parameters()]
    return losses, gradients, run


def agree(one: tuple, other: tuple) -> None:
    for a, b in zip(one[0], other[0]):
        assert abs(a - b) < 1e-5, (one[0], other[0])
    kept = [list(m.parameters()) if isinstance(m, nn.Module) else m for m in (one[1], other[1])]
    for p, q in zip(*kept, strict=True):
        assert (p.cpu() - q.cpu()).abs().max() < 1e-5


def small_results_are_new_while_recording() -> None:
    """Launches hand out small results again; a recorder, which knows arrays while they live, must not see that."""
    x = rl.ones(8).to("cuda")

    def is_kept() -> bool:
        seen = weakref.ref((x + x)._a)
        return seen() is not None

    is_kept()
    assert is_kept()
    with nothing_reused():
        assert not is_kept()
    assert is_kept()


def forget_all() -> None:
    """Let every memo of a module forget what it may forget."""
    for name, module in list(sys.modules.items()):
        if name.startswith("rushlight."):
            for value in list(vars(module).values()):
                if value.__class__ is Bounded:
                    value.clear()
    gc.collect()


def kernels_stay_with_their_graphs() -> None:
    """Memos forget kernels; those of a graph are unloaded when it is gone, and not before."""
    x = rl.linspace(-1, 1, 8).to("cuda")

    def function(x: rl.Tensor) -> rl.Tensor:
        return rl.addcmul(x, x, x, value=0.5).tanh() * 3  # which a graph computes in one kernel

    function(x)
    before = set(held._loaded)
    step = rl.compile(function)
    want = [step(x) for _ in range(3)][-1].tolist()
    made = [weakref.ref(m) for m in set(held._loaded) - before]
    lowered = weakref.ref(step.replays[-1].low)
    del before
    forget_all()
    assert any(m() is not None for m in made), "nothing was compiled for the graph"
    assert step(x).tolist() == want  # the emulator refuses kernels that were unloaded
    del step
    forget_all()
    assert lowered() is None and not any(m() for m in made), "a kernel outlives its graph"


def main() -> None:
    emulated_capture.install()
    small_results_are_new_while_recording()
    kernels_stay_with_their_graphs()
    rl.manual_seed(0)
    start = nn.Sequential(nn.Linear(12, 16), nn.Sigmoid(), nn.Linear(16, 16), nn.Sigmoid(), nn.Linear(16, 5))
    want = train("cpu", start)
    rl.use_deterministic_algorithms(True)  # no joined kernels: weight gradients get lanes of their own
    found = train("cuda", start)
    agree(want, found)
    low = found[2].replays[-1].low
    assert isinstance(low.arena, cuda_arena.Placing), type(low.arena)
    assert any(low.first.branches.lane), "no lane beside the main one"
    asked = low.arena.ledger.asked
    assert found[2].replays[-1].apart and sum([a.lent for a in asked]) == 6
    assert low.arena_bytes < sum([-(-a.size // 512) * 512 for a in asked if not a.own])
    rl.use_deterministic_algorithms(False)
    agree(want, train("cuda", start))
    later = twice("cuda", start)
    agree(twice("cpu", start), later)
    halves = later[2]._compiled.replays[-1].low
    assert isinstance(halves.arena, cuda_arena.Placing) and halves.first is not halves.second
    cuda_arena._TRIES = 0  # memory from a pool, as where captures differ
    plain = train("cuda", start)
    assert isinstance(plain[2].replays[-1].low.arena, cuda_arena.Plain)
    agree(want, plain)
    print(f"{len(asked)} pieces, {low.arena_bytes} bytes of arena")
    print("equal")


if __name__ == "__main__":
    main()
