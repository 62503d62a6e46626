"""Runs one kernel case on the GPU and on the CPU and says how far apart they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuda_cases import Case

LAYOUTS = ("dense", "strided", "misaligned", "last")


def _to_gpu(a: Any, layout: str) -> Any:
    """The array on the GPU: dense, every other element, off by one element, or channels last."""
    import cupy

    if a is None:
        return None
    if layout == "strided" and a.ndim and a.size:
        big = cupy.empty((*a.shape[:-1], a.shape[-1] * 2), a.dtype)
        view = big[..., ::2]
    elif layout == "misaligned" and a.size:
        big = cupy.empty(a.size + 1, a.dtype)
        view = big[1:].reshape(a.shape)
    elif layout == "last" and a.ndim > 3 and a.size:
        big = cupy.empty((a.shape[0], *a.shape[2:], a.shape[1]), a.dtype)
        view = cupy.moveaxis(big, -1, 1)
    else:
        return cupy.asarray(a)
    cupy.copyto(view, cupy.asarray(a))
    return view


def prepared(case: Case) -> list[Any]:
    """The case's arrays in its dtype; statistics of half precision stay wide."""
    keep = {"batch_norm_grad": (3, 4), "layer_norm_grad": (3, 4), "rms_norm_grad": (3,), "cross_entropy_grad": (2,)}
    out = []
    for i, a in enumerate(case.arrays):
        if case.name.endswith("_update") and i == 0:
            out.append(a)
        elif a is not None and a.dtype.kind == "f" and i not in keep.get(case.name, ()):
            out.append(np.array(a.astype(case.dtype)))
        else:
            out.append(a)
    return out


def _error(mine: Any, theirs: Any) -> float:
    a, b = np.asarray(mine, np.float64), np.asarray(theirs, np.float64)
    if a.shape != b.shape:
        return float("inf")
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    scale = max(float(np.abs(b[np.isfinite(b)]).max(initial=0.0)), 1e-3)
    off = np.abs(a[~same] - b[~same])
    return float("inf") if np.isnan(off).any() else float(off.max() / scale)


def compare(case: Case, layout: str = "dense") -> tuple[float, Any]:
    """The largest error over all results relative to their size, and the GPU call for timing."""
    import cupy

    from rushlight.runtime import devices
    from rushlight.runtime.door import KERNELS

    arrays = prepared(case)
    mutating = case.name.endswith("_update")
    own = devices.overrides("cuda")[case.name]
    gpu = [a if mutating and i == 0 else _to_gpu(a, layout) for i, a in enumerate(arrays)]

    def call() -> Any:
        return own(*gpu, **case.attrs)

    out = call()
    if out is NotImplemented:
        return -1.0, call
    with np.errstate(all="ignore"):
        want = KERNELS[case.name].generic(np, *arrays, **case.attrs)
    if case.name == "running_statistics":
        pairs = [(a, b) for a, b in zip(gpu[:2], arrays[:2]) if a is not None]
    elif mutating:
        n = case.attrs["n"]
        mine, theirs = gpu[1:], arrays[1:]
        pairs = [(a, b) for i, (a, b) in enumerate(zip(mine, theirs)) if not n <= i < 2 * n]
    else:
        pairs = list(zip(out, want)) if out.__class__ is tuple else [(out, want)]
        for a, b in pairs:
            assert a.dtype == np.asarray(b).dtype, f"{case.name}: {a.dtype} is not {b.dtype}"
    return max(_error(cupy.asnumpy(a), b) for a, b in pairs), call
