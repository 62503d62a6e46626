"""CPU programs that another thread begins with leave what eager calls leave; run by test_loops_ahead.py."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rushlight as rl
from rushlight import nn, optim
from rushlight.capture.loops import ahead_on_host
from rushlight.core import hot

sys.path.insert(0, str(Path(__file__).parents[1] / "emulated"))
from ways_inside import EVERYWHERE, another_way, keep, nothing, two_ways

ROUNDS = 24


class Net(nn.Module):
    """Convolutions and linear layers; `middle` is called in the midst of its forward."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(4, 6, 3)
        self.c, self.d = nn.Linear(6 * 9, 16), nn.Linear(16, 5)
        self.norm, self.means = nn.LayerNorm(16), nn.BatchNorm2d(4)
        self.middle: Callable[[Any], Any] = lambda h: h
        self.told: list[Any] = []

    def forward(self, x: Any) -> Any:
        h = nn.functional.max_pool2d(self.means(self.a(x)).relu(), 2)
        h = self.middle(self.b(h).tanh())
        return self.d(self.norm(nn.functional.gelu(self.c(h.flatten(1)))))


def look(net: Net, h: Any, i: int, x: Any) -> Any:
    if i % 5 == 4:
        net.told.append(h.detach().numpy().copy())
    return h


def write_weights(net: Net, h: Any, i: int, x: Any) -> Any:
    if i % 6 == 5:
        with rl.no_grad():
            net.c.weight.mul_(0.5)
    return h


def write_the_batch(net: Net, h: Any, i: int, x: Any) -> Any:
    if i % 6 == 5:
        x.mul_(0.25)
    return h


def write_by_numpy(net: Net, h: Any, i: int, x: Any) -> Any:
    if i > 8 and i % 6 == 5:
        net.d.weight.detach().numpy()[0] *= 0.5
    return h


def fork(net: Net, h: Any, i: int, x: Any) -> Any:
    if i % 6 == 5:
        child = os.fork()
        if child == 0:
            os._exit(0 if net.d(net.norm(net.c(h.flatten(1)))).isfinite().all() else 1)
        assert os.waitpid(child, 0)[1] == 0
    return h


def fewer_threads(net: Net, h: Any, i: int, x: Any) -> Any:
    if i % 6 == 5:
        rl.set_num_threads(1 if rl.get_num_threads() == 2 else 2)
    return h


WAYS = (*EVERYWHERE, look, write_weights, write_the_batch, write_by_numpy, fork, fewer_threads)
BEGUN = (nothing, another_way, two_ways, keep)  # others are let alone after a few misses
# where gradients are set to None, and whether somebody keeps them
STYLES = ("first", "late", "behind", "kept", "zeros", "added")


def gradients_before(style: str, opt: Any, i: int) -> None:
    if style in ("first", "kept"):
        opt.zero_grad()
    elif style == "zeros" or (style == "added" and i % 2 == 0):
        opt.zero_grad(set_to_none=False)


def iteration(net: Net, opt: Any, batch: tuple[Any, Any], style: str, i: int) -> float:
    gradients_before(style, opt, i)
    outputs = net(batch[0])
    loss = nn.functional.cross_entropy(outputs, batch[1])
    if style == "late":
        opt.zero_grad()
    loss.backward()
    opt.step()
    if style == "kept" and i % 3 == 1:
        net.told.append(net.a.weight.grad)
    if style == "behind":
        opt.zero_grad()
    return loss.item()


def told(way: Callable[..., Any], style: str, traced: bool) -> tuple[list[Any], int]:
    """All that can be seen of a loop, and how often another thread began with its program."""
    rl.set_num_threads(2)
    rl.manual_seed(0)
    net = Net()
    opt = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    data = [(rl.randn(3, 2, 10, 10), rl.randint(0, 5, (3,))) for _ in range(5)]
    starts, start = [0], ahead_on_host.OnHost.start

    def counted(self: Any, *args: Any) -> None:
        start(self, *args)
        starts[0] += self.started
        self.misses = 0  # start again, however often that was in vain

    ahead_on_host.OnHost.start = counted  # type: ignore[method-assign]
    hot.meeting.barred, hot.meeting.timed = None, False  # replayed, whether that pays or not
    rl.tracing(traced)
    out: list[Any] = []
    for i in range(ROUNDS):
        x, y = data[i % 5]
        x = x.clone()
        net.middle = lambda h, i=i, x=x: way(net, h, i, x)
        try:
            out.append(iteration(net, opt, (x, y), style, i))
        except (KeyError, RuntimeError) as error:
            out.append(repr(error))
    rl.tracing(False)
    ahead_on_host.OnHost.start = start  # type: ignore[method-assign]
    out += [t.tolist() if hasattr(t, "tolist") else t for t in net.told]
    out += [t.tolist() for t in net.state_dict().values()]
    out += [p.grad.tolist() if p.grad is not None else None for p in net.parameters()]
    return out, starts[0]


def check(way: Callable[..., Any], style: str) -> int:
    """One way, eager and traced; how often another thread began."""
    eager, _ = told(way, style, False)
    traced, starts = told(way, style, True)
    assert repr(eager) == repr(traced), (
        way.__name__,
        style,
        [(i, a, b) for i, (a, b) in enumerate(zip(eager, traced)) if repr(a) != repr(b)][:2],
    )
    return starts


if __name__ == "__main__":
    np.seterr(all="ignore")
    names = sys.argv[1:] or [w.__name__ for w in WAYS]
    for one in [w for w in WAYS if w.__name__ in names]:
        begun = {style: check(one, style) for style in STYLES}
        print(one.__name__, begun)
        assert begun["first"] >= 2 or one not in BEGUN, (one.__name__, begun)
    print("equal")
