"""Whether our kernel for few channels is quicker than the library's convolution: asked before either is made, without a GPU."""

from __future__ import annotations

from functools import lru_cache
from math import prod

from ..costs import is_few_images, of_direct, of_direct_weight, of_library_conv, of_library_conv_weight
from .conv_sizes import ConvShape
from .conv_tiling import Job, best_cut, taps_tile, weight_tile

DENSE = 1  # how the input of a plain convolution lies: FROM in conv_small.cu


@lru_cache(4096)
def forward_pays(shape: ConvShape, pool: tuple[int, int] = (1, 1), source: int = DENSE, beside: float = 0.0) -> bool:
    """Whether to compute a convolution, or the gradient of its input, by our kernel.

    `beside` is what kernels cost that ours makes needless: the pool and the relu behind it.
    """
    cut = best_cut(Job(shape, pool, source))
    if cut is None:
        return False
    pixels, terms = shape.images * prod(shape.out), shape.c * prod(shape.kernel)
    return of_direct(cut.cost()) < of_library_conv(pixels, terms, shape.o) + beside


@lru_cache(4096)
def weight_pays(shape: ConvShape, spread: tuple[int, int] = (1, 1), beside: float = 0.0) -> bool:
    """Whether to compute the gradients of weight and bias by our kernel; the shape is the forward one's."""
    few = is_few_images(shape.images, spread) and taps_tile(shape, spread) is not None
    if not few and weight_tile(shape) is None:
        return False
    pixels, terms = shape.images * prod(shape.out), shape.c * prod(shape.kernel)
    library = of_library_conv_weight(pixels, terms, shape.o) + beside
    return of_direct_weight(pixels * terms * shape.o, few) < library
