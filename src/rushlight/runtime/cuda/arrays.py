"""CuPy as the generic kernel bodies expect it: NumPy's names and manners where the two differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...base.protocols import DeviceArray


class _Ufunc:
    """A CuPy ufunc with `at` for the ones CuPy gives none."""

    def __init__(self, inner: Callable[..., Any], at: Callable[..., None]) -> None:
        self.inner, self.at = inner, at

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.inner(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def _subtract_at(a: DeviceArray, indices: DeviceArray, b: DeviceArray) -> None:
    cupy.add.at(a, indices, -b)


def _multiply_at(a: DeviceArray, indices: DeviceArray, b: DeviceArray) -> None:
    from .bodies.indexing import fold_at

    if a.ndim != 1 or not a.flags.c_contiguous:
        raise NotImplementedError("multiply.at works on flat arrays")
    fold_at(a, cupy.ascontiguousarray(indices), cupy.ascontiguousarray(b), "prod")


class _Cupy:
    """`cupy` with the gaps filled; everything else is CuPy's own."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(cupy, name)
        setattr(self, name, value)
        return value

    subtract = _Ufunc(cupy.subtract, _subtract_at)
    multiply = _Ufunc(cupy.multiply, _multiply_at)

    @staticmethod
    def asarray(a: DeviceArray, dtype: np.typing.DTypeLike | None = None, **kwargs: Any) -> Any:
        """As CuPy's, but host values become small device arrays without a warning or a wait."""
        return cupy.asarray(a, dtype, **kwargs)

    @staticmethod
    def matmul(a: DeviceArray, b: DeviceArray) -> Any:
        """By cuBLASLt where it can: unlike CuPy's own products, those can be part of a CUDA graph."""
        from .bodies.products import plain_product

        out = plain_product(a, b)
        return cupy.matmul(a, b) if out is None else out

    @staticmethod
    def full(
        shape: tuple[int, ...],
        value: int | float | complex | np.generic,
        dtype: np.typing.DTypeLike | None = None,
    ) -> Any:
        if isinstance(value, np.generic):
            value = value.item() if value.dtype.kind != "V" else float(value)
        if dtype is None:
            dtype = np.asarray(value).dtype
        out = cupy.empty(shape, dtype)
        out.fill(value)
        return out

    @staticmethod
    def clip(a: DeviceArray, low: Any, high: Any, out: DeviceArray | None = None) -> Any:
        return cupy.clip(a, low, high, out=out).astype(a.dtype, copy=False)

    @staticmethod
    def argsort(a: DeviceArray, axis: int = -1, kind: str | None = None) -> Any:
        """Stable, nan last; by kernels of ours where there are, as CuPy's wait for the GPU."""
        from .bodies.sorting import argsort, sortable

        return argsort(a, axis) if a.ndim and sortable(a.dtype) else cupy.argsort(a, axis=axis)

    @staticmethod
    def sort(a: DeviceArray, axis: int = -1, kind: str | None = None) -> Any:
        from .bodies.sorting import ordered, sortable

        if not a.ndim or not sortable(a.dtype):
            return cupy.sort(a, axis=axis)
        return ordered(a, axis % a.ndim, 0, a.shape[axis], False)[0]

    @staticmethod
    def i0(x: DeviceArray) -> Any:
        return cupy.i0(x)

    @staticmethod
    def unique(
        a: DeviceArray, axis: int | None = None, equal_nan: bool = False, **options: Any
    ) -> Any:
        return cupy.unique(a, axis=axis, equal_nan=equal_nan, **options)


CUPY = _Cupy()
