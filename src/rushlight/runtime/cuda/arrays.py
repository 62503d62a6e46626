"""CuPy as the generic kernel bodies expect it: NumPy's names and manners where the two differ."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import cupy
import cupyx
import numpy as np

from ...base.arrays import DeviceArray


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


class _Strides:
    """`cupy.lib.stride_tricks`, whose views do not know the array that they are views of."""

    @staticmethod
    def as_strided(x: DeviceArray, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
        """A view by strides, with the owner of its memory as its base, as all other views have."""
        out = cupy.lib.stride_tricks.as_strided(x, shape, strides)
        set_base(out, x if x.base is None else x.base)
        return out


class _NumpyLib:
    stride_tricks = _Strides


class _Linalg:
    """`cupy.linalg`, where what may have no answer tells so, as NumPy's does; the host waits for that."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(cupy.linalg, name)
        if name not in ("inv", "solve", "cholesky"):
            return found

        def telling(*args: Any) -> Any:
            with cupyx.errstate(linalg="raise"):
                return found(*args)

        return telling


_NUMBERS = (bool, int, float, complex, np.generic)


class _Cupy:
    """`cupy` with the gaps filled; everything else is CuPy's own."""

    lib = _NumpyLib
    linalg = _Linalg()

    def __getattr__(self, name: str) -> Any:
        value = getattr(cupy, name)
        setattr(self, name, value)
        return value

    subtract = _Ufunc(cupy.subtract, _subtract_at)
    multiply = _Ufunc(cupy.multiply, _multiply_at)

    @staticmethod
    def asarray(a: DeviceArray, dtype: np.typing.DTypeLike | None = None, **kwargs: Any) -> Any:
        """As CuPy's, but a number is written by the GPU itself: nothing is sent, which a graph would not take."""
        if isinstance(a, _NUMBERS):
            return CUPY.full((), a, getattr(a, "dtype", None) if dtype is None else dtype)
        return cupy.asarray(a, dtype, **kwargs)

    @staticmethod
    def kept(a: np.ndarray, index: int | None = None) -> Any:
        """A host array that is sent once and only read, so that what needs it can be part of a CUDA graph."""
        from .code.tables import kept

        return kept(a, index)

    @staticmethod
    def matmul(a: DeviceArray, b: DeviceArray) -> Any:
        """By cuBLASLt where it can: unlike CuPy's own products, those can be part of a CUDA graph."""
        from .bodies.products import plain_product

        out = plain_product(a, b)
        return cupy.matmul(a, b) if out is None else out

    @staticmethod
    def full(
        shape: tuple[int, ...], value: int | float | complex | np.generic, dtype: np.typing.DTypeLike | None = None
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
    def unique(a: DeviceArray, axis: int | None = None, equal_nan: bool = False, **options: Any) -> Any:
        return cupy.unique(a, axis=axis, equal_nan=equal_nan, **options)


CUPY = _Cupy()


# -- the base of a view ------------------------------------------------------------------------------


@lru_cache(1)
def _base_at() -> int | None:
    """Where an array keeps its base, counted from the array's own address; None where that cannot be found out.

    CuPy lets nobody set it. The place is found in views whose bases are known, and believed where only one fits all.
    """
    owners = [cupy.ndarray((n,), np.float32) for n in (2, 3)]
    views = [a[1:] for a in owners] + [a[:1] for a in owners]
    word, size = ctypes.sizeof(ctypes.c_void_p), cupy.ndarray.__basicsize__
    fits = []
    for at in range(word, size - word + 1, word):
        found = [ctypes.c_void_p.from_address(id(a) + at).value for a in (*views, *owners)]
        if found == [*[id(a) for a in owners] * 2, id(None), id(None)]:
            fits.append(at)
    return fits[0] if len(fits) == 1 else None


def set_base(view: DeviceArray, owner: DeviceArray) -> None:
    """Let a view that has no base hold the array that owns its memory.

    Where CuPy keeps its bases in another way the view stays as it is; a recorder refuses such views.
    """
    at = _base_at()
    if at is None or view.base is not None:
        return
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(owner))
    ctypes.c_void_p.from_address(id(view) + at).value = id(owner)
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(None))  # that stood there
