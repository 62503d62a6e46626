"""grid_sample, glu and group norm on the emulated GPU, beside the host. `all`: every mode."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

import rushlight as rl
import rushlight.nn.functional as F
from rushlight.runtime import door

random = np.random.default_rng(0)


def both(fn: Callable[..., Any], *arrays: np.ndarray, near: float = 2e-5) -> set[str]:
    """Results and gradients of a function on both devices; the kernels that the GPU was asked for."""
    seen: set[str] = set()

    def listen(kernel: Any, arrays: Any, attrs: Any, call: Callable[[], Any]) -> Any:
        seen.add(kernel.name)
        return call()

    made = []
    for device in ("cuda", "cpu"):
        ins = [rl.tensor(a).to(device).requires_grad_() for a in arrays]
        with door.listening(listen if device == "cuda" else lambda k, a, t, call: call()):
            out = fn(*ins)
            out.backward(
                rl.tensor(np.cos(np.arange(out.numel())))
                .to(out.dtype)
                .reshape(out.shape)
                .to(device)
            )
        made.append([t.detach().cpu().numpy() for t in (out, *[t.grad for t in ins])])
    for there, here in zip(*made):
        np.testing.assert_allclose(there, here, rtol=near, atol=near)
    return seen


def sampled(
    mode: str, padding: str, align: bool, dims: int, dtype: Any, in_order: bool = False
) -> None:
    x = random.standard_normal((2, 3, *(5, 4, 3)[:dims])).astype(dtype)
    grid = random.uniform(-1.9, 1.9, (2, *(3, 5, 2)[:dims], dims)).astype(dtype)

    def read(x: Any, grid: Any) -> Any:
        return F.grid_sample(x, grid, mode, padding, align)

    near = (
        1e-9 if dtype == np.float64 else 3e-4
    )  # a place's rounding counts as often as the image is large
    rl.use_deterministic_algorithms(in_order)
    assert "grid_sample_grad_grid" in both(read, x, grid, near=near)
    rl.use_deterministic_algorithms(False)


if "all" in sys.argv:  # minutes: every variant is compiled
    modes = product(
        ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)
    )
    for how, dtype, in_order in product(modes, (np.float64, np.float32), (False, True)):
        sampled(*how, 2, dtype, in_order)
sampled("bicubic", "reflection", True, 2, np.float64)
sampled("bilinear", "border", False, 2, np.float64, in_order=True)
sampled("bilinear", "zeros", False, 3, np.float32)

for shape, dim in (((3, 4), 1), ((4, 3, 2), 0), ((2, 6, 5), 1), ((2, 3, 8), -1)):
    x = random.standard_normal(shape)
    assert {"glu", "glu_grad"} <= both(lambda t, dim=dim: F.glu(t, dim), x)
both(lambda t: F.glu(t.transpose(0, 1), 0), random.standard_normal((3, 4)))

x = random.standard_normal((2, 6, 3, 2)).astype(np.float32)
w = random.standard_normal(6).astype(np.float32)
assert "group_norm" in both(lambda t: F.group_norm(t, 3), x)
assert "group_norm" in both(lambda t, w: F.group_norm(t, 3, w), x, w)
print("equal")
