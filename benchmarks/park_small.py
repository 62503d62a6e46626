"""The park's small and odd ones: a graph network of index_add, a CNN under an orthogonalising optimiser."""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn


class GraphLayer(nn.Module):
    """A sum over neighbours, each divided by the roots of both degrees, then a linear layer."""

    def __init__(self, into, out) -> None:
        super().__init__()
        self.linear = nn.Linear(into, out)

    def forward(self, x, src, dst, degree):
        x = self.linear(x)
        root = degree.sqrt().unsqueeze(1)
        message = x[src] / degree[src].sqrt().unsqueeze(1)
        return torch.zeros_like(x).index_add(0, dst, message) / root + x


class GraphNet(nn.Module):
    def __init__(self, features, width, classes, layers) -> None:
        super().__init__()
        sizes = [features, *[width] * (layers - 1), classes]
        self.layers = nn.ModuleList([GraphLayer(a, b) for a, b in pairwise(sizes)])

    def forward(self, x, src, dst, degree):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x, src, dst, degree))
        return self.layers[-1](x, src, dst, degree)


def small_cnn(width, classes=10):
    layers, into = [], 3
    for out in (width, 2 * width, 4 * width):
        layers += [nn.Conv2d(into, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.GELU(),
                   nn.Conv2d(out, out, 3, padding=1, bias=False), nn.BatchNorm2d(out), nn.GELU(),
                   nn.MaxPool2d(2)]  # fmt: skip
        into = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(into, classes, bias=False))


@torch.no_grad()
def orthogonal(g, steps):
    """The nearest matrix with orthogonal rows or columns, by Newton-Schulz iterations of degree five."""
    x = g / (g.norm() + 1e-7)
    turned = x.size(0) > x.size(1)
    if turned:
        x = x.T
    for _ in range(steps):
        a = x @ x.T
        x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
    return x.T if turned else x


class Orthogonalising(torch.optim.Optimizer):
    """Momentum whose matrices are made orthogonal before each update."""

    def __init__(self, params, lr=0.02, momentum=0.9, steps=3) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "steps": steps})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "buffer" not in state:
                    state["buffer"] = torch.zeros_like(p.grad)
                buffer = state["buffer"]
                buffer.mul_(group["momentum"]).add_(p.grad)
                g = p.grad.add(buffer, alpha=group["momentum"])
                if g.dim() > 1:
                    g = orthogonal(g.reshape(len(g), -1).float(), group["steps"]).view(g.shape)
                p.data.mul_(len(p.data) ** 0.5 / p.data.norm() if p.dim() > 1 else 1.0)
                p.data.add_(g.to(p.dtype), alpha=-group["lr"])
