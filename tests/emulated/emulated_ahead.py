"""Programs whose beginning is started before Python has come to its end leave what eager calls leave.

On a machine with a GPU: PYTHONPATH=src python tests/emulated/emulated_ahead.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import rushlight as rl
from rushlight import nn, optim
from rushlight.base.config import settings
from rushlight.capture.loops import ahead
from rushlight.core import hot
from rushlight.runtime.thread import here
from ways_inside import EVERYWHERE

NORM: Any = nn.BatchNorm1d


class Means(nn.Module):
    """Running means as a batch normalisation has them, of ops that an emulated GPU computes quickly."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("running_mean", rl.zeros(size))
        self.register_buffer("running_var", rl.ones(size))
        self.register_buffer("num_batches_tracked", rl.tensor(0))

    def reset_running_stats(self) -> None:
        self.running_mean.zero_()

    def forward(self, x: Any) -> Any:
        mean = (x[0] + x[1] + x[2] + x[3]) / 4
        with rl.no_grad():
            self.num_batches_tracked.add_(1)
            self.running_mean.mul_(0.9).add_(mean * 0.1)
            self.running_var.mul_(0.9).add_(mean * mean)
        return x - mean


class Net(nn.Module):
    """A network with running means and random draws; `middle` is called in the midst of its forward."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.means, self.b = nn.Linear(6, 8), NORM(8), nn.Linear(8, 8)
        self.drop, self.c, self.d = nn.Dropout(0.4), nn.Linear(8, 8), nn.Linear(8, 3)
        self.middle: Callable[[Net, Any], Any] = lambda net, h: h

    def forward(self, x: Any) -> Any:
        h = self.drop(self.means(self.a(x)).relu())
        h = self.drop(self.b(h).tanh() * 2 + 1)
        h = self.middle(self, h)
        return self.d(self.c(h).relu())


def seed_again(net: Net, h: Any, i: int, x: Any) -> Any:
    if i % 6 == 5:
        rl.manual_seed(i)
    return h


def draw_between(net: Net, h: Any, i: int, x: Any) -> Any:
    return h + rl.rand(1, device="cuda") if i % 6 == 5 else h


def state_of_draws(net: Net, h: Any, i: int, x: Any) -> Any:
    if i % 6 == 5:
        net.told.append(rl.cuda.get_rng_state().tolist())
    return h


WAYS = (*EVERYWHERE, seed_again, draw_between, state_of_draws)


def told(way: Callable[[Net, Any, int, Any], Any], traced: bool) -> tuple[list[Any], int, int]:
    """All that can be seen of a loop, and how often a program was started early and taken back."""
    rl.manual_seed(0)
    net: Any = Net().to("cuda")
    net.told = []
    opt = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    rl.manual_seed(1)
    data = [(rl.randn(4, 6), rl.randn(4, 3)) for _ in range(5)]
    ahead._LEAST = 0.0
    starts, backs = [0], [0]
    start, back = ahead.Ahead.start, ahead.Ahead.take_back

    def counted(self: Any, *args: Any) -> None:
        starts[0] += 1
        start(self, *args)

    def counted_back(self: Any, low: Any) -> None:
        backs[0] += self.started
        back(self, low)
        self.misses = 0  # start again, however often that was in vain

    ahead.Ahead.start, ahead.Ahead.take_back = counted, counted_back  # type: ignore[method-assign]
    hot.meeting.barred, hot.meeting.timed = None, False  # replayed, whether that pays or not
    rl.tracing(traced)
    out: list[Any] = []
    for i in range(18):
        x, y = data[i % 5]
        net.middle = lambda net, h, i=i, x=x: way(net, h, i, x)
        try:
            opt.zero_grad()
            outputs = net(x.to("cuda"))  # held until the next ones are there
            loss = ((outputs - y.to("cuda")) ** 2).mean()
            loss.backward()
            opt.step()
            out.append(loss.item())
            if i % 4 == 1:
                net.told.append(outputs.detach())
        except KeyError as error:
            out.append(repr(error))
    rl.tracing(False)
    assert here.tracer is None or not traced
    ahead.Ahead.start, ahead.Ahead.take_back = start, back  # type: ignore[method-assign]
    out += [t.tolist() if hasattr(t, "tolist") else t for t in net.told]
    out += [t.tolist() for t in net.state_dict().values()]
    return [*out, rl.rand(3, device="cuda").tolist()], starts[0], backs[0]


def check(name: str) -> None:
    """One way, eager and traced."""
    way = next(w for w in WAYS if w.__name__ == name)
    eager, _, _ = told(way, False)
    traced, starts, backs = told(way, True)
    assert starts >= 2, (name, starts)
    assert (backs == 0) == (name in ("nothing", "keep")), (name, starts, backs)
    assert eager == traced, [(i, a, b) for i, (a, b) in enumerate(zip(eager, traced)) if a != b][:3]


if __name__ == "__main__":
    if "emulated_gpu" in sys.modules:
        import emulated_capture
        import emulated_cupy

        emulated_capture.install()
        emulated_cupy.install()
        NORM = Means
    settings.trace = ""  # tools that emulate a GPU keep loops eager
    some = WAYS[1:6] if NORM is Means else WAYS  # an emulated GPU takes its time
    for one in sys.argv[1:] or [w.__name__ for w in some]:
        check(one)
    print("equal")
