"""The arrays of the `meta` device: a shape, strides and a dtype, and no data."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..base.shapes import strided_view


class DescribedArray:
    """What follows from a shape and a dtype, for arrays that are none of NumPy's or CuPy's."""

    __slots__ = ()
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize


class MetaArray(DescribedArray):
    """A NumPy array stretched over one element: views work on it, its values are never read."""

    __slots__ = ("__weakref__", "ghost")

    def __init__(self, ghost: np.ndarray) -> None:
        self.ghost = ghost

    @classmethod
    def of(cls, shape: tuple[int, ...], dtype: Any) -> MetaArray:
        strides = [0] * len(shape)
        step = np.dtype(dtype).itemsize
        for i in range(len(shape) - 1, -1, -1):
            strides[i] = step
            step *= max(shape[i], 1)
        one = np.empty((), dtype)
        return cls(strided_view(np, one, shape, strides))

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.ghost.shape

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.ghost.dtype

    @property
    def strides(self) -> tuple[int, ...]:
        return self.ghost.strides

    @property
    def flags(self) -> Any:
        return self.ghost.flags

    @property
    def base(self) -> None:
        return None
