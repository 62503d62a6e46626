"""`torch.quasirandom`: points that fill a cube more evenly than random ones."""

from __future__ import annotations

from typing import Any

from ..base import dtypes
from ..core.tensor import Tensor
from ..operators.create.from_data import from_numpy
from ..operators.create.ranges import arange
from ..operators.random.draws import randint
from ..operators.random.generator import Generator
from .directions import BITS, DIMENSIONS, direction_numbers

__all__ = ["SobolEngine"]


class SobolEngine:
    """Points of Sobol's sequence in up to 21201 dimensions; with `scramble` a random one of equal evenness.

    Args:
        dimension: how many numbers a point has.
        scramble: multiply the direction numbers by random triangular matrices and shift the points.
        seed: where the random numbers of `scramble` begin; the global generator gives them without one.

    Example:
        >>> torch.quasirandom.SobolEngine(dimension=2).draw(3)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500]])
    """

    MAXBIT = BITS
    MAXDIM = DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = from_numpy(direction_numbers(dimension))
        self.shift = self.sobolstate.new_zeros(dimension)
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self.num_generated = 0

    def draw(self, n: int = 1, out: Any = None, dtype: Any = None) -> Tensor:
        """The next `n` points, of shape (n, dimension)."""
        points = self._points(self.num_generated, n)
        self.num_generated += n
        if n:
            self.quasi = points[-1].clone()
        result = points.to(dtype or dtypes.get_default_dtype()) * 2.0**-BITS
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Any = None, dtype: Any = None) -> Tensor:
        """The next 2**m points; the total so far must be a power of two, too."""
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(2**m, out, dtype)

    def reset(self) -> SobolEngine:
        """Begin again at the first point."""
        self.quasi = self.shift.clone()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave `n` points out."""
        self.num_generated += n
        if self.num_generated:
            self.quasi = self._points(self.num_generated - 1, 1)[0]
        return self

    def _points(self, first: int, n: int) -> Tensor:
        """Points as integers: the directions at the set bits of a point's Gray code, xor-ed together."""
        at = arange(first, first + n, device="cpu")
        gray = (at ^ (at >> 1)).unsqueeze(1)
        points = self.shift.expand(n, self.dimension)
        for bit in range((first + n).bit_length()):
            points = points ^ ((gray >> bit & 1) * self.sobolstate[:, bit])
        return points

    def _scramble(self) -> None:
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        shifts = randint(2, (self.dimension, BITS), generator=generator, device="cpu")
        self.shift = (shifts << arange(BITS, device="cpu")).sum(1)
        size = (self.dimension, BITS, BITS)
        matrices = randint(2, size, generator=generator, device="cpu").tril()
        matrices.diagonal(0, -2, -1).fill_(1)
        high_first = arange(BITS - 1, -1, -1, device="cpu")
        bits = self.sobolstate.unsqueeze(1) >> high_first.unsqueeze(1) & 1  # (dim, bit, number)
        mixed = (matrices.float() @ bits.float()).long() & 1  # sums of 30 bits are exact in float32
        self.sobolstate = (mixed << high_first.unsqueeze(1)).sum(1)

    def __repr__(self) -> str:
        told = [f"dimension={self.dimension}"]
        told += ["scramble=True"] if self.scramble else []
        told += [] if self.seed is None else [f"seed={self.seed}"]
        return f"{type(self).__name__}({', '.join(told)})"
