"""`fake_quantize_per_tensor_affine` and `..._per_channel_affine` against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")

VALUES = [float("nan"), float("inf"), -float("inf"), 0.25, 0.35, -0.05, 100.0, -3.0, 0.0]


def _both(run: Any) -> tuple[Any, Any]:
    return run(rushlight), run(torch)


@pytest.mark.parametrize("kind", ["float32", "float64", "float16"])
@pytest.mark.parametrize("zero", [0, 3, -8])
def test_per_tensor(kind: str, zero: int) -> None:
    def run(lib: Any) -> list:
        x = lib.tensor(VALUES, dtype=getattr(lib, kind), requires_grad=True)
        y = lib.fake_quantize_per_tensor_affine(x, 0.1, zero, -8, 7)
        y.backward(lib.ones_like(y) * 2)
        return [y.detach().double().numpy(), x.grad.double().numpy(), str(y.dtype)[-7:]]

    ours, theirs = _both(run)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)
    np.testing.assert_array_equal(ours[1], theirs[1])
    assert ours[2] == theirs[2]


def test_scale_and_zero_point_as_tensors() -> None:
    def run(lib: Any) -> Any:
        point = lib.tensor(2, dtype=lib.int32)
        return lib.fake_quantize_per_tensor_affine(lib.linspace(-1, 1, 9), lib.tensor(0.1), point, -4, 4).numpy()

    np.testing.assert_allclose(*_both(run), rtol=1e-6)


@pytest.mark.parametrize(
    "scale, point", [(0.1, 300), ([0.1], [-5]), (0.1, 3.7), (0.1, -3.7), ([0.1, 0.2], [1, 2]), (0.1, [1, 2])]
)
def test_tensors_are_not_held_to_the_grid(scale: Any, point: Any) -> None:
    """Nothing of them is read on the host."""

    def run(lib: Any) -> Any:
        x = lib.tensor([-3.0, -0.2, 0.3, 5.0, 25.6], requires_grad=True)
        try:
            y = lib.fake_quantize_per_tensor_affine(x, lib.tensor(scale), lib.tensor(point), 0, 255)
        except RuntimeError:
            return "refused"
        y.sum().backward()
        return np.stack([y.detach().numpy(), x.grad.numpy()])

    ours, theirs = _both(run)
    np.testing.assert_array_equal(ours, theirs)


def test_tensors_are_part_of_a_program() -> None:
    x, scale = rushlight.randn(8), rushlight.tensor(0.1)
    zero = rushlight.tensor(3, dtype=rushlight.int32)
    step = rushlight.compile(lambda t: rushlight.fake_quantize_per_tensor_affine(t, scale, zero, 0, 15), fullgraph=True)
    for by in (1, 2, 3, 4):
        wanted = rushlight.fake_quantize_per_tensor_affine(x * by, scale, zero, 0, 15)
        np.testing.assert_array_equal(step(x * by).numpy(), wanted.numpy())


@pytest.mark.parametrize("axis", [0, 1])
def test_per_channel(axis: int) -> None:
    def run(lib: Any) -> list:
        x = lib.linspace(-1, 1, 6).reshape(2, 3).requires_grad_()
        n = x.shape[axis]
        scale = lib.tensor([0.1, 0.2, 0.3][:n])
        zero = lib.tensor([0, 1, -1][:n], dtype=lib.int32)
        y = lib.fake_quantize_per_channel_affine(x, scale, zero, axis, -4, 4)
        y.sum().backward()
        return [y.detach().numpy(), x.grad.numpy()]

    for ours, theirs in zip(*_both(run)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("grid", [(30, -8, 7), (0, 8, 7)], ids=str)
def test_wrong_grids(grid: tuple) -> None:
    for lib in (rushlight, torch):
        with pytest.raises(RuntimeError, match="quant_min"):
            lib.fake_quantize_per_tensor_affine(lib.ones(2), 0.1, *grid)
    with pytest.raises(RuntimeError, match="not consistent"):
        rushlight.fake_quantize_per_channel_affine(
            rushlight.ones(2, 3), rushlight.ones(2), rushlight.zeros(2), 1, -4, 4
        )
