"""Kernels of libraries chosen by measuring: for compiled steps, without a change for what runs eagerly."""

from __future__ import annotations

import pytest

import rushlight as torch
from rushlight.nn import functional as F

cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def convolution(x, w):
    return F.conv2d(x, w, stride=2, padding=1).sum(dim=(2, 3))


def operands(device="cuda"):
    torch.manual_seed(0)
    x = torch.randn(64, 64, 32, 32, device=device, dtype=torch.float16)
    w = torch.randn(96, 64, 3, 3, device=device, dtype=torch.float16)
    return x.contiguous(memory_format=torch.channels_last), w


@cuda
def test_compiling_a_convolution_leaves_eager_bits_alone():
    x, w = operands()
    before = convolution(x, w)
    step = torch.compile(convolution)
    for _ in range(4):
        out = step(x, w)
    assert step.replays, step.why()
    assert torch.equal(convolution(x, w), before)
    torch.testing.assert_close(out, before, rtol=1e-2, atol=0.5)


@cuda
def test_compiling_a_product_leaves_eager_bits_alone():
    a = torch.randn(512, 768, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(768, 512, device="cuda", dtype=torch.bfloat16)
    before = a @ b
    step = torch.compile(lambda a, b: (a @ b).relu())
    for _ in range(4):
        step(a, b)
    assert step.replays, step.why()
    assert torch.equal(a @ b, before)


@cuda
def test_a_measured_choice_is_kept_on_disk(monkeypatch, tmp_path):
    from rushlight.base.config import settings
    from rushlight.runtime.cuda.library import cudnn_conv

    if torch.backends.cudnn.version() is None:
        pytest.skip("needs cuDNN")
    monkeypatch.setattr(settings, "cache_dir", str(tmp_path))
    monkeypatch.setattr(settings, "cudnn_benchmark", True)
    monkeypatch.setattr(cudnn_conv, "_choices", None)
    x, w = operands()
    first = F.conv2d(x, w, padding=2, dilation=2)
    assert list((tmp_path / "cudnn").glob("*.json"))

    def measured_again(*args):
        raise AssertionError("measured again")

    from rushlight.runtime.cuda.bodies.layers import conv

    cudnn_conv._plans.clear()
    conv._calls.clear()
    monkeypatch.setattr(cudnn_conv, "_choices", None)
    monkeypatch.setattr(cudnn_conv, "_store", measured_again)
    assert torch.equal(F.conv2d(x, w, padding=2, dilation=2), first)
