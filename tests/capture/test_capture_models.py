"""Whole training steps, compiled: networks and habits that real scripts have, step by step as eager."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn

STEPS = 7


class Task:
    """A model, its optimiser and one step; subclasses say which."""

    least = 3  # steps of the seven that are replays

    def __init__(self):
        torch.manual_seed(0)
        self.build()
        self.extra = []

    def build(self):
        self.model = nn.Linear(4, 3)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)

    def batch(self, i):
        return torch.randn(6, 4), torch.randint(0, 3, (6,))

    def step(self, x, y):
        self.opt.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        self.opt.step()
        return loss

    def between(self, i):
        pass

    def state(self):
        return list(self.model.state_dict().values())


class Clipped(Task):
    def step(self, x, y):
        self.opt.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), 0.1)
        self.opt.step()
        return loss, norm


class ClippedByValue(Task):
    def step(self, x, y):
        self.opt.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        nn.utils.clip_grad_value_(self.model.parameters(), 0.05)
        self.opt.step()
        return loss


class Convolutional(Task):
    def build(self):
        self.model = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(4, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Dropout(0.2), nn.Linear(8, 3),
        )  # fmt: skip
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-2)

    def batch(self, i):
        return torch.randn(5, 1, 8, 8), torch.randint(0, 3, (5,))


class Recurrent(Task):
    def build(self):
        self.embed = nn.Embedding(11, 6)
        self.rnn = nn.LSTM(6, 5, num_layers=2, batch_first=True)
        self.head = nn.Linear(5, 11)
        self.model = nn.ModuleList([self.embed, self.rnn, self.head])
        self.opt = torch.optim.Adam(self.model.parameters(), lr=1e-2)

    def batch(self, i):
        return torch.randint(0, 11, (3, 7)), torch.randint(0, 11, (3, 7))

    def step(self, x, y):
        self.opt.zero_grad()
        h, _ = self.rnn(self.embed(x))
        loss = F.cross_entropy(self.head(h).reshape(-1, 11), y.reshape(-1))
        loss.backward()
        self.opt.step()
        return loss


class Attention(Task):
    def build(self):
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
        self.model = nn.Sequential(nn.TransformerEncoder(layer, 2), nn.Linear(8, 3))
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def batch(self, i):
        return torch.randn(3, 5, 8), torch.randint(0, 3, (3,))

    def step(self, x, y):
        self.opt.zero_grad()
        loss = F.cross_entropy(self.model(x).mean(1), y)
        loss.backward()
        self.opt.step()
        return loss


class Accumulating(Task):
    """Gradients of several calls before one step outside."""

    def step(self, x, y):
        loss = F.cross_entropy(self.model(x), y) / 3
        loss.backward()
        return loss

    def between(self, i):
        if i and i % 3 == 0:
            self.opt.step()
            self.opt.zero_grad()


class Averaged(Task):
    """An exponential moving average of the weights, kept inside the step."""

    def build(self):
        super().build()
        self.average = copy.deepcopy(self.model).requires_grad_(False)

    def step(self, x, y):
        loss = super().step(x, y)
        with torch.no_grad():
            for a, p in zip(self.average.parameters(), self.model.parameters()):
                a.mul_(0.9).add_(p, alpha=0.1)
        return loss

    def state(self):
        return super().state() + list(self.average.parameters())


class Cycled(Task):
    """A scheduler that moves both the learning rate and the momentum."""

    def build(self):
        super().build()
        self.plan = torch.optim.lr_scheduler.OneCycleLR(self.opt, max_lr=0.2, total_steps=STEPS + 2)

    def between(self, i):
        if i:
            self.plan.step()


class Penalised(Task):
    def step(self, x, y):
        self.opt.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        for p in self.model.parameters():
            loss = loss + 1e-2 * p.pow(2).sum()
        loss.backward()
        self.opt.step()
        return loss


class GradientPenalty(Task):
    """A derivative inside the loss: a backward through a backward."""

    def step(self, x, y):
        self.opt.zero_grad()
        x = x.detach().requires_grad_()
        out = self.model(x).tanh().sum()
        (g,) = torch.autograd.grad(out, x, create_graph=True)
        loss = (g.norm(2, dim=1) - 1).pow(2).mean()
        loss.backward()
        self.opt.step()
        return loss


class TwoGroups(Task):
    def build(self):
        self.model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))
        self.opt = torch.optim.AdamW(
            [
                {"params": [p for p in self.model.parameters() if p.ndim > 1]},
                {"params": [p for p in self.model.parameters() if p.ndim == 1], "weight_decay": 0},
            ],
            lr=1e-2,
        )


class LowPrecision(Task):
    def step(self, x, y):
        self.opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        self.opt.step()
        return loss


class Parametrised(Task):
    def build(self):
        self.model = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 5)), nn.Tanh(), nn.Linear(5, 3))
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.05)


class Hooked(Task):
    """Hooks that compute are part of the program."""

    def build(self):
        super().build()
        self.model.register_forward_hook(lambda m, a, out: out * 0.5)
        self.model.weight.register_hook(lambda g: g.clamp(-0.01, 0.01))


class Reported(Task):
    """Accuracy beside the loss, both as numbers."""

    def step(self, x, y):
        self.opt.zero_grad()
        out = self.model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        self.opt.step()
        right = (out.argmax(1) == y).sum()
        return loss.item(), right.item(), {"loss": loss, "right": right}


class Frozen(Task):
    """Evaluation: no gradients, no training."""

    def build(self):
        super().build()
        self.model.eval()

    def step(self, x, y):
        with torch.no_grad():
            return self.model(x).softmax(1), self.model(x).argmax(1)


class CustomFunction(Task):
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 2 + x * 0

    def step(self, x, y):
        self.opt.zero_grad()
        loss = F.cross_entropy(self.Doubled.apply(self.model(x)), y)
        loss.backward()
        self.opt.step()
        return loss


TASKS = [
    Task, Clipped, ClippedByValue, Convolutional, Recurrent, Attention, Accumulating,
    Averaged, Cycled, Penalised, GradientPenalty, TwoGroups, LowPrecision, Parametrised, Hooked,
    Reported, Frozen, CustomFunction,
]  # fmt: skip


def compare(a, b):
    if isinstance(a, torch.Tensor):
        x, y = a.detach().float().numpy(), b.detach().float().numpy()
        np.testing.assert_allclose(y, x, rtol=2e-5, atol=1e-6)
    elif isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            compare(x, y)
    elif isinstance(a, dict):
        compare(list(a.values()), list(b.values()))
    elif isinstance(a, float):
        assert a == pytest.approx(b, rel=2e-5)
    else:
        assert a == b


@pytest.mark.parametrize("kind", TASKS, ids=[t.__name__ for t in TASKS])
def test_task(kind):
    eager, other = kind(), kind()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled = torch.compile(other.step)
        for i in range(STEPS):
            eager.between(i)
            other.between(i)
            torch.manual_seed(100 + i)
            batch = eager.batch(i)
            state = torch.get_rng_state()
            expected = eager.step(*batch)
            after = torch.get_rng_state()
            torch.set_rng_state(state)
            compare(expected, compiled(*batch))
            compare(after, torch.get_rng_state())
            compare(eager.state(), other.state())
            for p, q in zip(eager.model.parameters(), other.model.parameters()):
                assert (p.grad is None) == (q.grad is None)
                if p.grad is not None:
                    compare(p.grad, q.grad)
    assert compiled.replays, compiled.why()
    assert sum(r.runs for r in compiled.replays) >= kind.least
