"""GradScaler inside a compiled step: the loss scale and the skipped steps are data of the program."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn


class Side:
    """A scaled training step with everything that it changes."""

    def __init__(self, optimizer, device="cpu", clip=False, **scaling):
        torch.manual_seed(7)
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).to(device)
        self.opt = optimizer(self.net.parameters())
        options = {"init_scale": 2.0**10, "growth_interval": 3} | scaling
        self.scaler = torch.amp.GradScaler(device, **options)
        self.clip = clip

    def step(self, x, y):
        self.opt.zero_grad()
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.scaler.scale(loss).backward()
        if self.clip:
            self.scaler.unscale_(self.opt)
            nn.utils.clip_grad_norm_(self.net.parameters(), 0.1)
        self.scaler.step(self.opt)
        self.scaler.update()
        return loss

    def values(self):
        found = [p.detach().cpu().numpy().copy() for p in self.net.parameters()]
        found += [p.grad.cpu().numpy().copy() for p in self.net.parameters()]
        for state in self.opt.state.values():
            found += [v.cpu().numpy().copy() for v in state.values() if v is not None]
        return [*found, np.float64(self.scaler.get_scale()), self.scaler._get_growth_tracker()]


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.1),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-2),
    "nadam": lambda p: torch.optim.NAdam(p, lr=1e-2),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=1e-2, momentum=0.5),
}


def compare(optimizer, bad=(), calls=14, between=None, device="cpu", **options):
    """Both sides over the same batches; those numbered in `bad` have an inf in them."""
    eager, other = (Side(optimizer, device, **options) for _ in range(2))
    compiled = torch.compile(other.step, fullgraph=True)
    exact = device == "cpu"
    for i in range(calls):
        x, y = torch.randn(5, 4), torch.randint(0, 3, (5,))
        if i in bad:
            x[0, 0] = float("inf")
        if between is not None:
            between(eager, i)
            between(other, i)
        expected = eager.step(x.to(device), y.to(device))
        got = compiled(x.to(device), y.to(device))
        np.testing.assert_allclose(got.item(), expected.item(), rtol=0 if exact else 1e-5)
        for a, b in zip(eager.values(), other.values(), strict=True):
            np.testing.assert_allclose(b, a, rtol=0 if exact else 1e-4, atol=0 if exact else 1e-6)
        assert eager.opt._step_count == other.opt._step_count or not exact
    return compiled


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_equals_eager_with_overflowing_steps(name, device):
    compiled = compare(OPTIMIZERS[name], bad=(0, 2, 7, 8, 11), device=device)
    assert compiled.replays[-1].runs >= 5


def test_unscale_and_clipping_inside():
    compiled = compare(OPTIMIZERS["adam"], bad=(9,), clip=True)
    assert compiled.replays[-1].runs >= 5


def test_a_changed_factor_is_seen():
    def between(side, i):
        if i == 8:
            side.scaler.set_growth_factor(4.0)
            side.scaler.set_growth_interval(1)
        if i == 11:
            side.scaler.load_state_dict({**side.scaler.state_dict(), "scale": 32.0})

    assert compare(OPTIMIZERS["momentum"], bad=(10,), between=between, calls=18).replays


def test_first_steps_that_overflow_are_not_recorded():
    compiled = compare(OPTIMIZERS["momentum"], bad=range(7))
    assert compiled.replays[-1].runs >= 2


def test_disabled_scaler_changes_nothing():
    assert compare(OPTIMIZERS["sgd"], enabled=False).replays
