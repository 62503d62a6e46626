"""Direct convolutions for few channels, where the library kernels leave the GPU idle."""

from __future__ import annotations

from math import ceil, prod
from typing import Any, NamedTuple

import cupy

from .sources import NUMBERS, PARTIALS, counter, load, partials
from .tiling import forward_tile, weight_tile

# What is taken: beyond this the tensor cores of cuDNN win.
_MOST_INNER = 200  # channels in x kernel elements
_MOST_OUTER = 32  # channels out
_MOST_INNER_BACK = 512
_WAVES = 264  # two blocks for every multiprocessor of an H200
_FINISH_INSIDE = 24  # so few blocks are added up by the last of them

_FORWARD = ("P", "P", "P", "P", "i", "4q")
_WEIGHT = ("P", "P", "P", "P", "P", "i")


class Shape(NamedTuple):
    """A 2-d convolution; the one that runs, which for a gradient is not the one the user asked."""

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


def takes(x: Any, w_shape: tuple, dilation: tuple, groups: int) -> bool:
    """Whether a convolution is one of the small ones."""
    if groups != 1 or len(w_shape) != 4 or x.dtype.char not in NUMBERS or x.dtype.char == "d":
        return False
    o, c, r, s = w_shape
    return (
        dilation == (1, 1) and 4 <= r * s <= 49 and c * r * s <= _MOST_INNER and o <= _MOST_OUTER
        and x.size > 0
    )  # fmt: skip


class Forward:
    """One convolution ready to launch: the forward one, or the gradient of the input."""

    def __init__(self, shape: Shape, x: Any) -> None:
        char, dense = x.dtype.char, bool(x._c_contiguous)
        steps = [s // x.itemsize for s in x.strides]
        self.result = (shape.images, shape.o, *shape.out)
        tile = forward_tile(shape, _WAVES, dense)
        self.ok = tile is not None
        if tile is None:
            return
        self.wide = tile["WHOLE"] == 2
        grid = (ceil(shape.images / tile["IB"]), tile.pop("groups"), 1)
        block, shared = (tile.pop("threads"), 1, 1), tile.pop("shared")
        launch = load("conv_small.cu", "conv_small", _FORWARD, char, **shape.constants(), **tile)
        self.go = launch.fixed(grid, block, shared, 4, shape.images, *steps)

    def __call__(self, x: Any, w: Any, b: Any) -> Any:
        if self.wide and x.data.ptr & 15:
            x = x.copy()
        y = cupy.ndarray(self.result, x.dtype)
        self.go(x.data.ptr, w.data.ptr, 0 if b is None else b.data.ptr, y.data.ptr)
        return y


class Weight:
    """The gradient of the weight, ready to launch."""

    def __init__(self, shape: Shape, char: str) -> None:
        self.shape = shape
        self.result = (shape.o, shape.c, *shape.kernel)
        tile = weight_tile(shape)
        self.ok = tile is not None
        if tile is None:
            return
        self.count = prod(self.result)
        self.blocks = min(shape.images, 2 * _WAVES, PARTIALS // self.count)
        self.inside = self.blocks <= _FINISH_INSIDE
        block, shared = (tile.pop("threads"), 1, 1), tile.pop("shared")
        constants = {**shape.constants(), **tile}
        launch = load("conv_small_weight.cu", "conv_small_weight", _WEIGHT, char, **constants)
        self.go = launch.fixed((self.blocks, 1, 1), block, shared, 5, shape.images)
        self.finish = load(
            "conv_small_weight.cu", "sum_parts", ("P", "P", "i", "i"), char, **constants
        )

    def __call__(self, g: Any, x: Any) -> Any:
        """Of dense g and x."""
        if (g.data.ptr | x.data.ptr) & 15:
            g, x = g.copy(), x.copy()
        out = cupy.ndarray(self.result, g.dtype)
        parts = partials() if self.blocks > 1 else 0
        self.go(g.data.ptr, x.data.ptr, out.data.ptr, parts, counter() if self.inside else 0)
        if not self.inside:
            self.finish(ceil(self.count / 32), 256, parts, out.data.ptr, self.blocks, self.count)
        return out


def forward_shape(x: tuple, w: tuple, out: tuple, stride: tuple, padding: tuple) -> Shape:
    return Shape(x[0], x[1], w[0], w[2:], x[2:], out, stride, padding, (1, 1), False)


def input_shape(x: tuple, w: tuple, gy: tuple, stride: tuple, padding: tuple) -> Shape | None:
    """The gradient of the input is a convolution of gy, spread by the stride, with the kernel turned."""
    front = tuple([k - 1 - p for k, p in zip(w[2:], padding)])
    if min(front) < 0 or w[0] * w[2] * w[3] > _MOST_INNER_BACK:
        return None
    return Shape(gy[0], w[0], w[1], w[2:], gy[2:], x[2:], (1, 1), front, stride, True)
