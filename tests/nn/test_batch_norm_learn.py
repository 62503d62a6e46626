"""Batch norm that changes its running statistics and its count in one kernel, where a device has one."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.operators.layers.batch_norm import batch_norm_learn, learning_batch_norm

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
SHAPES = [(4, 6, 5, 7), (16, 64, 8, 8), (9, 10), (2, 3, 4, 5, 6), (3, 5, 11)]


def layer(channels, ndim):
    made = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}[ndim]
    net = made(channels)
    with torch.no_grad():
        net.weight.copy_(torch.linspace(-1, 2, channels))
        net.bias.copy_(torch.linspace(1, -1, channels))
    return net


def close(a, b, tol):
    np.testing.assert_allclose(a.detach().double().cpu().numpy(), b.detach().double().cpu().numpy(), rtol=tol, atol=tol)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_layer_equals_the_one_on_the_cpu(shape, last, dtype, device):
    torch.manual_seed(0)
    kind = getattr(torch, dtype)
    net = layer(shape[1], len(shape)).to(torch.float64 if dtype == "float64" else torch.float32)
    here = copy.deepcopy(net).to(device)
    tol = {"float32": 2e-5, "float64": 1e-10, "float16": 5e-3, "bfloat16": 4e-2}[dtype]
    for _ in range(3):
        x = torch.randn(*shape).to(kind) * 2 + 1
        y = x.to(device)
        if last and len(shape) == 4:
            y = y.contiguous(memory_format=torch.channels_last)
        x.requires_grad_()
        y = y.detach().requires_grad_()
        expected, out = net(x), here(y)
        assert out.dtype is kind and out.stride() == y.stride()
        close(out, expected, tol)
        g = torch.randn(*shape).to(kind)
        expected.backward(g)
        out.backward(g.to(device))
        close(y.grad, x.grad, tol * 3)
        close(here.weight.grad, net.weight.grad, tol * 10)
        close(here.bias.grad, net.bias.grad, tol * 10)
    for mine, theirs in zip(here.buffers(), net.buffers()):
        assert mine.dtype is theirs.dtype
        close(mine, theirs, max(tol, 1e-6) if mine.dtype.is_floating_point else 0)
    assert here.num_batches_tracked.item() == 3


@pytest.mark.parametrize("device", DEVICES)
def test_forms(device):
    """Half-precision statistics, a cumulative average, no affine part, no statistics."""
    x = torch.randn(8, 6, 4, 4)
    for make in (
        lambda: nn.BatchNorm2d(6).to(torch.bfloat16),
        lambda: nn.BatchNorm2d(6, momentum=None),
        lambda: nn.BatchNorm2d(6, affine=False),
        lambda: nn.BatchNorm2d(6, track_running_stats=False),
    ):
        net = make()
        kind = next(iter([p.dtype for p in net.parameters()]), torch.float32)
        here = copy.deepcopy(net).to(device)
        for _ in range(3):
            close(here(x.to(kind).to(device)), net(x.to(kind)), 4e-2 if kind is torch.bfloat16 else 2e-5)
        for mine, theirs in zip(here.buffers(), net.buffers()):
            close(mine, theirs, 1e-2 if kind is torch.bfloat16 else 1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_versions_and_errors(device):
    net = nn.BatchNorm2d(3).to(device)
    before = net.running_mean._version
    net(torch.randn(4, 3, 2, 2, device=device))
    assert net.running_mean._version == before + 1
    with pytest.raises(ValueError, match="Expected more than 1 value per channel"):
        net(torch.randn(1, 3, 1, 1, device=device))
    with pytest.raises(RuntimeError, match="running_mean should contain 5 elements not 3"):
        net(torch.randn(4, 5, 2, 2, device=device))
    empty = nn.BatchNorm2d(3).to(device)(torch.zeros(0, 3, 2, 2, device=device))
    assert empty.shape == (0, 3, 2, 2)


def test_the_generic_body_does_the_same():
    """What a device without a kernel of its own would compute."""
    x = torch.randn(4, 3, 5, 5, dtype=torch.float64).requires_grad_()
    net = nn.BatchNorm2d(3).double()
    other = copy.deepcopy(net)
    y = x.detach().clone().requires_grad_()
    out = learning_batch_norm(
        x, net.running_mean, net.running_var, net.num_batches_tracked, net.weight, net.bias, 0.1, 1e-5
    )
    expected = other(y)
    close(out, expected, 1e-12)
    (out * out * x).sum().backward()
    (expected * expected * y).sum().backward()
    close(x.grad, y.grad, 1e-10)
    for mine, theirs in zip(net.buffers(), other.buffers()):
        close(mine, theirs, 1e-12)
    assert not batch_norm_learn.joins(x)  # the CPU is given the parts
