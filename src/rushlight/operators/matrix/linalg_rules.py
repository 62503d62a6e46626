"""What the functions of linalg share: what they check first, the error of matrices that cannot be factored, a factorisation."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import title
from ...core.public import publish
from ...core.tensor import Tensor
from ...runtime.devices import backend_of_type
from ..memory.copies import clone_op


class LinAlgError(RuntimeError):
    """A matrix is singular, not positive-definite, or its factorisation did not converge."""


publish("linalg", "LinAlgError", LinAlgError)


def check_matrix(x: Any, name: str, halves: bool = False, any_dtype: bool = False) -> None:
    """At least two dims of floating point numbers wide enough for a factorisation, or of any."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name.replace('.', '_')}(): argument 'A' (position 1) must be Tensor, not {type(x).__name__}")
    if x._a.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if not any_dtype:
        check_floating(x, name, halves)


def check_floating(x: Tensor, name: str, halves: bool = False) -> None:
    dtype = x._a.dtype
    if dtype.kind not in "fcV":
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {title(x.dtype)}")
    if dtype.itemsize == 2 and not halves:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {title(x.dtype)}")


def check_square(x: Any, name: str, halves: bool = False, any_dtype: bool = False) -> None:
    check_matrix(x, name, halves, any_dtype)
    m, n = x._a.shape[-2:]
    if m != n:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {m} by {n} matrices")


def adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose of the last two dims."""
    x = x.transpose(-2, -1)
    return x.conj() if x._a.dtype.kind == "c" else x


def columns(x: Tensor) -> Tensor:
    """`x` with its matrices column by column in memory, as PyTorch's factorisations leave them."""
    n = x._a.ndim
    if n < 2 or x.transpose(-2, -1).is_contiguous():
        return x
    return clone_op(x, order=(*range(n - 2), n - 1, n - 2))


def eye_like(x: Tensor, n: int) -> Tensor:
    """The identity of size n in the dtype and on the device of `x`."""
    from ...core.tensor import wrap

    return wrap(np.eye(n, dtype=x._a.dtype)).to(x.device)


def leading(xp: ArrayModule, a: Any) -> tuple[int, ...]:
    return a.shape[:-2]


def batch_label(shape: tuple[int, ...], number: int) -> str:
    return f"(Batch element {number}): " if shape else ""


def in_numpy(x: Array) -> np.ndarray:
    """The numbers of an array of any device, for the words of an error."""
    return x if isinstance(x, np.ndarray) else backend_of_type(x.__class__).to_host(x)


def lu_raw(xp: ArrayModule, x: Array) -> tuple[Any, Any]:
    """Both factors packed in one array, and the row each step swapped with (from 1)."""
    a = xp.array(x).reshape(prod(x.shape[:-2]), *x.shape[-2:])
    b, m, n = a.shape
    k = min(m, n)
    swaps = xp.zeros((b, k), np.int32)
    # By LAPACK's measure the largest complex number is the one whose parts add up to most.
    size = xp.abs if a.dtype.kind != "c" else lambda z: xp.abs(z.real) + xp.abs(z.imag)
    rows = xp.arange(b)
    for i in range(k):
        at = size(a[:, i:, i]).argmax(axis=1) + i
        swaps[:, i] = at + 1
        kept = a[rows, at].copy()
        a[rows, at] = a[:, i]
        a[:, i] = kept
        pivot = a[:, i, i]
        factor = a[:, i + 1 :, i] / xp.where(pivot == 0, 1, pivot)[:, None]
        a[:, i + 1 :, i] = factor
        a[:, i + 1 :, i + 1 :] -= factor[:, :, None] * a[:, None, i, i + 1 :]
    return a.reshape(x.shape), swaps.reshape(*x.shape[:-2], k)
