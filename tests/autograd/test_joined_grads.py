"""Derivatives that find the gradients of weight and bias in one op, beside those that take two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.core.op import Op
from rushlight.nn import functional as F

CASES: dict[str, tuple] = {
    "linear": (F.linear, (5, 4), (3, 4), {}),
    "linear of a batch": (F.linear, (2, 5, 4), (3, 4), {}),
    "linear, 512 rows": (F.linear, (512, 40), (12, 40), {}),
    "conv1d": (F.conv1d, (2, 4, 9), (6, 4, 3), {"padding": 1}),
    "conv2d": (F.conv2d, (2, 3, 8, 8), (6, 3, 5, 5), {}),
    "conv2d with a stride": (F.conv2d, (3, 4, 8, 8), (6, 4, 3, 3), {"stride": 2, "padding": 1}),
    "conv2d in groups": (F.conv2d, (2, 4, 6, 6), (6, 2, 3, 3), {"groups": 2}),
    "conv3d": (F.conv3d, (1, 2, 4, 4, 4), (3, 2, 2, 2, 2), {}),
}


def _arrays(name: str) -> list[np.ndarray]:
    _, x, w, _ = CASES[name]
    rng = np.random.default_rng(0)
    return [rng.standard_normal(s) for s in (x, w, w[:1])]


def _orders(name: str, device: str, dtype: Any) -> list[np.ndarray]:
    """First gradients of all inputs, and the gradients of a function of those."""
    fn, _, _, options = CASES[name]
    inputs = [rl.tensor(a, dtype=dtype, device=device, requires_grad=True) for a in _arrays(name)]
    out = fn(*inputs, **options)
    first = rl.autograd.grad((out * out).sum(), inputs, create_graph=True)
    second = rl.autograd.grad(sum((g * g).sum() for g in first), inputs)
    return [g.detach().cpu().numpy() for g in (*first, *second)]


@pytest.mark.parametrize("name", CASES)
def test_joined_equals_apart(name: str, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []

    def joins(self: Op, t: Any) -> bool:
        called.append(self.name)
        return True

    with monkeypatch.context() as patch:
        patch.setattr(Op, "joins", lambda self, t: False)
        apart = _orders(name, device, rl.float64)
    monkeypatch.setattr(Op, "joins", joins)
    joined = _orders(name, device, rl.float64)
    assert called
    for a, b in zip(joined, apart):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_a_devices_own_joined_kernel_equals_the_cpu(name: str, device: str) -> None:
    got, want = _orders(name, device, rl.float32), _orders(name, "cpu", rl.float64)
    for a, b in zip(got, want):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3 * max(1.0, float(np.abs(b).max())))


def test_one_of_the_two_gradients_can_be_differentiated_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Op, "joins", lambda self, t: True)
    for name in ("linear", "conv2d"):
        fn, _, _, options = CASES[name]
        x, w, b = [rl.tensor(a, requires_grad=True) for a in _arrays(name)]
        gw, gb = rl.autograd.grad((fn(x, w, b, **options) ** 2).sum(), (w, b), create_graph=True)
        by_b = rl.autograd.grad(gb.sum(), (x, w, b), retain_graph=True, allow_unused=True)
        by_w = rl.autograd.grad(gw.sum(), (x, w, b))
        assert all(g is not None for g in by_b) and all(g is not None for g in by_w)


@pytest.mark.parametrize("shape", [(5, 4), (2, 5, 4)])
def test_without_a_bias_two_gradients_are_joined(shape: tuple, monkeypatch: Any) -> None:
    def orders(joins: bool) -> list[np.ndarray]:
        rng = np.random.default_rng(1)
        monkeypatch.setattr(Op, "joins", lambda self, t: joins)
        x, w = [rl.tensor(rng.standard_normal(s), requires_grad=True) for s in (shape, (3, 4))]
        out = F.linear(x, w)
        first = rl.autograd.grad((out * out).sum(), (x, w), create_graph=True)
        second = rl.autograd.grad(sum((g * g).sum() for g in first), (x, w))
        return [g.detach().numpy() for g in (*first, *second)]

    for a, b in zip(orders(True), orders(False)):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_frozen_inputs_use_the_single_derivatives(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setattr(Op, "joins", lambda self, t: bool(called.append(self.name)) or True)
    x, w, b = [rl.tensor(a) for a in _arrays("linear")]
    F.linear(x, w.requires_grad_(), b).sum().backward()
    assert not called and w.grad is not None and b.grad is None
