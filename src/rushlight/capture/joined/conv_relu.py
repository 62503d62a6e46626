"""The kernel that a pass makes of a convolution with a bias and the relu behind it."""

from __future__ import annotations

from .parts import join

CONV_RELU = join(
    "conv_relu", lambda part, x, w, b, **how: part("relu", part("conv", x, w, b, **how))
)
