"""Convolution and pooling beyond the rows: messages, odd paddings, large batches, saved memory."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import rushlight as rl
import rushlight.nn.functional as F
from rushlight.operators.layers import conv_kernels as conv_grad


@pytest.mark.parametrize("kernel,dilation", [((2, 4), 1), ((4, 3), (3, 1)), ((2, 2), 1)])
def test_same_padding_of_even_kernels(kernel: tuple, dilation: Any) -> None:
    torch = pytest.importorskip("torch")
    x, w = np.random.randn(1, 2, 9, 9), np.random.randn(3, 2, *kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(w), padding="same", dilation=dilation)
    got = F.conv2d(rl.tensor(x), rl.tensor(w), padding="same", dilation=dilation)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("groups", [1, 2])
def test_batches_in_pieces_give_the_same(monkeypatch: Any, groups: int) -> None:
    x = rl.randn(5, 4, 6, 6, dtype=rl.float64, requires_grad=True)
    w = rl.randn(6, 4 // groups, 3, 3, dtype=rl.float64, requires_grad=True)

    def step() -> list:
        out = F.conv2d(x, w, padding=1, groups=groups)
        return [out, *rl.autograd.grad((out * out).sum(), (x, w))]

    whole = step()
    monkeypatch.setattr(conv_grad, "_PATCH_BYTES", 1)
    for a, b in zip(whole, step()):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-10, atol=1e-12)


def test_only_what_backward_needs_is_kept() -> None:
    x, w = rl.randn(1, 2, 4, 4), rl.randn(3, 2, 3, 3, requires_grad=True)
    assert list(F.conv2d(x, w).grad_fn.saved) == [0]
    x.requires_grad_()
    w = w.detach()
    assert list(F.conv2d(x, w).grad_fn.saved) == [1]


def test_max_pool_of_overlapping_windows_adds_gradients() -> None:
    x = rl.tensor([[[0.0, 3.0, 1.0]]], requires_grad=True)
    F.max_pool1d(x, 2, 1).sum().backward()
    assert x.grad.tolist() == [[[0.0, 2.0, 0.0]]]


def test_channels_last_input_is_accepted() -> None:
    x, w = rl.randn(2, 3, 6, 6), rl.randn(4, 3, 3, 3)
    nhwc = x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    np.testing.assert_allclose(F.conv2d(nhwc, w).numpy(), F.conv2d(x, w).numpy(), atol=1e-5)
    np.testing.assert_array_equal(F.max_pool2d(nhwc, 2).numpy(), F.max_pool2d(x, 2).numpy())


def test_uint8_images_are_resized_with_rounding() -> None:
    torch = pytest.importorskip("torch")
    a = np.random.RandomState(0).randint(0, 256, (1, 3, 7, 5)).astype(np.uint8)
    want = torch.nn.functional.interpolate(torch.tensor(a), size=(9, 4), mode="bilinear")
    got = F.interpolate(rl.tensor(a), size=(9, 4), mode="bilinear")
    assert got.dtype == rl.uint8
    assert np.abs(got.numpy().astype(int) - want.numpy().astype(int)).max() <= 1


@pytest.mark.parametrize("n", [2, 3])
def test_fractional_pooling_draws_its_own_places(n: int) -> None:
    x = rl.randn(2, 3, *[7] * n)
    out, index = getattr(F, f"fractional_max_pool{n}d")(x, 2, output_size=4, return_indices=True)
    assert out.shape == (2, 3, *[4] * n)
    flat = x.reshape(2, 3, -1)
    picked = flat.gather(2, index.reshape(2, 3, -1)).reshape(out.shape)
    np.testing.assert_array_equal(picked.numpy(), out.numpy())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("channels", [3, 16])
@pytest.mark.parametrize(("last_x", "last_w"), [(True, True), (True, False), (False, True)])
def test_channels_last_stays_channels_last(device: str, channels: int, last_x: bool, last_w: bool, dtype: str) -> None:
    """Results and gradients lie as PyTorch's do; one row-major layer would turn the whole network around."""
    kind = getattr(rl, dtype)
    x = rl.randn(2, channels, 12, 12).to(device, kind)
    w = rl.randn(6, channels, 3, 3).to(device, kind)
    if last_x:
        x = x.contiguous(memory_format=rl.channels_last)
    if last_w:
        w = w.contiguous(memory_format=rl.channels_last)
    x.requires_grad_()
    y = F.conv2d(x, w, padding=1)
    (gx,) = rl.autograd.grad(y.square().sum(), [x])
    assert y.is_contiguous(memory_format=rl.channels_last)
    assert gx.is_contiguous(memory_format=rl.channels_last)
