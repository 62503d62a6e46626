"""What things cost on a GPU, in microseconds: a few figures of the device, and the models made of them.

The figures are an H200's, measured inside CUDA graphs or fitted to what was measured there (the notes beside each). Everything that
chooses between kernels by their sizes asks here, so that another GPU needs other figures and no other code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ...base.arrays import InstructionLike
from .processors import multiprocessors


class Figures(NamedTuple):
    """What the models know of a GPU."""

    launch: float  # from one kernel of a graph to the next, however little it does
    bandwidth: float  # bytes a microsecond that a plain kernel reads and writes
    # cuBLASLt: 512 x 400 x 120 takes 9.6 us, 256 x 512 x 512 11.0, 100 x 784 x 1000 12.8 (float32, no TF32).
    library: float  # a product of the library's, however small
    multiplications: dict[str, float]  # a microsecond, by dtype character; "t" is float32 as TF32
    # Our tiled kernel, for the same three: 7.3 us (64 terms a block), 10.2 (128), 14.3 (224).
    tile: float  # a product of ours, however small
    tile_term: float  # ... and for every term of a block's sums
    epilogue: float  # relu in the library's product, more than the product alone
    bias_sums: float  # ... and the sums of a gradient's rows
    row: float  # what a sum over rows waits for each of them
    # Our kernel for few rows: 16.8 million weights take 20.5 us for up to 4 rows, 72 to 75 for 5 to 16 of them.
    few: float  # such a product, however small
    few_bytes: float  # a microsecond, of the weight, for up to 4 rows
    few_weights: float  # ... and numbers of it for more rows
    few_grads: float  # all gradients at once: numbers of the weight, up to 4 rows
    few_grads_more: float  # ... and for more rows
    few_library: dict[str, float]  # what a product of so few rows takes of cuBLASLt, however small
    grads_library: float  # ... and the two products and the sum of all gradients, however small
    grads_bytes: float  # a microsecond that these read and write of the weight
    # Convolutions of few channels, fitted to 348 of them in float32 and 348 in float16 (2026-11-15):
    # choosing by these figures loses 4 % of the time of the quicker one, and 2 % for the gradients of weights.
    direct: float  # our kernel, however small
    direct_cycles: float  # a microsecond, of the model in small/conv_tiling.py
    direct_weight: float  # the weight's gradients by ours
    direct_few: float  # multiplications a microsecond of the kernel for few images
    direct_many: float  # ... and of the one that has a block for some images
    direct_few_images: int  # up to so many images the first of the two was measured to be quicker
    direct_few_window: int  # ... and up to so many for each element of a pool's window
    conv: float  # cuDNN's, however small
    conv_term: float  # for every term of a sum
    conv_pixel: float  # for every result of one channel
    conv_weight: float  # the gradient of the weight by cuDNN
    conv_weight_pixel: float
    conv_work: float  # multiplications a microsecond of both
    conv_columns: int  # fewer channels out take as long as so many
    # cuDNN's half-precision convolutions, by the order of their arrays in memory.
    row_major: float
    channels_last: float


H200 = Figures(
    launch=2.0, bandwidth=4.3e6,
    library=8.5, multiplications={"f": 22e6, "t": 60e6, "e": 300e6, "E": 300e6, "d": 20e6},
    tile=4.5, tile_term=0.044, epilogue=2.1, bias_sums=4.6, row=3e-3,
    few=1.5, few_bytes=3.4e6, few_weights=0.23e6, few_grads=0.29e6, few_grads_more=0.12e6,
    few_library={"f": 5.5, "t": 5.5, "e": 2.5, "E": 2.5, "d": 5.5}, grads_library=4.0, grads_bytes=2e6,
    direct=1.7, direct_cycles=900.0, direct_weight=5.0, direct_few=1.8e6, direct_many=20e6,
    direct_few_images=40, direct_few_window=10,
    conv=2.0, conv_term=0.012, conv_pixel=2.5e-4, conv_weight=14.0, conv_weight_pixel=5e-5,
    conv_work=25e6, conv_columns=16, row_major=60e6, channels_last=250e6,
)  # fmt: skip


def figures() -> Figures:
    """Those of the GPU in use; an H200's stand for all until another one has been measured."""
    return H200


