"""`torch.quasirandom`: named, so that libraries which may use it can be imported."""

from __future__ import annotations

from ._names.refusal import absent_classes

__all__ = ["SobolEngine"]

SobolEngine = absent_classes(
    "quasirandom",
    "has no table of Sobol's direction numbers",
    "Draw with rushlight.rand, or with scipy.stats.qmc.Sobol.",
    ("SobolEngine",),
)["SobolEngine"]
SobolEngine.MAXDIM = 21201  # type: ignore[attr-defined]  # PyTorch's, which programs compare with
