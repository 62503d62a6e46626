"""Bodies on raw arrays that several of linalg's files share."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule


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
