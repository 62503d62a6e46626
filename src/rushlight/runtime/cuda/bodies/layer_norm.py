"""Layer norm and root-mean-square norm on the GPU."""

from __future__ import annotations

from math import prod
from typing import Any

import cupy
import numpy as np

from ...door import kernel_for
from ..code.sources import NUMBERS, PARTIALS, load, partials
from ..processors import multiprocessors
from .fills import row_major

_EACH = 8  # blocks that keep a multiprocessor busy


_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


def wide(char: str) -> Any:
    """The dtype that statistics of numbers of dtype `char` are kept in."""
    return _F64 if char == "d" else _F32


def stored(*arrays: Any) -> str | None:
    """The one type name of the arrays that are there; None when they differ or are not floats."""
    chars = {a.dtype.char for a in arrays if a is not None}
    if len(chars) > 1:
        return None
    char = chars.pop() if chars else "f"
    return NUMBERS[char][0] if char in NUMBERS else None


def pointer(a: Any) -> int:
    """Where an array lies; 0 for one that is missing."""
    return 0 if a is None else a.data.ptr


_WARP_ROW = 1024  # rows up to here take a warp


def _rows(x: Any, dims: int) -> tuple[int, int]:
    n = prod(x.shape[x.ndim - dims :])
    return x.size // n, n


def normalise(
    x: Any, weight: Any, bias: Any, dims: int, eps: float, rms: int = 0, other: Any = None
) -> Any:
    """Rows of x, or of x + other, normalised, with their statistics; behind them x + other."""
    char, kind = x.dtype.char, stored(weight, bias)
    if char not in NUMBERS or kind is None or not x.size:
        return NotImplemented
    if other is not None and (other.shape != x.shape or other.dtype != x.dtype):
        return NotImplemented
    x, weight, bias, other = row_major(x), row_major(weight), row_major(bias), row_major(other)
    rows, n = _rows(x, dims)
    shape = x.shape[: x.ndim - dims] + (1,) * dims
    out = cupy.ndarray(x.shape, x.dtype)
    total = None if other is None else cupy.ndarray(x.shape, x.dtype)
    mean = None if rms else cupy.ndarray(shape, wide(char))
    rstd = cupy.ndarray(shape, wide(char))
    team = int(n <= _WARP_ROW)
    formats = ("P",) * 8 + ("q", "i", "d")
    load("layer_norm.cu", "norm_rows", formats, char, NW=kind, RMS=rms, TEAM=team)(
        -(-rows // 4) if team else rows, 128 if team else 512, x.data.ptr, pointer(other),
        pointer(weight), pointer(bias), pointer(total), out.data.ptr, pointer(mean), rstd.data.ptr,
        rows, n, eps,
    )  # fmt: skip
    made = (out, rstd) if rms else (out, mean, rstd)
    return made if total is None else (*made, total)


def normalise_grad(
    gy: Any, x: Any, weight: Any, mean: Any, rstd: Any, dims: int, rms: int = 0, more: Any = None
) -> Any:
    """The gradients of x, with `more` added to it, and of weight and bias."""
    char, kind = x.dtype.char, stored(x if weight is None else weight)
    if char not in NUMBERS or kind is None or not x.size or gy.dtype != x.dtype:
        return NotImplemented
    if more is not None and (more.shape != x.shape or more.dtype != x.dtype):
        return NotImplemented
    gy, x, weight, more = row_major(gy), row_major(x), row_major(weight), row_major(more)
    mean, rstd = row_major(mean), row_major(rstd)
    rows, n = _rows(x, dims)
    options = {"NW": kind, "RMS": rms, "TEAM": int(n <= _WARP_ROW)}
    gx = cupy.ndarray(x.shape, x.dtype)
    formats = ("P",) * 7 + ("q", "i")
    load("layer_norm.cu", "norm_rows_grad", formats, char, **options)(
        -(-rows // 4) if options["TEAM"] else rows, 128 if options["TEAM"] else 512, gy.data.ptr,
        x.data.ptr, pointer(weight), pointer(mean), rstd.data.ptr, pointer(more), gx.data.ptr, rows,
        n,
    )  # fmt: skip
    dtype = x.dtype if weight is None else weight.dtype
    gw = cupy.ndarray(x.shape[x.ndim - dims :], dtype)
    gb = None if rms else cupy.ndarray(x.shape[x.ndim - dims :], dtype)
    columns = -(-n // 32)
    splits = max(1, min(_EACH * multiprocessors() // columns, -(-rows // 64), PARTIALS // (2 * n)))
    parts = partials()
    load("layer_norm.cu", "weight_sums", ("P", "P", "P", "P", "P", "q", "i"), char, **options).on_grid(
        (columns, splits, 1), (512, 1, 1), 0, gy.data.ptr, x.data.ptr, pointer(mean), rstd.data.ptr,
        parts, rows, n,
    )  # fmt: skip
    load("layer_norm.cu", "weight_finish", ("P", "P", "P", "i", "i"), char, **options)(
        -(-n // 128), 128, parts, gw.data.ptr, pointer(gb), splits, n
    )
    return (gx, gw) if rms else (gx, gw, gb)


@kernel_for("cuda", "layer_norm")
def layer_norm(x: Any, weight: Any, bias: Any, *, dims: int, eps: float) -> Any:
    return normalise(x, weight, bias, dims, eps, 0)


@kernel_for("cuda", "layer_norm_grad")
def layer_norm_grad(
    gy: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, dims: int, eps: float
) -> Any:
    return normalise_grad(gy, x, weight, mean, rstd, dims, 0)


@kernel_for("cuda", "rms_norm")
def rms_norm(x: Any, weight: Any, *, dims: int, eps: float) -> Any:
    return normalise(x, weight, None, dims, eps, 1)


@kernel_for("cuda", "rms_norm_grad")
def rms_norm_grad(gy: Any, x: Any, weight: Any, rstd: Any, *, dims: int, eps: float) -> Any:
    return normalise_grad(gy, x, weight, None, rstd, dims, 1)


# -- joined with residual sums by passes ----------------------------------------------------------


@kernel_for("cuda", "add_layer_norm")
def add_layer_norm(x: Any, other: Any, weight: Any, bias: Any, *, dims: int, eps: float) -> Any:
    return normalise(x, weight, bias, dims, eps, 0, other)


@kernel_for("cuda", "add_rms_norm")
def add_rms_norm(x: Any, other: Any, weight: Any, *, dims: int, eps: float) -> Any:
    return normalise(x, weight, None, dims, eps, 1, other)


@kernel_for("cuda", "layer_norm_grad_add")
def layer_norm_grad_add(
    gy: Any, x: Any, weight: Any, mean: Any, rstd: Any, more: Any, *, dims: int, eps: float
) -> Any:
    return normalise_grad(gy, x, weight, mean, rstd, dims, 0, more)


@kernel_for("cuda", "rms_norm_grad_add")
def rms_norm_grad_add(
    gy: Any, x: Any, weight: Any, rstd: Any, more: Any, *, dims: int, eps: float
) -> Any:
    return normalise_grad(gy, x, weight, None, rstd, dims, 1, more)
