"""Programs in which Python looks at a pass while it goes on: hooks, derivatives of users, tables of an optimiser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import rushlight as rl
from attacks_on_loops.common import attack, data, mlp, see, train
from rushlight import nn, optim
from rushlight.nn import functional as F


def _steps(net: Any, opt: Any, broken: list[bool], forward: Callable[..., Any]) -> list[Any]:
    """A loop some of whose passes fail; the gradients there are afterwards."""
    log: list[Any] = []
    for i, (x, y) in enumerate(data(18)):
        broken[0] = i in (10, 14)
        opt.zero_grad()
        try:
            loss = F.cross_entropy(forward(x), y)
            loss.backward()
            opt.step()
            log.append(loss.item())
        except ValueError as error:
            log.append(str(error))
        log += [None if p.grad is None else p.grad.clone() for p in net.parameters()]
    return log


@attack
def hooks_that_raise() -> Any:
    """What other leaves have by then."""
    net, broken = mlp(), [False]
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.5)
    there: list[Any] = []

    def hook(g: Any) -> Any:
        there.append([p.grad is None for p in net.parameters()])
        if broken[0]:
            raise ValueError("in a hook")
        return g * 2

    net[0].weight.register_hook(hook)
    return _steps(net, opt, broken, net), there, see(net, opt)


@attack
def derivatives_that_raise_and_count() -> Any:
    calls, broken = [0], [False]

    class Own(rl.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            calls[0] += 1
            if broken[0]:
                raise ValueError("in a derivative")
            return g * (2 + calls[0] // 8)

    net = mlp()
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = _steps(net, opt, broken, lambda x: net[3](Own.apply(net[0](x))))
    return log, calls, see(net, opt)


@attack
def groups_that_change_places(net) -> Any:
    groups = [{"params": [p], "lr": 0.05 * (i + 1)} for i, p in enumerate(net.parameters())]
    opt = optim.SGD(groups, momentum=0.5)

    def change(i: int, where: str) -> None:
        g = opt.param_groups
        if where != "begin":
            return
        if i == 8:
            g.reverse()
        if i == 11:
            g[0]["params"], g[1]["params"] = g[1]["params"], g[0]["params"]
        if i == 14:
            g[0]["lr"], g[1]["lr"] = g[1]["lr"], g[0]["lr"]
        if i == 17:
            del g[2]

    return train(net, opt, [], change), see(net, opt)


@attack
def one_gradient_for_two() -> Any:
    net, more = mlp(), nn.Linear(6, 8)
    opt = optim.SGD(net.parameters(), lr=0.1)
    log: list[Any] = []
    for i, (x, y) in enumerate(data()):
        if i % 6 == 3:
            more.weight.grad = net[0].weight.grad
        if i % 6 == 5:
            more.weight.grad = None
        loss = F.cross_entropy(net[3](net[0](x) + more(x)), y)
        loss.backward()
        opt.step()
        log += [loss.item(), net[0].weight.grad.clone(), more.weight.grad.clone()]
    return log, see(net, opt)
