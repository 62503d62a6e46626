"""Memory of compiled functions: a recorded call needs what an eager one does, and programs say what they need."""

from __future__ import annotations

import functools
import gc
import weakref

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn
from rushlight.capture.record.recorder import Recorder
from rushlight.core.memory import root_array
from rushlight.runtime.door import KERNELS, Kernel, listening, run


class Attention(nn.Module):
    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm(x)).split(c, dim=2)
        q, k, v = [a.view(b, t, self.heads, -1).transpose(1, 2) for a in (q, k, v)]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(x)


def mlp():
    net = nn.Sequential(
        *[m for _ in range(6) for m in (nn.Linear(128, 128), nn.ReLU())], nn.Linear(128, 10)
    )
    return net, torch.randn(1024, 128), torch.randint(0, 10, (1024,))


def conv():
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2048, 10),
    )  # fmt: skip
    return net, torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))


def transformer():
    net = nn.Sequential(nn.Embedding(300, 64), *[Attention() for _ in range(3)], nn.Linear(64, 300))
    x = torch.randint(0, 300, (8, 48))
    return net, x, torch.randint(0, 300, (8, 48))


NETWORKS = {"mlp": mlp, "conv": conv, "transformer": transformer}


def training(net, opt):
    def step(x, y):
        opt.zero_grad()
        out = net(x)
        loss = F.cross_entropy(out.reshape(-1, out.shape[-1]), y.reshape(-1))
        loss.backward()
        opt.step()
        return loss

    return step


class Meter:
    """A listener at the door that follows the memory kernels make, and its peak."""

    def __init__(self):
        self.now = self.peak = 0
        self.roots = {}

    def __call__(self, kernel, arrays, attrs, call):
        known = {id(root_array(a)) for a in arrays if isinstance(a, np.ndarray)}
        out = call()
        for o in out if isinstance(out, (tuple, list)) else (out,):
            root = root_array(o)
            if isinstance(root, np.ndarray) and id(root) not in known | self.roots.keys():
                self.roots[id(root)] = weakref.ref(
                    root, functools.partial(self.gone, id(root), root.nbytes)
                )
                self.now += root.nbytes
                self.peak = max(self.peak, self.now)
        return out

    def gone(self, key, nbytes, _):
        del self.roots[key]
        self.now -= nbytes


def peak_of(call):
    """The most bytes alive at once of those that kernels made during a call."""
    gc.collect()
    meter = Meter()
    with listening(meter):
        call()
    return meter.peak


@pytest.mark.parametrize("name", NETWORKS)
def test_a_recorded_call_needs_the_memory_of_an_eager_one(name):
    torch.manual_seed(0)
    net, x, y = NETWORKS[name]()
    step = training(net, torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9))
    for _ in range(3):  # the optimiser's state is there, and kernels have chosen their way
        step(x, y)
    eager = peak_of(lambda: step(x, y))
    compiled = torch.compile(step)
    recorded = peak_of(lambda: compiled(x, y))
    assert not compiled.replays
    assert recorded <= 1.2 * eager, (recorded, eager)
