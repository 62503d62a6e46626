"""Which convolutions our kernels for few channels can compute, and their shapes: known without a GPU."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Elements of a kernel: with fewer a convolution is a matrix product, larger ones were not measured (costs.py).
_LEAST_WINDOW, _MOST_WINDOW = 4, 49


class ConvShape(NamedTuple):
    """The 2-d convolution that runs; for a gradient this is not the convolution that the user asked for."""

    images: int
    c: int
    o: int
    kernel: tuple[int, int]
    size: tuple[int, int]
    out: tuple[int, int]
    stride: tuple[int, int]
    front: tuple[int, int]  # zeros in front
    spread: tuple[int, int]  # input elements lie this far apart
    flip: bool

    def constants(self) -> dict[str, int]:
        names = ("R", "S", "H", "W", "OH", "OW", "SH", "SW", "PH", "PW", "DH", "DW")
        values = (*self.kernel, *self.size, *self.out, *self.stride, *self.front, *self.spread)
        return {"C": self.c, "O": self.o, "FLIP": int(self.flip), **dict(zip(names, values))}


def fits(dtype: np.dtype, size: int, w_shape: tuple, dilation: tuple, groups: int) -> bool:
    """Whether our kernels compute a convolution of `size` numbers with such a weight; `conv_costs` says if they should."""
    if groups != 1 or len(w_shape) != 4 or dtype == np.float64:
        return False
    window = w_shape[2] * w_shape[3]
    return dilation == (1, 1) and _LEAST_WINDOW <= window <= _MOST_WINDOW and size > 0


def forward_shape(x: tuple, w: tuple, out: tuple, stride: tuple, padding: tuple) -> ConvShape:
    return ConvShape(x[0], x[1], w[0], w[2:], x[2:], out, stride, padding, (1, 1), False)


def input_shape(x: tuple, w: tuple, gy: tuple, stride: tuple, padding: tuple) -> ConvShape | None:
    """The gradient of the input is a convolution of gy, spread by the stride, with the kernel turned."""
    front = tuple([k - 1 - p for k, p in zip(w[2:], padding)])
    if min(front) < 0:
        return None
    return ConvShape(gy[0], w[0], w[1], w[2:], gy[2:], x[2:], (1, 1), front, stride, True)
