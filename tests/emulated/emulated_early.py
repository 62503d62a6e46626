"""Values that a traced loop's program sends to the host early are those of eager calls.

On a machine with a GPU: PYTHONPATH=src python tests/emulated/emulated_early.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight import nn, optim
from rushlight.base.config import settings
from rushlight.core import hot
from rushlight.runtime.cuda.memory import early


def plain(loss: Any, i: int) -> list[float]:
    return [loss.item()]


def twice(loss: Any, i: int) -> list[float]:
    return [loss.item(), loss.item()]


def written(loss: Any, i: int) -> list[float]:
    loss.data.fill_(float(i))
    return [loss.item()]


def written_between(loss: Any, i: int) -> list[float]:
    told = [loss.item()]
    loss.detach().mul_(3.0)
    return [*told, loss.item()]


def now_and_then(loss: Any, i: int) -> list[float]:
    if i % 5 == 3:
        with rl.no_grad():
            loss.add_(1.0)
    return [loss.item()]


def by_a_view(loss: Any, i: int) -> list[float]:
    loss.data.view(1)[0] = 4.0 + i
    return [loss.item()]


def other(loss: Any, i: int) -> list[float]:
    return [(loss.detach() * 2).item(), loss.item()]


def listed(loss: Any, i: int) -> list[float]:
    return [*loss.detach().reshape(1).tolist(), float(loss)]


WAYS: dict[str, Callable[[Any, int], list[float]]] = {
    f.__name__: f for f in (plain, twice, written, written_between, now_and_then, by_a_view, other, listed)
}


def losses(way: Callable[[Any, int], list[float]], traced: bool) -> tuple[list[Any], int]:
    """What a loop reads, what it keeps until its end, its parameters; and how many values came early."""
    rl.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)).to("cuda")
    opt = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    rl.manual_seed(1)
    data = [(rl.randn(4, 6), rl.randn(4, 3)) for _ in range(5)]
    told: list[Any] = []
    kept, before, came = [], early.Early.value, [0]

    def value(self: Any) -> Any:
        came[0] += 1
        return before(self)

    early.Early.value = value  # type: ignore[method-assign]
    hot.meeting.barred, hot.meeting.timed = None, False  # replayed, whether that pays or not
    rl.tracing(traced)
    try:
        for i in range(24):
            x, y = [t.to("cuda") for t in data[i % 5]]
            opt.zero_grad()
            loss = ((net(x) - y) ** 2).mean()
            loss.backward()
            opt.step()
            told.append(way(loss, i))
            if i % 4 == 0:
                kept.append(loss)
    finally:
        rl.tracing(False)
        early.Early.value = before  # type: ignore[method-assign]
    ends = [p.detach().cpu().tolist() for p in net.parameters()]
    return [told, [k.item() for k in kept], ends], came[0]


def check(name: str) -> None:
    """A loop of one kind, eager beside traced."""
    expected, none = losses(WAYS[name], False)
    found, came = losses(WAYS[name], True)
    assert found == expected, (name, found, expected)
    assert none == 0
    if name in ("plain", "twice", "now_and_then"):
        assert came >= 5, (name, came)
    if name in ("written", "by_a_view"):
        assert came == 0, (name, came)


if __name__ == "__main__":
    if "emulated_gpu" in sys.modules:
        import emulated_capture
        import emulated_cupy

        emulated_capture.install()
        emulated_cupy.install()
    settings.trace = ""  # tools that emulate a GPU keep loops eager
    for one in WAYS:
        check(one)
    print("equal")
