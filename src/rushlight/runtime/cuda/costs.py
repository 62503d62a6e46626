"""What things cost on a GPU, in microseconds: a few figures of the device, and the models made of them.

The figures are an H200's, measured inside CUDA graphs or fitted to what was measured there (the notes beside each). Everything that
chooses between kernels by their sizes asks here, so that another GPU needs other figures and no other code.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

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
    # cuDNN's half-precision convolutions, by the order of their arrays in memory.
    row_major: float
    channels_last: float


H200 = Figures(
    launch=2.0, bandwidth=4.3e6,
    library=8.5, multiplications={"f": 22e6, "t": 60e6, "e": 300e6, "E": 300e6, "d": 20e6},
    tile=4.5, tile_term=0.044, epilogue=2.1, bias_sums=4.6, row=3e-3,
    row_major=60e6, channels_last=250e6,
)  # fmt: skip


def figures() -> Figures:
    """Those of the GPU in use; an H200's stand for all until another one has been measured."""
    return H200


def moving(nbytes: float) -> float:
    """A kernel that only moves so many bytes."""
    f = figures()
    return f.launch + nbytes / f.bandwidth


def traffic(ins: Any) -> int:
    """The bytes an instruction reads and writes."""
    arrays = [i for i in (*ins.inputs, *ins.outputs) if hasattr(i, "nbytes")]
    return sum(a.nbytes for a in arrays)


def saves(made: Any, parts: Iterable[Any]) -> bool:
    """Whether one kernel that moves `made`'s bytes is quicker than one for each part; what is computed is the same."""
    return moving(traffic(made)) < sum(moving(traffic(p)) for p in parts)


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
