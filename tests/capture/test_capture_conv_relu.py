"""Convolution, bias and relu as one kernel: when they join, and that the program computes the same."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn
from rushlight.capture.joined.proof import agrees
from rushlight.capture.passes.copies import name_new_values
from rushlight.capture.passes.epilogues import join_conv_relus
from test_capture_passes import compute, for_gpu, names, record

X, Y = torch.randn(2, 2, 3, 8, 8, generator=torch.Generator().manual_seed(0)).double()


def check(fn, program):
    expected = fn(Y)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for a, b in zip(expected, compute(program, Y)):
        np.testing.assert_allclose(b, a.detach().numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("inplace", [False, True])
def test_a_training_step_joins_its_convolutions(inplace):
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(inplace), nn.Conv2d(4, 5, 3, stride=2),
        nn.ReLU(inplace), nn.Conv2d(5, 2, 1),
    ).double()  # fmt: skip

    def fn(x):
        net.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        return (loss, *[p.grad for p in net.parameters()])

    fn(X)
    program = join_conv_relus(name_new_values(record(fn, X)), force=True)
    found = names(program)
    assert found.count("conv_relu") == 2 and found.count("conv") == 1 and "relu" not in found
    check(fn, program)


@pytest.mark.parametrize("bias", [True, False])
def test_a_gpu_joins_what_has_a_bias(bias):
    x, w, b = torch.randn(4, 128, 16, 16), torch.randn(256, 128, 3, 3), torch.randn(256)
    program = record(lambda x: F.relu(F.conv2d(x, w, b if bias else None)), x)
    assert ("conv_relu" in names(for_gpu(join_conv_relus, program))) == bias


def test_with_other_readers_they_stay_apart():
    w, b = torch.randn(4, 3, 3, 3).double(), torch.randn(4).double()

    def read_twice(x):
        y = F.conv2d(x, w, b)
        return F.relu(y), y * 2

    def returned(x):
        y = F.conv2d(x, w, b)
        return F.relu(y), y

    for fn in (read_twice, returned):
        program = join_conv_relus(record(fn, X), force=True)
        assert "conv_relu" not in names(program)
        check(fn, program)


def test_small_convolutions_are_left_to_their_own_kernels():
    w, b = torch.randn(4, 3, 3, 3).double(), torch.randn(4).double()
    program = record(lambda x: F.relu(F.conv2d(x, w, b)), X)
    assert join_conv_relus(program) is program
    program.device = "cuda"
    assert names(join_conv_relus(program)) == ["conv", "relu"]


def test_the_trial_compares_with_the_parts():
    arrays = [torch.randn(2, 3, 6, 6).numpy(), torch.randn(4, 3, 3, 3).numpy(), torch.randn(4).numpy()]
    attrs = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    assert agrees("conv_relu", arrays, attrs)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("last", [False, True])
def test_on_the_gpu_it_equals_the_eager_step(dtype, last):
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(128, 5),
    ).cuda()  # fmt: skip
    order = torch.channels_last if last else torch.contiguous_format
    nets, steps = [net.to(memory_format=order), copy.deepcopy(net).to(memory_format=order)], []
    for n in nets:
        opt = torch.optim.SGD(n.parameters(), lr=0.05, momentum=0.9)

        def step(x, t, n=n, opt=opt):
            opt.zero_grad()
            with torch.autocast("cuda", torch.bfloat16, enabled=dtype == "bfloat16"):
                loss = F.cross_entropy(n(x), t)
            loss.backward()
            opt.step()
            return loss

        steps.append(step)
    compiled = torch.compile(steps[1])
    tol = 3e-2 if dtype == "bfloat16" else 5e-3
    for _ in range(6):
        x, t = torch.randn(64, 3, 32, 32).cuda(), torch.randint(0, 5, (64,)).cuda()
        x = x.contiguous(memory_format=order)
        np.testing.assert_allclose(compiled(x, t).item(), steps[0](x, t).item(), rtol=tol)
    assert compiled.replays, compiled.why()
