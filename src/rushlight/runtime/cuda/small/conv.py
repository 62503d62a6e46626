"""Direct convolutions for few channels, where the library kernels leave the GPU idle."""

from __future__ import annotations

from math import ceil, prod
from typing import Any

import numpy as np

from ....base.arrays import DeviceArray
from ..code.compile import arch
from ..code.launch import Launch, Result
from ..code.sources import COUNTERS, NUMBERS, PARTIALS, counter, load, partials
from ..costs import is_few_images
from ..processors import multiprocessors
from .conv_sizes import ConvShape, fits
from .conv_sizes import forward_shape as forward_shape
from .conv_sizes import input_shape as input_shape
from .conv_tiling import ConvCut, Job, best_cut, taps_tile, weight_tile

_FINISH_INSIDE = 24  # so few blocks are added up by the last of them
ANY, DENSE, POOLED = 0, 1, 2  # how an input lies: FROM in the sources


def takes(x: DeviceArray, w_shape: tuple, dilation: tuple, groups: int) -> bool:
    """Whether our kernels can compute a convolution; `conv_costs` says whether they should."""
    return x.dtype.char in NUMBERS and fits(x.dtype, x.size, w_shape, dilation, groups)


def _window(window: tuple[int, int] | None) -> dict[str, int]:
    kh, kw = window or (1, 1)
    return {"KH": kh, "KW": kw}


def _copies(char: str) -> dict[str, int]:
    """Images of floats are copied to shared memory while the threads compute."""
    return {"ASYNC": 1} if char == "f" and int(arch()[3:]) >= 80 else {}


class Forward:
    """One convolution ready to launch: the forward one, or the gradient of the input.

    With `pool` it answers the maxima of windows, through relu when asked, and their places in the
    windows (255: no gradient passes). With `spread` its input is the gradient of such maxima.
    """

    def __init__(
        self,
        shape: ConvShape,
        x: DeviceArray,
        pool: tuple[int, int] | None = None,
        relu: bool = False,
        spread: tuple[int, int] | None = None,
        cut: ConvCut | None = None,
    ) -> None:
        char = x.dtype.char
        plain = x._c_contiguous and shape.spread == (1, 1)
        self.source = POOLED if spread else DENSE if plain else ANY
        cut = cut or best_cut(Job(shape, pool or (1, 1), self.source))
        self.ok, self.pooled = cut is not None, pool is not None
        if cut is None:
            return
        out = shape.out if pool is None else tuple([n // k for n, k in zip(shape.out, pool)])
        self.result = (shape.images, shape.o, *out)
        constants = {
            **shape.constants(), **cut.constants(), **_window(pool or spread), "FROM": self.source,
            "POOL": int(self.pooled), "RELU": int(relu), **_copies(char),
        }  # fmt: skip
        launch = load("conv_small.cu", "conv_small", char, **constants)
        launch.allow(cut.shared)
        steps = [s // x.itemsize for s in x.strides]
        results = (Result(4, self.result, x.dtype), Result(5, self.result, np.uint8))
        self.go = launch.prepared(
            cut.grid(max(1, launch.resident(cut.threads, cut.shared)) * multiprocessors()), cut.threads,
            results if pool else results[:1], shape.images, *steps, shared=cut.shared,
            aligned=(0,) if self.source == DENSE else (),
        )  # fmt: skip

    def __call__(self, x: DeviceArray, w: DeviceArray, b: DeviceArray | None, places: DeviceArray | None = None) -> Any:
        rest = () if self.pooled else (None,)
        out = self.go(x, places, w, b, *rest)
        return self.go(x.copy(), places, w, b, *rest) if out is NotImplemented else out


class Weight:
    """The gradients of the weight and the bias, ready to launch.

    With `spread` the gradient is that of maxima of windows, which comes with their places.
    """

    def __init__(
        self, shape: ConvShape, dtype: np.dtype, spread: tuple[int, int] | None = None, taps: bool | None = None
    ) -> None:
        self.shape, char = shape, dtype.char
        self.result = (shape.o, shape.c, *shape.kernel)
        self.dtype = dtype
        self.finish: Any = None
        self.needs_parts = self.needs_counter = True
        made = {**shape.constants(), **_window(spread), "FROM": POOLED if spread else DENSE}
        if taps is None:
            taps = is_few_images(shape.images, spread or (1, 1))
        self.ok = (taps and self._by_taps(made, char, spread)) or self._by_images(made, char)

    def _by_taps(self, made: dict[str, int], char: str, spread: tuple[int, int] | None) -> bool:
        """Few images: every thread has one element of the kernel."""
        shape = self.shape
        tile = taps_tile(shape, spread or (1, 1))
        if tile is None:
            return False
        groups, pairs = tile.pop("groups"), tile.pop("pairs")
        size = tile["CB"] * tile["RB"] * shape.kernel[1] + 1
        if pairs > COUNTERS or groups * pairs * size > PARTIALS:
            return False
        self.needs_parts = self.needs_counter = groups > 1
        block, shared = (tile.pop("threads"), 1, 1), tile.pop("shared")
        made = {**made, **tile, **_copies(char)}
        launch = load("conv_small_taps.cu", "conv_small_taps", char, **made)
        launch.allow(shared)
        self._prepare(launch, (pairs, groups, 1), block, shared)
        return True

    def _prepare(self, launch: Launch, grid: tuple, block: tuple, shared: int) -> None:
        results = (Result(3, self.result, self.dtype), Result(4, self.result[:1], self.dtype))
        self.go, self.go_with_bias = [
            launch.prepared(grid, block, r, self.shape.images, shared=shared, aligned=(0, 2))
            for r in (results[:1], results)
        ]

    def _by_images(self, made: dict[str, int], char: str) -> bool:
        """Many images: every block takes some, and every thread a part of all kernel elements."""
        shape = self.shape
        tile = weight_tile(shape)
        if tile is None:
            return False
        count = prod(self.result) + shape.o
        threads, shared = tile.pop("threads"), tile.pop("shared")
        made = {**made, **tile, **_copies(char)}
        launch = load("conv_small_weight.cu", "conv_small_weight", char, **made)
        launch.allow(shared)
        stay = min(max(1, launch.resident(threads, shared)) * multiprocessors(), PARTIALS // count)
        across = min(shape.images, max(1, stay // tile["YB"]))
        blocks = across * tile["YB"]
        self.needs_parts, self.needs_counter = blocks > 1, 1 < blocks <= _FINISH_INSIDE
        self._prepare(launch, (across, tile["YB"], 1), (threads, 1, 1), shared)
        if blocks > _FINISH_INSIDE:
            total = load("conv_small_weight.cu", "sum_parts", char, **made)
            self.finish = total.fixed(ceil(count / 32), 256, blocks)
        return True

    def __call__(self, g: DeviceArray, x: DeviceArray, places: DeviceArray | None = None, bias: bool = False) -> Any:
        """Of dense g and x: the weight's gradient, and the bias's when asked."""
        parts = partials() if self.needs_parts else 0
        count = counter() if self.needs_counter else 0
        if bias:
            made = self.go_with_bias(g, places, x, parts, count)
        else:
            made = self.go(g, places, x, None, parts, count)
        if made is NotImplemented:
            return self(g.copy(), x.copy(), places, bias)
        if self.finish is not None:
            self.finish(parts, *(made if bias else (made, None)))
        return made
