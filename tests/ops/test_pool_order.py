"""Pooling of channels_last images: same values as row-major ones, and on a GPU the order is kept."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
POOLS = {
    "max 2": lambda x: F.max_pool2d(x, 2),
    "max 3/2": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max dilated": lambda x: F.max_pool2d(x, 2, 1, 0, 2, ceil_mode=True),
    "avg 2": lambda x: F.avg_pool2d(x, 2),
    "avg 3/2": lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "avg divisor": lambda x: F.avg_pool2d(x, 3, divisor_override=2),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("channels", [1, 3, 6, 16])
@pytest.mark.parametrize("name", POOLS)
def test_values_gradients_and_order(name, channels, dtype, device):
    torch.manual_seed(0)
    x = torch.randn(2, channels, 9, 8).to(getattr(torch, dtype))
    turned = x.to(device).contiguous(memory_format=torch.channels_last).requires_grad_()
    x.requires_grad_()
    expected, out = POOLS[name](x), POOLS[name](turned)
    g = torch.randn(*expected.shape).to(x.dtype)
    expected.backward(g)
    out.backward(g.to(device))
    tol = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-6)
    for a, b in ((out, expected), (turned.grad, x.grad)):
        np.testing.assert_allclose(a.detach().double().cpu().numpy(), b.detach().double().numpy(), rtol=tol, atol=tol)
    if device == "cuda":
        assert out.is_contiguous(memory_format=torch.channels_last)
        assert turned.grad.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("device", DEVICES)
def test_places_and_unpooling(device):
    x = torch.randn(2, 4, 6, 6)
    y, places = F.max_pool2d(x, 2, return_indices=True)
    turned = x.to(device).contiguous(memory_format=torch.channels_last)
    z, where = F.max_pool2d(turned, 2, return_indices=True)
    np.testing.assert_array_equal(where.cpu().numpy(), places.numpy())
    np.testing.assert_array_equal(F.max_unpool2d(z, where, 2).cpu().numpy(), F.max_unpool2d(y, places, 2).numpy())


@pytest.mark.parametrize("device", DEVICES)
def test_sums_in_a_fixed_order(device):
    torch.use_deterministic_algorithms(True)
    try:
        x = torch.randn(2, 4, 7, 7).to(device).contiguous(memory_format=torch.channels_last)
        grads = []
        for _ in range(2):
            y = x.clone().requires_grad_()
            F.max_pool2d(y, 3, 1).square().sum().backward()
            grads.append(y.grad.cpu().numpy())
        np.testing.assert_array_equal(*grads)
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("width", [2, 4, 7, 8, 10, 14, 17, 28, 32, 34, 66])
def test_windows_of_two_of_any_width(width: int) -> None:
    """Rows narrower than a vector are computed by narrower ones; the last NaN of a window wins."""
    rng = np.random.default_rng(width)
    x = rng.integers(-3, 3, (2, 3, 6, width)).astype("f4")  # many ties
    x[rng.random(x.shape) < 0.1] = np.nan
    wide = width // 2
    windows = x[:, :, :6, : 2 * wide].reshape(2, 3, 3, 2, wide, 2).transpose(0, 1, 2, 4, 3, 5)
    windows = windows.reshape(2, 3, 3, wide, 4)
    best = np.zeros(windows.shape[:-1], int)
    for k in range(1, 4):
        held = np.take_along_axis(windows, best[..., None], -1)[..., 0]
        best[(windows[..., k] > held) | np.isnan(windows[..., k])] = k
    rows, columns = np.arange(3)[:, None] * 2 + best // 2, np.arange(wide) * 2 + best % 2
    values, places = F.max_pool2d(torch.tensor(x), 2, return_indices=True)
    expected = np.take_along_axis(windows, best[..., None], -1)[..., 0]
    np.testing.assert_array_equal(values.numpy(), expected)
    np.testing.assert_array_equal(places.numpy(), rows * width + columns)
