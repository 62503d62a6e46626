"""What the programs are made of: small networks, data, and what can be seen of a network and an optimiser."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import rushlight as rl
from rushlight import nn, optim
from rushlight.nn import functional as F

ATTACKS: dict[str, Callable[[], Any]] = {}
N = 24


def attack(program: Callable[..., Any]) -> Callable[..., Any]:
    """A program whose answer is all that can be seen of it; it is given the network, optimiser and log that it names."""
    names = list(inspect.signature(program).parameters)

    def run() -> Any:
        given: dict[str, Any] = {"net": mlp(), "log": []} if names else {}
        if "opt" in names:
            given["opt"] = optim.SGD(given["net"].parameters(), lr=0.1)
        answer = program(**{name: given[name] for name in names})
        return answer if answer is not None else (given["log"], see(given["net"], given["opt"]))

    ATTACKS[program.__name__] = run
    return program


def mlp(p: float = 0.0, bn: bool = False) -> nn.Sequential:
    norm = [nn.BatchNorm1d(8)] if bn else []
    return nn.Sequential(nn.Linear(6, 8), *norm, nn.ReLU(), nn.Dropout(p), nn.Linear(8, 3))


def data(n: int = N, size: int = 4, seed: int = 0) -> list[tuple[rl.Tensor, rl.Tensor]]:
    r = np.random.default_rng(seed)
    return [(rl.tensor(r.standard_normal((size, 6)).astype("f4")), rl.tensor(r.integers(0, 3, size))) for _ in range(n)]


def see(net: nn.Module, opt: Any = None) -> list[Any]:
    """Copies of parameters, gradients, buffers and states; versions."""
    out: list[Any] = [p.detach().clone() for p in net.parameters()]
    out += [None if p.grad is None else p.grad.clone() for p in net.parameters()]
    out += [p._version for p in net.parameters()]
    out += [b.clone() for b in net.buffers()]
    if opt is not None:
        for state in opt.state.values():
            out.append({k: v.clone() if isinstance(v, rl.Tensor) else v for k, v in state.items()})
    return out


def train(net: Any, opt: Any, log: list[Any], change: Any = None, n: int = N, ds: Any = None) -> list[Any]:
    """A plain loop; `change` is told where an iteration has come to."""
    for i, (x, y) in enumerate(ds or data(n)):
        if change:
            change(i, "begin")
        opt.zero_grad()
        out = net(x)
        if change:
            change(i, "forward")
        loss = F.cross_entropy(out, y)
        loss.backward()
        if change:
            change(i, "backward")
        opt.step()
        if change:
            change(i, "step")
        log.append(loss.item())
    return log


def descend(opt: Any, loss: Any, log: list[Any] | None = None) -> None:
    opt.zero_grad()
    loss.backward()
    opt.step()
    if log is not None:
        log.append(loss.item())


def learn(opt: Any, out: Any, y: Any, log: list[Any] | None = None) -> Any:
    """The second half of a step."""
    loss = F.cross_entropy(out, y)
    loss.backward()
    opt.step()
    if log is not None:
        log.append(loss.item())
    return loss


def step(net: Any, opt: Any, x: Any, y: Any, log: list[Any] | None = None, loss_of: Any = F.cross_entropy) -> Any:
    opt.zero_grad()
    loss = loss_of(net(x), y)
    loss.backward()
    opt.step()
    if log is not None:
        log.append(loss.item())
    return loss


def each(n: int, change: Callable[..., Any]) -> tuple[Any, ...]:
    """A plain loop; `change` gets what an iteration has just made, and may give something else."""
    net = mlp()
    opt = optim.SGD(net.parameters(), lr=0.1)
    log: list[Any] = []
    kept: list[Any] = []
    for i, (x, y) in enumerate(data(n)):
        opt.zero_grad()
        h = change(i, "hidden", net[0](x), net, opt, log, kept)
        out = change(i, "out", net[3](net[1](h)), net, opt, log, kept)
        loss = F.cross_entropy(out, y)
        loss.backward()
        change(i, "grads", loss, net, opt, log, kept)
        opt.step()
        change(i, "stepped", loss, net, opt, log, kept)
        log.append(loss.item())
    seen = [k.detach().clone() if isinstance(k, rl.Tensor) else k for k in kept]
    return log, seen, see(net, opt)
