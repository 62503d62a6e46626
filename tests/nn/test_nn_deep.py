"""Modules nested deeper than Python's stack: everything that walks over them still does."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as rl
from rushlight import nn

DEEP = 2000  # Python stops at 1000 frames


def nested(depth: int, lib: Any = rl) -> Any:
    module = lib.nn.Linear(1, 1)
    for _ in range(depth):
        module = lib.nn.Sequential(module)
    return module


def test_what_runs_forward_can_be_printed_as_pytorch_does() -> None:
    torch = pytest.importorskip("torch")
    net = nested(300)
    assert net(rl.ones(1, 1)).shape == (1, 1)
    assert repr(net) == repr(nested(300, torch))


def test_every_walk_reaches_the_bottom() -> None:
    net = nested(DEEP)
    path = ".".join(["0"] * DEEP)
    assert len(list(net.modules())) == DEEP + 1
    assert [name for name, _ in net.named_parameters()] == [f"{path}.weight", f"{path}.bias"]
    assert list(net.state_dict()) == [f"{path}.weight", f"{path}.bias"]
    seen = []
    net.apply(seen.append)
    assert isinstance(seen[0], nn.Linear) and seen[-1] is net and len(seen) == DEEP + 1
    bottom = net.get_submodule(path)
    assert net.eval() is net and not bottom.training
    net.double().requires_grad_(False).zero_grad()
    assert bottom.weight.dtype == rl.float64 and not bottom.weight.requires_grad
    net.load_state_dict({f"{path}.weight": rl.full((1, 1), 7.0), f"{path}.bias": rl.zeros(1)})
    assert bottom.weight.item() == 7.0
    assert repr(net).count("Sequential") == DEEP


def test_a_module_with_a_walk_of_its_own_keeps_it() -> None:
    calls = []

    class Own(nn.Sequential):
        def train(self, mode: bool = True) -> Any:
            calls.append(("train", mode))
            return super().train(mode)

        def _apply(self, fn: Any, recurse: bool = True) -> Any:
            calls.append(("_apply", recurse))
            return super()._apply(fn, recurse)

        def state_dict(self, *args: Any, **kwargs: Any) -> Any:
            calls.append(("state_dict", kwargs["prefix"]))
            return super().state_dict(*args, **kwargs)

        def __repr__(self) -> str:
            return "Own(\n)"

    net = nn.Sequential(nn.Sequential(Own(nn.Linear(1, 1))))
    net.eval()
    net.double()
    assert list(net.state_dict()) == ["0.0.0.weight", "0.0.0.bias"]
    assert calls == [("train", False), ("_apply", True), ("state_dict", "0.0.")]
    assert not net[0][0][0].training and net[0][0][0].weight.dtype == rl.float64
    assert repr(net) == "Sequential(\n  (0): Sequential(\n    (0): Own(\n    )\n  )\n)"


def test_a_module_inside_itself_is_an_error_and_no_endless_walk() -> None:
    net = nn.Module()
    net.inner = nn.Module()
    net.inner.back = net
    assert len(list(net.modules())) == 2
    for walk in (repr, nn.Module.train, nn.Module.double):
        with pytest.raises(RecursionError):
            walk(net)