def moving(nbytes: float) -> float:
    """A kernel that only moves so many bytes."""
    f = figures()
    return f.launch + nbytes / f.bandwidth


def traffic(ins: InstructionLike) -> int:
    """The bytes an instruction reads and writes."""
    arrays = [i for i in (*ins.inputs, *ins.outputs) if hasattr(i, "nbytes")]
    return sum(a.nbytes for a in arrays)


def saves(made: InstructionLike, parts: Iterable[Any]) -> bool:
    """Whether one kernel that moves `made`'s bytes is quicker than one for each part; what is computed is the same."""
    return moving(traffic(made)) < sum(moving(traffic(p)) for p in parts)


def gathering_saves(made: InstructionLike, parts: Sequence[Any]) -> bool:
    """Whether one early (or late) launch for many small kernels is quicker, although its results are then read from memory.

    Results of a kernel that has just run are still in the cache.
    """
    f = figures()
    later = sum(out.nbytes for out in made.outputs) / f.bandwidth
    return f.launch * (len(parts) - 1) > later


def of_library(m: int, n: int, k: int, kind: str) -> float:
    """A product of m x k by k x n by cuBLASLt; the kind is a dtype's character, or "t" for TF32."""
    f = figures()
    return f.library + m * n * k / f.multiplications[kind]


def of_tiles(blocks: int, terms: int) -> float:
    """A product by our tiled kernel: so many blocks, each with sums of so many terms."""
    f = figures()
    return f.tile + f.tile_term * terms * -(-blocks // (2 * multiprocessors()))


def of_row_sums(rows: int, nbytes: int) -> float:
    """A matrix summed over its rows by a kernel of its own."""
    return moving(nbytes) + figures().row * rows


def of_direct(cycles: float) -> float:
    """A convolution by our kernel for few channels, or the gradient of its input, of so many cycles."""
    f = figures()
    return f.direct + cycles / f.direct_cycles


def of_direct_weight(work: float, few: bool) -> float:
    """The gradients of its weight and bias, of so many multiplications; `few` images have a kernel of their own."""
    f = figures()
    return f.direct_weight + work / (f.direct_few if few else f.direct_many)


def is_few_images(images: int, window: tuple[int, int]) -> bool:
    """Whether the kernel for few images is the quicker one for a weight's gradient, behind a pool of such windows."""
    f = figures()
    return images <= min(f.direct_few_window * window[0] * window[1], f.direct_few_images)


def of_library_conv(pixels: int, terms: int, channels: int) -> float:
    """A convolution by cuDNN: so many results in each of its channels, each a sum of so many terms."""
    f = figures()
    work = pixels * terms * max(channels, f.conv_columns)
    return f.conv + f.conv_term * terms + f.conv_pixel * pixels + work / f.conv_work


def of_library_conv_weight(pixels: int, terms: int, channels: int) -> float:
    """The gradient of its weight by cuDNN."""
    f = figures()
    work = pixels * terms * max(channels, f.conv_columns)
    return f.conv_weight + f.conv_weight_pixel * pixels + work / f.conv_work


def few_rows_pay(m: int, n: int, k: int, kind: str, itemsize: int) -> bool:
    """Whether the kernel that keeps few rows in registers is quicker than the library's product."""
    f, weight = figures(), n * k * itemsize
    ours = f.few + (weight / f.few_bytes if m <= 4 else n * k / f.few_weights)
    library = f.few_library[kind] + m * n * k / f.multiplications[kind] + weight / f.bandwidth
    return ours < library


def few_grads_pay(m: int, n: int, k: int, kind: str, itemsize: int) -> bool:
    """Whether all gradients of such a layer in one launch are quicker than two products and a sum."""
    f = figures()
    ours = f.few + n * k / (f.few_grads if m <= 4 else f.few_grads_more)
    products = 2 * m * n * k / f.multiplications[kind] + 2 * n * k * itemsize / f.grads_bytes
    return ours < f.grads_library + products
