"""Few results on the CPU: convolutions of few places, products of few rows, attention without stored scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.nn import functional as F

draws = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    return draws.standard_normal(shape).astype(np.float32)


def plain_conv(x: Any, w: Any, b: Any, stride: int, padding: int) -> Any:
    """A convolution by its definition, in float64."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    k = w.shape[2]
    windows = np.lib.stride_tricks.sliding_window_view(x, (k, k), (2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwij,ocij->nohw", windows, w.astype(np.float64)) + b[:, None, None]


@pytest.mark.parametrize("last", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(
    ("n", "size", "k", "stride", "padding"),
    [(1, 2, 1, 1, 0), (1, 2, 3, 1, 1), (2, 4, 3, 2, 1), (1, 5, 3, 1, 1), (7, 2, 2, 1, 0)],
)
def test_convolutions_of_few_places(n, size, k, stride, padding, last, device, monkeypatch) -> None:
    monkeypatch.setattr(rl.backends.cudnn, "allow_tf32", False)
    x, w, b = numbers(n, 24, size, size), numbers(40, 24, k, k), numbers(40)
    given = [rl.tensor(a).to(device) for a in (x, w)]
    given = [a.to(memory_format=rl.channels_last) if f else a for a, f in zip(given, last)]
    out = F.conv2d(*given, rl.tensor(b).to(device), stride=stride, padding=padding)
    want = plain_conv(x, w, b, stride, padding)
    np.testing.assert_allclose(out.cpu().numpy(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 31, 33, 47, 48, 49, 64, 65, 97])
@pytest.mark.parametrize("m", [1, 4, 7, 9, 16, 17, 64])
def test_products_of_every_edge(m: int, n: int) -> None:
    """Tiles that are cut off by the matrix's end, each way around."""
    for k in (1, 3, 16, 33):
        a, b = numbers(m, k), numbers(k, n)
        want = a.astype(np.float64) @ b
        for x in (rl.tensor(a), rl.tensor(a.T.copy()).t()):
            for y in (rl.tensor(b), rl.tensor(b.T.copy()).t()):
                np.testing.assert_allclose((x @ y).numpy(), want, rtol=1e-4, atol=1e-4)


def by_parts(q: Any, k: Any, v: Any, causal: bool) -> Any:
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if causal:
        later = rl.ones(scores.shape[-2:], dtype=rl.bool, device=q.device).triu(1)
        scores = scores.masked_fill(later, -float("inf"))
    return scores.softmax(-1) @ v


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "sizes", [(1, 1, 1, 1, 1), (2, 3, 5, 7, 4), (1, 2, 65, 130, 16), (3, 1, 200, 70, 8), (1, 1, 1, 33, 8)]
)
def test_attention_equals_its_parts(sizes, turned: bool, causal: bool, device) -> None:
    batch, heads, queries, keys, width = sizes
    gy = rl.tensor(numbers(batch, heads, queries, width + 3)).to(device)
    arrays = [
        numbers(*((batch, n, heads, d) if turned else (batch, heads, n, d)))
        for n, d in ((queries, width), (keys, width), (keys, width + 3))
    ]
    found = []
    for way in (by_parts, lambda q, k, v, c: F.scaled_dot_product_attention(q, k, v, is_causal=c)):
        leaves = [rl.tensor(a).to(device).requires_grad_() for a in arrays]
        out = way(*[t.transpose(1, 2) if turned else t for t in leaves], causal)
        out.backward(gy)
        found.append([t.detach().cpu().numpy() for t in (out, *[x.grad for x in leaves])])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


def test_attention_twice_differentiated(device) -> None:
    q, k, v = [rl.tensor(numbers(1, 2, 3, 4)).to(device).requires_grad_() for _ in range(3)]
    second = []
    for way in (by_parts, lambda q, k, v, c: F.scaled_dot_product_attention(q, k, v, is_causal=c)):
        (g,) = rl.autograd.grad(way(q, k, v, True).square().sum(), q, create_graph=True)
        second.append([t.cpu().numpy() for t in rl.autograd.grad(g.square().sum(), (q, k, v))])
    for a, b in zip(*second):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4)
