"""Whoever listens at the door sees the kernels that run when nobody does, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight._aten.names import shown_name
from rushlight.core.op import OPS
from rushlight.nn import functional as F
from rushlight.runtime import door
from rushlight.runtime.joins import Whole
from rushlight.runtime.thread import PARTS, WATCHED, here

pytestmark = pytest.mark.filterwarnings("ignore:cupti-python cannot be imported")


def _mlp(device: str) -> Callable[[], Any]:
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 3)).to(
        device
    )
    optimizer = rl.optim.Adam(net.parameters(), lr=0.01)
    x, y = rl.randn(5, 6, device=device), rl.tensor([0, 1, 2, 0, 1], device=device)

    def step() -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def _conv(device: str) -> Callable[[], Any]:
    net = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3), nn.LeakyReLU(0.1, inplace=True), nn.Flatten(), nn.Linear(16, 3),
    ).to(device)  # fmt: skip
    optimizer = rl.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    x, y = rl.randn(3, 2, 8, 8, device=device), rl.randn(3, 3, device=device)

    def step() -> Any:
        optimizer.zero_grad()
        out = net(x)
        loss = F.mse_loss(out, y) + out.view(-1).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def _in_place(device: str) -> Callable[[], Any]:
    x, y = rl.randn(4, 5, device=device), rl.randn(4, 5, device=device)

    def step() -> Any:
        with rl.no_grad():
            x.add_(y).sub_(y).relu_().mul_(2)
            return x.view(-1)[:3].sum()

    return step


STEPS = {"mlp": _mlp, "conv net": _conv, "in place": _in_place}


@contextmanager
def _told_by_bodies() -> Iterator[list[str]]:
    """The kernels that run, told by their own bodies: nobody listens at the door."""
    names: list[str] = []

    def telling(name: str, body: Callable) -> Callable:
        def call(*arrays: Any, **attrs: Any) -> Any:
            names.append(name)
            return body(*arrays, **attrs)

        return call

    before = [(k, dict(k.impls)) for k in door.KERNELS.values()]
    for kernel, bodies in before:
        kernel.impls.update({cls: telling(kernel.name, b) for cls, b in bodies.items()})
    try:
        yield names
    finally:
        for kernel, bodies in before:
            kernel.impls.update(bodies)


def _computing(names: list[str]) -> list[str]:
    """The kernels that compute something."""
    return [name for name in names if name != "copy_into"]


def _alike(step: Callable[[], Any]) -> None:
    for _ in range(3):
        step()  # kernels are bound, optimisers have their state
    with _told_by_bodies() as alone:
        assert not here.state & WATCHED
        step()
    seen: list[str] = []
    shown: list[str] = []

    def listen(kernel: Any, arrays: Any, attrs: Any, call: Callable[[], Any]) -> Any:
        seen.append(kernel.name)
        shown.append(shown_name(kernel.name, attrs))
        return call()

    with _told_by_bodies() as watched, door.listening(listen):
        step()
    # Where nobody listens C itself writes the result of a small in-place op where it belongs.
    assert _computing(seen) == _computing(alone)
    assert watched == seen
    with rl.profiler.profile() as p:
        step()
    counts = {name: shown.count(name) for name in shown}
    assert {r.key: r.count for r in p.key_averages() if not r.inside} == counts


@pytest.mark.parametrize("name", STEPS)
def test_a_listener_sees_what_runs_without_it(name: str, device: str) -> None:
    _alike(STEPS[name](device))


@pytest.mark.parametrize("name", ["mlp", "conv net"])
def test_also_where_a_device_joins_gradients(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU, which has kernels of its own that compute several gradients at once."""
    for op in OPS.values():
        if op.name in ("linear_grads", "linear_two_grads", "linear_all_grads", "conv_grads"):
            monkeypatch.setitem(op.whole, np.ndarray, Whole(True, recorded=False))
    _alike(STEPS[name]("cpu"))


def test_only_a_recorder_is_shown_the_parts() -> None:
    class Recorder:
        wants_parts = True

        def __call__(self, kernel: Any, arrays: Any, attrs: Any, call: Callable[[], Any]) -> Any:
            return call()

    plain = here.state
    with door.listening(lambda kernel, arrays, attrs, call: call()):
        assert here.state == plain | WATCHED
        with door.listening(Recorder()):
            assert here.state == plain | WATCHED | PARTS
        assert here.state == plain | WATCHED
    assert here.state == plain and here.listeners == ()


def test_numbers_are_the_same_while_somebody_listens(device: str) -> None:
    def train(watched: bool) -> list[float]:
        rl.manual_seed(3)
        step = _conv(device)
        losses = []
        for _ in range(4):
            if watched:
                with rl.profiler.profile():
                    losses.append(step().item())
            else:
                losses.append(step().item())
        return losses

    assert train(True) == train(False)


def test_equal_is_the_same_kernel_whether_somebody_looks_or_not() -> None:
    """A listener that does not want parts sees what runs when nobody listens."""
    seen: list[str] = []

    def listener(kernel, arrays, attrs, call):  # type: ignore[no-untyped-def]
        seen.append(kernel.name)
        return call()

    x = rl.arange(6.0)
    before = rl.tracing(False)
    try:
        with door.listening(listener):
            assert rl.equal(x, x.clone()) and not rl.equal(x, x + 1)
    finally:
        rl.tracing(before)
    assert "equal_everywhere" in seen and "eq" not in seen
