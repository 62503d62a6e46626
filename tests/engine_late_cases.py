"""Random calls of the CPU kernels that came last, as in engine_cases.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from engine_cases import Case, Draw


def sampled(d: Draw) -> Iterator[Case]:
    """Images at places between pixels."""
    dims = d.one(2, 2, 3)
    sizes, out = d.one((5, 7, 4), (1, 6, 3))[:dims], d.one((6, 5, 9), (1, 1, 1), (11, 13, 2))[:dims]
    x, grid = d.laid(2, 3, *sizes), d.laid(2, *out, dims)
    mode = d.one("bilinear", "nearest", "bicubic") if dims == 2 else d.one("bilinear", "nearest")
    padding = d.one("zeros", "border", "reflection")
    how = {"mode": mode, "padding": padding, "align": d.one(True, False)}
    if mode == "nearest":  # two ways to round place a half on either side
        grid = np.round(grid * 4) / 4 + np.float32(0.03)
    g = d.laid(2, 3, *out)
    yield "grid_sample", (x, grid), how, 2e-4
    yield "grid_sample_grad_input", (g, x, grid), how, 2e-4
    yield "grid_sample_grad_grid", (g, x, grid), how, 2e-3
