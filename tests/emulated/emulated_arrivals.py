"""Batches of a traced loop arrive in arrays that stand ready on the (emulated) GPU.

Kept, changed, of other kinds; and backward passes that are not the usual one.
On a machine with a GPU: PYTHONPATH=src python tests/emulated/emulated_arrivals.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import rushlight as rl
from rushlight import nn
from rushlight.base.config import settings
from rushlight.core.hot import meeting
from rushlight.runtime.thread import here

Told = list[Any]
ROUNDS = 14


def batch(i: int, rows: int = 4) -> tuple[Any, Any]:
    """One of the host: pictures of its number, and labels."""
    return rl.full((rows, 6), i / 4) + rl.arange(6) / 8, rl.arange(rows) % 3


def host(t: Any) -> list[float]:
    return t.detach().cpu().numpy().astype(np.float64).ravel().tolist()


def plain(i: int, told: Told, kept: Told, device: Any) -> tuple[Any, Any]:
    return tuple(t.to(device) for t in batch(i))  # type: ignore[return-value]


def kept_in_a_list(i: int, told: Told, kept: Told, device: Any) -> tuple[Any, Any]:
    x, y = batch(i)
    x, y = x.to(device), y.to(device)
    kept.append(x)
    return x, y


def a_view_is_kept(i: int, told: Told, kept: Told, device: Any) -> tuple[Any, Any]:
    x, y = batch(i)
    x = x.to(device)
    kept.append(x[1:].t())
    return x, y.to(device)


def twice(i: int, told: Told, kept: Told, device: Any) -> tuple[Any, Any]:
    x, y = batch(i)
    first, second = x.to(device), (x + 1).to(device)
    x += 5  # what has gone up stays as it was
    told.append(host(second - first))
    return first, y.to(device)


def changed_behind(i: int, told: Told, kept: Told, device: Any) -> tuple[Any, Any]:
    """Memory of NumPy that is written again as soon as the values have gone."""
    memory = np.full((4, 6), i, np.float32)
    x = rl.from_numpy(memory).to(device)
    memory[...] = -100
    return x, batch(i)[1].to(device)


def other_sizes(i: int, told: Told, kept: Told, device: Any) -> tuple[Any, Any]:
    x, y = batch(i, 4 if i % 3 else 2)
    return x.to(device), y.to(device)


def other_kinds(i: int, told: Told, kept: Told, device: Any) -> tuple[Any, Any]:
    """Not gapless, not of that dtype, with a graph: each goes the plain way."""
    x, y = batch(i)
    if i % 4 == 1:
        x = rl.stack([x, x], 1)[:, 0]
    if i % 4 == 2:
        x = x.double()
    if i % 4 == 3:
        x.requires_grad_()
    up = x.to(device)
    told.append((up.dtype, up.requires_grad, up.is_leaf, up.stride(), up._version))
    return up.float(), y.to(device)


def changed_there(i: int, told: Told, kept: Told, device: Any) -> tuple[Any, Any]:
    x, y = plain(i, told, kept, device)
    x *= 2
    told.append(x._version)
    return x, y


def wants_gradients(i: int, told: Told, kept: Told, device: Any) -> tuple[Any, Any]:
    x, y = plain(i, told, kept, device)
    kept.append(x.requires_grad_())
    return x, y


def inference(i: int, told: Told, kept: Told, device: Any) -> tuple[Any, Any]:
    x, y = batch(i)
    if i % 2:
        with rl.inference_mode():
            told.append(x.to(device).is_inference())
    return x.to(device), y.to(device)


def looked_at_afterwards(i: int, told: Told, kept: Told, device: Any) -> tuple[Any, Any]:
    """What the last round's variable still holds."""
    told += [host(x) for x in kept]
    kept[:] = plain(i, told, kept, device)
    return kept[0], kept[1]


def no_device_yet(i: int, told: Told, kept: Told, device: Any) -> tuple[Any, Any]:
    """Another spelling now and then."""
    x, y = batch(i)
    return x.to("cuda" if i % 2 else device), y.cuda() if i % 3 else y.to(device)


BATCHES: list[Callable[..., tuple[Any, Any]]] = [
    plain, kept_in_a_list, a_view_is_kept, twice, changed_behind, other_sizes, other_kinds, changed_there,
    wants_gradients, inference, looked_at_afterwards, no_device_yet,
]  # fmt: skip


def usual(loss: Any, i: int) -> None:
    loss.backward()


def by_the_module(loss: Any, i: int) -> None:
    rl.autograd.backward(loss)


def a_gradient_is_given(loss: Any, i: int) -> None:
    loss.backward(rl.full((), 2.0, device="cuda") if i % 5 == 3 else None)


def kept_graph(loss: Any, i: int) -> None:
    loss.backward(retain_graph=True if i % 5 == 3 else None)
    if i % 5 == 3:
        loss.backward()


def a_hook(loss: Any, i: int) -> None:
    if i % 5 == 3:
        loss.register_hook(lambda g: g * 3)
    loss.backward()


def a_hook_that_writes(loss: Any, i: int) -> None:
    """Into the one that a pass begins with, which others would begin with, too."""
    if i % 5 == 3:
        loss.register_hook(lambda g: g.mul_(3))
    loss.backward()


def for_some(loss: Any, i: int) -> None:
    loss.backward(inputs=WEIGHTS[:1] if i % 5 == 3 else None)


def watched(loss: Any, i: int) -> None:
    with rl.autograd.set_detect_anomaly(i % 5 == 3):
        loss.backward()


def a_view(loss: Any, i: int) -> None:
    (loss.view(1)[0] if i % 5 == 3 else loss).backward()


WEIGHTS: list[Any] = []
PASSES: list[Callable[[Any, int], None]] = [
    usual, by_the_module, a_gradient_is_given, kept_graph, a_hook, a_hook_that_writes, for_some, watched, a_view,
]  # fmt: skip


def run(make: Callable[..., tuple[Any, Any]], go: Callable[[Any, int], None], loops: bool) -> Told:
    """A training loop: all that can be seen of it."""
    rl.manual_seed(1)
    device = rl.device("cuda:0")
    net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).to(device)
    WEIGHTS[:] = net.parameters()
    optimizer = rl.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    told: Told = []
    kept: Told = []
    rl.tracing(loops)
    for i in range(ROUNDS):
        x, y = make(i, told, kept, device)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        go(loss, i)
        optimizer.step()
        told.append(loss.item())
    if loops:
        REPLAYED[0] += sum(loop["replayed"] for loop in here.tracer.report.loops)
        paths = getattr(here.tracer, "tracer", here.tracer).paths
        READY[0] += sum(r is not None for p in paths if p.arrivals for r in p.arrivals.rows)
    rl.tracing(False)
    return [*told, *map(host, kept), *[host(x.grad) for x in kept if x.grad is not None], *map(host, net.parameters())]


REPLAYED, READY = [0], [0]


def main() -> None:
    settings.trace = ""  # tools that emulate a GPU keep loops eager
    meeting.timed = False
    cases = [(make, usual) for make in BATCHES] + [(plain, go) for go in PASSES]
    for make, go in cases:
        want, got = run(make, go, False), run(make, go, True)
        assert repr(want) == repr(got), (make.__name__, go.__name__, want, got)
    assert REPLAYED[0] > 100 and READY[0] > 20, (REPLAYED, READY)
    print("equal")


if __name__ == "__main__":
    if "emulated_gpu" in sys.modules:
        import fuzz

        fuzz.emulate()
    main()
