"""Whole training steps on the GPU give the CPU's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn

pytestmark = pytest.mark.skipif(not rl.cuda.is_available(), reason="no GPU")
F = nn.functional


class Lab(nn.Module):
    """The network of the CIFAR-10 lab."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x: Any) -> Any:
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = F.relu(self.fc1(rl.flatten(x, 1)))
        return self.fc3(F.relu(self.fc2(x)))


def train(device: str, make: Any, optimizer: Any, steps: int = 4) -> tuple[list, list]:
    rl.manual_seed(0)
    net = make().to(device)
    opt = optimizer(net.parameters())
    rng = np.random.RandomState(0)
    losses = []
    for _ in range(steps):
        x = rl.from_numpy(rng.randn(4, 3, 32, 32).astype("float32")).to(device)
        y = rl.from_numpy(rng.randint(0, 10, 4)).to(device)
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, [p.detach().cpu().numpy() for p in net.parameters()]


OPTIMIZERS = {
    "sgd": lambda p: rl.optim.SGD(p, lr=0.01, momentum=0.9),
    "adam": lambda p: rl.optim.Adam(p, lr=1e-3),
    "adamw": lambda p: rl.optim.AdamW(p, lr=1e-3, amsgrad=True),
    "rmsprop": lambda p: rl.optim.RMSprop(p, lr=1e-3),
}


@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_the_lab_network(name: str) -> None:
    want_losses, want = train("cpu", Lab, OPTIMIZERS[name])
    got_losses, got = train("cuda", Lab, OPTIMIZERS[name])
    np.testing.assert_allclose(got_losses, want_losses, rtol=2e-3)
    for g, w in zip(got, want):
        np.testing.assert_allclose(g, w, rtol=1e-2, atol=2e-3)


def test_a_normalised_network() -> None:
    def make() -> Any:
        return nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GELU(), nn.AvgPool2d(4),
            nn.Flatten(), nn.Linear(512, 32), nn.LayerNorm(32), nn.SiLU(), nn.Linear(32, 10),
        )  # fmt: skip

    want, _ = train("cpu", make, OPTIMIZERS["sgd"])
    got, _ = train("cuda", make, OPTIMIZERS["sgd"])
    np.testing.assert_allclose(got, want, rtol=5e-3)


def test_mixed_precision_training_learns() -> None:
    rl.manual_seed(0)
    net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1)).cuda()
    opt = rl.optim.Adam(net.parameters(), lr=1e-2)
    scaler = rl.amp.GradScaler("cuda")
    x = rl.randn(256, 10, device="cuda")
    y = x.sum(1, keepdim=True)
    first = last = 0.0
    for i in range(60):
        opt.zero_grad()
        with rl.autocast("cuda", dtype=rl.float16):
            loss = F.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        last = loss.item()
        first = first or last
    assert last < first / 5


def test_second_derivatives() -> None:
    x = rl.randn(5, device="cuda", dtype=rl.float64, requires_grad=True)
    rl.autograd.gradgradcheck(lambda t: (t.tanh() * t.exp()).sum(), (x,))
