"""interpolate and padding on every device, beside PyTorch's: values, gradients, and inside a compiled step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.operators.image.resample_kernels import ResamplePlan, resample_axis, resample_plane

torch = pytest.importorskip("torch", reason="PyTorch is the oracle")

CASES = [
    ((2, 3, 9), {"size": 14, "mode": "linear"}),
    ((2, 3, 9), {"scale_factor": 0.5, "mode": "nearest"}),
    ((2, 3, 8, 10), {"scale_factor": 2, "mode": "nearest"}),
    ((2, 3, 8, 10), {"size": (5, 13), "mode": "nearest-exact"}),
    ((2, 3, 8, 10), {"scale_factor": 2, "mode": "bilinear"}),
    ((2, 3, 8, 10), {"scale_factor": 2, "mode": "bilinear", "align_corners": True}),
    ((2, 3, 40, 31), {"size": (7, 70), "mode": "bilinear"}),
    ((2, 3, 8, 10), {"size": (8, 25), "mode": "bilinear"}),
    ((2, 3, 8, 10), {"size": (17, 5), "mode": "bicubic"}),
    ((2, 3, 8, 10), {"size": (5, 7), "mode": "area"}),
    ((2, 3, 24, 31), {"size": (5, 7), "mode": "bilinear", "antialias": True}),
    ((2, 3, 24, 31), {"size": (50, 7), "mode": "bicubic", "antialias": True}),
    ((2, 3, 4, 5, 6), {"scale_factor": 2, "mode": "trilinear"}),
    ((2, 3, 4, 5, 6), {"size": (3, 7, 9), "mode": "nearest"}),
]
PADS = [("reflect", (2, 1, 3, 2)), ("replicate", (1, 4, 0, 2)), ("circular", (2, 3, 1, 1))]


def both(shape: tuple, dtype: str, device: str) -> tuple[Any, Any]:
    x = np.random.default_rng(0).standard_normal(shape)
    t = torch.tensor(x, dtype=getattr(torch, dtype), requires_grad=True)
    return rl.tensor(x, dtype=getattr(rl, dtype)).to(device).requires_grad_(), t


def compare(x: Any, t: Any, ours: Any, theirs: Any, tol: float) -> None:
    assert ours.shape == tuple(theirs.shape)
    np.testing.assert_allclose(
        ours.detach().cpu().double().numpy(), theirs.detach().double().numpy(), rtol=tol, atol=tol
    )
    g = np.random.default_rng(1).standard_normal(ours.shape)
    ours.backward(rl.tensor(g, dtype=ours.dtype).to(ours.device))
    theirs.backward(torch.tensor(g, dtype=theirs.dtype))
    np.testing.assert_allclose(x.grad.cpu().double().numpy(), t.grad.double().numpy(), rtol=tol, atol=8 * tol)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize(("shape", "options"), CASES)
def test_resizing(shape: tuple, options: dict, dtype: str, device: str) -> None:
    if dtype == "bfloat16" and options.get("antialias"):
        pytest.skip("two roundings, and PyTorch's own are others")
    x, t = both(shape, dtype, device)
    ours = rl.nn.functional.interpolate(x, **options)
    theirs = torch.nn.functional.interpolate(t, **options)
    compare(x, t, ours, theirs, {"float32": 2e-5, "float64": 2e-5, "bfloat16": 3e-2}[dtype])


@pytest.mark.parametrize(("mode", "pad"), PADS)
def test_padding(mode: str, pad: tuple, device: str) -> None:
    x, t = both((2, 3, 6, 7), "float32", device)
    compare(x, t, rl.nn.functional.pad(x, pad, mode), torch.nn.functional.pad(t, pad, mode), 1e-6)


def test_views_and_bytes(device: str) -> None:
    x, t = both((2, 8, 6, 3), "float32", device)
    ours = rl.nn.functional.interpolate(x.permute(0, 3, 1, 2), scale_factor=2, mode="bilinear")
    theirs = torch.nn.functional.interpolate(t.permute(0, 3, 1, 2), scale_factor=2, mode="bilinear")
    compare(x, t, ours, theirs.contiguous(), 1e-5)
    b = np.arange(48, dtype=np.uint8).reshape(1, 1, 6, 8)
    ours = rl.nn.functional.interpolate(rl.tensor(b).to(device), size=(9, 3))
    theirs = torch.nn.functional.interpolate(torch.tensor(b), size=(9, 3))
    np.testing.assert_array_equal(ours.cpu().numpy(), theirs.numpy())


def test_two_axes_at_once_are_one_after_the_other(device: str) -> None:
    x = rl.randn(1, 2, 5, 9, device=device, dtype=rl.float64)
    plans = (ResamplePlan("linear", 5, 10, 0.5), ResamplePlan("cubic", 9, 4, 9 / 4))
    both_at_once = resample_plane(x, plans=plans, flip=False)
    after = resample_axis(x, axis=2, plan=plans[0], flip=False)
    after = resample_axis(after, axis=3, plan=plans[1], flip=False)
    np.testing.assert_allclose(both_at_once.cpu().numpy(), after.cpu().numpy(), rtol=1e-10)


def test_a_compiled_step_that_resizes_is_one_program(device: str) -> None:
    x = rl.randn(2, 3, 8, 8, device=device)
    weight = rl.ones(3, 1, 1, device=device, requires_grad=True)
    f = rl.nn.functional

    def step() -> Any:
        y = f.interpolate(x * weight, scale_factor=2, mode="bilinear")
        y = f.pad(f.interpolate(y, size=(5, 7), mode="bicubic"), (1, 2, 1, 1), "reflect")
        loss = (f.interpolate(y, size=(3, 4), mode="area") ** 2).sum()
        weight.grad = None
        loss.backward()
        return loss.detach()

    want, slope = step().item(), weight.grad.cpu().numpy()
    compiled = rl.compile(step)
    for _ in range(4):
        np.testing.assert_allclose(compiled().item(), want, rtol=1e-5)
        np.testing.assert_allclose(weight.grad.cpu().numpy(), slope, rtol=1e-4, atol=1e-5)
    assert compiled.why() is None
