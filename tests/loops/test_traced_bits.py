"""Loops of networks of many kinds, eager beside traced: every bit is the same, on each device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn, optim
from rushlight.capture.loops import tracer
from rushlight.capture.loops.path import PathOfStretch
from rushlight.nn import functional as F
from traced import both

NETWORKS: dict[str, Callable[[], tuple[nn.Module, tuple[int, ...], int]]] = {}


def network(make: Callable[[], Any]) -> Callable[[], Any]:
    """A module that gives logits, the shape of its batches, and the number of classes."""
    NETWORKS[make.__name__] = make
    return make


@network
def lab() -> Any:
    body = nn.Sequential(
        nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    return body, (4, 3, 32, 32), 10


@network
def batch_norms() -> Any:
    body = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip
    return body, (8, 3, 16, 16), 10


@network
def group_norms() -> Any:
    body = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU(), nn.Conv2d(16, 16, 1), nn.GELU(),
        nn.AvgPool2d(2), nn.Flatten(), nn.Dropout(0.2), nn.Linear(16 * 64, 10), nn.LogSoftmax(1),
    )  # fmt: skip
    return body, (8, 3, 16, 16), 10


@network
def wide_layers() -> Any:
    body = nn.Sequential(
        nn.Linear(784, 1000), nn.ReLU(), nn.Linear(1000, 256), nn.Tanh(), nn.Dropout(0.5), nn.Linear(256, 10)
    )
    return body, (100, 784), 10


class Block(nn.Module):
    """A layer of a transformer, written out."""

    def __init__(self, size: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.heads, self.size = heads, size
        self.ln1, self.ln2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
        self.head = nn.Linear(size, 10)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        b, n, c = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, c)
        x = x + self.out(y)
        x = x + self.down(F.gelu(self.up(self.ln2(x))))
        return self.head(x.mean(1) * 0.7 + 0.1)


@network
def transformer() -> Any:
    return Block(), (4, 16, 64), 10


class Half(nn.Module):
    """A network under autocast."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        with rl.autocast(x.device.type, dtype=rl.bfloat16):
            return self.inner(x)


@network
def transformer_in_bfloat16() -> Any:
    return Half(Block()), (4, 16, 64), 10


class Gates(nn.Module):
    """Pointwise steps in a row, and a recurrence written out."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.out = nn.Linear(8, 32), nn.Linear(16, 32), nn.Linear(16, 10)

    def forward(self, x: rl.Tensor) -> rl.Tensor:
        h = x.new_zeros(x.shape[0], 16)
        for i in range(4):
            z, c = (self.a(x[:, i]) + self.b(h)).chunk(2, 1)
            z = rl.sigmoid(z)
            h = rl.addcmul(h * z, 1 - z, rl.tanh(c) * 1.25, value=1.0) / (1 + 0.3 * c.abs())
        return self.out(rl.lerp(h, h * h, 0.3))


@network
def gates() -> Any:
    return Gates(), (8, 4, 8), 10


@network
def halves_that_gate() -> Any:
    body = nn.Sequential(nn.Conv1d(4, 16, 3), nn.GLU(1), nn.Flatten(), nn.Linear(48, 64), nn.GLU(), nn.Linear(32, 10))
    return body, (8, 4, 8), 10


@network
def halves_that_gate_in_bfloat16() -> Any:
    return Half(halves_that_gate()[0]), (8, 4, 8), 10


OPTIMISERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-4),
    "adamw": lambda p: optim.AdamW(p, lr=1e-3),
}


@pytest.mark.parametrize("rule", OPTIMISERS)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_traced_loop_has_the_bits_of_an_eager_one(name: str, rule: str, device: str) -> None:
    train(name, rule, device)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_same_without_kernels_that_have_to_be_compiled(
    name: str, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a script that has not asked."""
    if device == "cpu":
        pytest.skip("the CPU's engine needs no compiler")
    monkeypatch.setattr(tracer, "PathOfStretch", lambda *given: PathOfStretch(*given[:3], False))
    train(name, "sgd", device)


def train(name: str, rule: str, device: str) -> None:
    def program() -> Any:
        net, shape, classes = NETWORKS[name]()
        net = net.to(device)
        opt = OPTIMISERS[rule](net.parameters())
        draw = np.random.default_rng(0)
        log = []
        for i in range(12):
            x = rl.tensor(draw.standard_normal(shape).astype("f4")).to(device)
            y = rl.tensor(draw.integers(0, classes, shape[0])).to(device)
            opt.zero_grad()
            loss = F.cross_entropy(net(x).float(), y)
            loss.backward()
            if i % 2:
                nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            log.append(loss.item())
        return log, [p.detach().clone() for p in net.parameters()], list(net.buffers())

    both(program, exact=True)


def test_powers(device: str) -> None:
    """Some exponents have kernels of their own."""

    def program() -> Any:
        x, log = rl.linspace(0.1, 3.0, 50).to(device), []
        for i in range(14):
            y = x * (1 + 0.1 * (i % 3))
            for power in (2, 3, 0.5, -1, -2, 2.5):
                y = (y**power * 0.5 + 0.7).nan_to_num(0.3).abs() + 0.2
            log.append(y.sum().item())
            x = y * 0.9
        return log, x

    both(program, exact=True, replays=0)


def test_a_batch_that_is_refused_is_counted(device: str) -> None:
    norm = nn.BatchNorm1d(4).to(device)
    for _ in range(2):
        with pytest.raises(ValueError, match="more than 1 value per channel"):
            norm(rl.randn(1, 4).to(device))
    assert norm.num_batches_tracked.item() == 2
