"""Normalisation on the GPU: batch norm in both memory orders, layer norm and root-mean-square norm."""

from __future__ import annotations

from math import prod
from typing import Any

import cupy
import numpy as np

from ..door import kernel_for
from .sources import NUMBERS, PARTIALS, blocks_for, device, load, partials

_FILL = 132 * 8  # blocks that keep an H200 busy


_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


def _wide(char: str) -> Any:
    return _F64 if char == "d" else _F32


def _stored(*arrays: Any) -> str | None:
    """The one type name of the arrays that are there; None when they differ or are not floats."""
    chars = {a.dtype.char for a in arrays if a is not None}
    if len(chars) > 1:
        return None
    char = chars.pop() if chars else "f"
    return NUMBERS[char][0] if char in NUMBERS else None


def _ptr(a: Any) -> int:
    return 0 if a is None else a.data.ptr


def _dense(a: Any) -> Any:
    return a if a is None or a._c_contiguous else cupy.ascontiguousarray(a)


# -- batch norm ---------------------------------------------------------------------------------


def _is_last(x: Any) -> bool:
    """Whether the channels of x (N, C, ...) lie innermost."""
    if x._c_contiguous or x.ndim < 3:
        return bool(x._c_contiguous) and prod(x.shape[2:]) == 1
    order = (0, *range(2, x.ndim), 1)
    return bool(x.transpose(order)._c_contiguous)


def _like(x: Any) -> Any:
    """An empty array with x's shape and memory order."""
    memory = cupy.cuda.alloc(x.size * x.itemsize)
    return cupy.ndarray(x.shape, x.dtype, memory, x.strides)


class _Layout:
    """How the channels of one shape are walked."""

    __slots__ = ("across", "c", "down", "images", "inner", "last", "n", "options", "splits", "vw")

    def __init__(self, x: Any, last: bool) -> None:
        self.last = last
        self.c = x.shape[1]
        self.n = x.size // self.c
        self.inner = prod(x.shape[2:])
        widest = 16 // x.itemsize
        side = self.c if last else self.inner
        self.vw = next(v for v in (widest, 4, 2, 1) if v <= widest and side % v == 0)
        index = "unsigned" if x.size < 1 << 30 else "i64"
        self.options = {"LAST": int(last), "VW": self.vw, "IX": index}
        self.images = self.n if last else x.shape[0]
        if last:
            self.across = min(max(1, -(-self.c // self.vw)), 64)
            self.down = max(1, 256 // self.across)
            columns = -(-self.c // (self.across * self.vw))
            most = -(-self.n // (self.down * 4))
            self.splits = max(1, min(_FILL // 2 // columns, most, PARTIALS // (2 * self.c)))
        else:
            self.across = self.down = 0
            most = -(-self.n // 4096)
            self.splits = max(1, min(-(-_FILL // self.c), most, PARTIALS // (2 * self.c)))

    def sums(self, name: str, char: str, arrays: int) -> Any:
        """The launch of the two sums per channel over `arrays` inputs."""
        formats = ("P",) * (arrays + 1) + ("i", "i", "q")
        launch = load("batch_norm.cu", name, formats, char, **self.options)
        if self.last:
            columns = -(-self.c // (self.across * self.vw))
            shared = self.across * self.down * self.vw * 2 * (8 if char == "d" else 4)
            grid, block = (columns, self.splits, 1), (self.across, self.down, 1)
        else:
            shared = 0
            grid, block = (self.c, self.splits, 1), (256, 1, 1)
        return launch.fixed(grid, block, shared, arrays + 1, self.c, self.inner, self.images)

    def elementwise(
        self, name: str, formats: tuple, pointers: int, char: str, number: float, **options: Any
    ) -> Any:
        """The launch over all elements; `number` is its last argument."""
        launch = load("batch_norm.cu", name, formats, char, **options, **self.options)
        count = self.n * self.c
        grid = (blocks_for(count // self.vw), 1, 1)
        return launch.fixed(grid, (256, 1, 1), 0, pointers, count, self.c, self.inner, number)

    def per_channel(
        self, name: str, formats: tuple, pointers: int, char: str, *numbers: Any, **options: Any
    ) -> Any:
        """The launch that adds up the splits of 32 channels a block."""
        launch = load("batch_norm.cu", name, formats, char, **options, **self.options)
        return launch.fixed((-(-self.c // 32), 1, 1), (256, 1, 1), 0, pointers, *numbers)


class _Train:
    """The three launches of batch norm in training, for one shape."""

    __slots__ = ("apply", "statistics", "sums")

    def __init__(self, layout: _Layout, char: str, kind: str, eps: float) -> None:
        self.sums = layout.sums("sums", char, 1)
        formats = ("P", "P", "P", "P", "i", "i", "i", "q", "d")
        numbers = (layout.c, layout.inner, layout.splits, layout.n, eps)
        self.statistics = layout.per_channel("statistics", formats, 4, char, *numbers)
        self.apply = layout.elementwise("apply", _APPLY, 6, char, eps, NW=kind)


class _Back:
    """The three launches of its derivative."""

    __slots__ = ("apply", "sums", "weights")

    def __init__(self, layout: _Layout, char: str, kind: str) -> None:
        self.sums = layout.sums("grad_sums", char, 3)
        formats: tuple[str, ...] = ("P", "P", "P", "P", "P", "i", "i")
        numbers = (layout.c, layout.splits)
        self.weights = layout.per_channel("weight_grads", formats, 5, char, *numbers, NW=kind)
        formats = ("P",) * 7 + ("q", "i", "i", "d")
        self.apply = layout.elementwise("apply_grad", formats, 7, char, 1.0 / layout.n, NW=kind)


_APPLY = ("P", "P", "P", "P", "P", "P", "q", "i", "i", "d")
_layouts: dict[tuple, _Layout] = {}
_trains: dict[tuple, _Train] = {}
_backs: dict[tuple, _Back] = {}


def _layout(x: Any) -> tuple[Any, _Layout]:
    """x in an order the kernels know, with its layout."""
    last = _is_last(x)
    if not last and not x._c_contiguous:
        x = cupy.ascontiguousarray(x)
    if x.data.ptr & 15:
        x = x.copy(order="K")
    key = (x.shape, last, x.itemsize)  # a layout knows sizes only
    found = _layouts.get(key)
    if found is None:
        found = _layouts[key] = _Layout(x, last)
    return x, found


def _as(g: Any, x: Any) -> Any:
    """g in the memory order of x, aligned for wide reads."""
    if g.strides == x.strides and not g.data.ptr & 15:
        return g
    out = _like(x)
    cupy.copyto(out, g)
    return out


@kernel_for("cuda", "batch_norm_train")
def batch_norm_train(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    char, kind = x.dtype.char, _stored(weight, bias)
    if char not in NUMBERS or kind is None or x.size < 2:
        return NotImplemented
    x, layout = _layout(x)
    key = (x.shape, layout.last, char, kind, eps, device())
    call = _trains.get(key)
    if call is None:
        call = _trains[key] = _Train(layout, char, kind, eps)
    weight, bias = _dense(weight), _dense(bias)
    parts = partials()
    at = x.data.ptr
    call.sums(at, parts)
    mean, invstd = cupy.ndarray((layout.c,), _wide(char)), cupy.ndarray((layout.c,), _wide(char))
    call.statistics(at, parts, mean.data.ptr, invstd.data.ptr)
    out = _like(x)
    call.apply(at, _ptr(weight), _ptr(bias), mean.data.ptr, invstd.data.ptr, out.data.ptr)
    return out, mean, invstd


@kernel_for("cuda", "batch_norm_grad")
def batch_norm_grad(gy: Any, x: Any, weight: Any, mean: Any, invstd: Any, *, eps: float) -> Any:
    char, kind = x.dtype.char, _stored(x if weight is None else weight)
    wide = _wide(char)
    if char not in NUMBERS or kind is None or not x.size or gy.dtype != x.dtype:
        return NotImplemented
    if mean.dtype != wide or invstd.dtype != wide:
        return NotImplemented
    x, layout = _layout(x)
    key = (x.shape, layout.last, char, kind, device())
    call = _backs.get(key)
    if call is None:
        call = _backs[key] = _Back(layout, char, kind)
    gy = _as(gy, x)
    weight, mean, invstd = _dense(weight), _dense(mean), _dense(invstd)
    c, parts = layout.c, partials()
    call.sums(gy.data.ptr, x.data.ptr, mean.data.ptr, parts)
    totals = cupy.ndarray((2, c), wide)
    dtype = x.dtype if weight is None else weight.dtype
    gw, gb = cupy.ndarray((c,), dtype), cupy.ndarray((c,), dtype)
    call.weights(parts, invstd.data.ptr, totals.data.ptr, gw.data.ptr, gb.data.ptr)
    gx = _like(x)
    call.apply(
        gy.data.ptr, x.data.ptr, _ptr(weight), mean.data.ptr, invstd.data.ptr, totals.data.ptr,
        gx.data.ptr,
    )  # fmt: skip
    return gx, gw, gb


@kernel_for("cuda", "batch_norm_eval")
def batch_norm_eval(x: Any, weight: Any, bias: Any, mean: Any, var: Any, *, eps: float) -> Any:
    char, kind, stats = x.dtype.char, _stored(weight, bias), _stored(mean, var)
    if char not in NUMBERS or kind is None or stats is None or not x.size:
        return NotImplemented
    x, layout = _layout(x)
    weight, bias, mean, var = _dense(weight), _dense(bias), _dense(mean), _dense(var)
    out = _like(x)
    load("batch_norm.cu", "apply_eval", _APPLY, char, NW=kind, NS=stats, **layout.options)(
        blocks_for(x.size // layout.vw), 256, x.data.ptr, _ptr(weight), _ptr(bias), mean.data.ptr,
        var.data.ptr, out.data.ptr, x.size, layout.c, layout.inner, eps,
    )  # fmt: skip
    return out


@kernel_for("cuda", "running_statistics")
def running_statistics(
    means: Any, variances: Any, mean: Any, invstd: Any, *, momentum: float, eps: float, n: int
) -> Any:
    held = means if variances is None else variances
    char = held.dtype.char
    if char not in NUMBERS or _stored(means, variances) is None:
        return NotImplemented
    if mean.dtype != _wide(char) or not all(
        a is None or a._c_contiguous for a in (means, variances, mean, invstd)
    ):
        return NotImplemented
    load("batch_norm.cu", "running", ("P", "P", "P", "P", "i", "d", "d", "d"), char)(
        -(-held.size // 128), 128, _ptr(means), _ptr(variances), mean.data.ptr, invstd.data.ptr,
        held.size, momentum, eps, n / max(n - 1, 1),
    )  # fmt: skip
    return ()


# -- layer norm and root-mean-square norm ---------------------------------------------------------

_WARP_ROW = 1024  # rows up to here take a warp


def _rows(x: Any, dims: int) -> tuple[int, int]:
    n = prod(x.shape[x.ndim - dims :])
    return x.size // n, n


def _normalise(x: Any, weight: Any, bias: Any, dims: int, eps: float, rms: int) -> Any:
    char, kind = x.dtype.char, _stored(weight, bias)
    if char not in NUMBERS or kind is None or not x.size:
        return NotImplemented
    x, weight, bias = _dense(x), _dense(weight), _dense(bias)
    rows, n = _rows(x, dims)
    shape = x.shape[: x.ndim - dims] + (1,) * dims
    out = cupy.ndarray(x.shape, x.dtype)
    mean = None if rms else cupy.ndarray(shape, _wide(char))
    rstd = cupy.ndarray(shape, _wide(char))
    team = int(n <= _WARP_ROW)
    formats = ("P", "P", "P", "P", "P", "P", "q", "i", "d")
    load("layer_norm.cu", "norm_rows", formats, char, NW=kind, RMS=rms, TEAM=team)(
        -(-rows // 4) if team else rows, 128 if team else 512, x.data.ptr, _ptr(weight),
        _ptr(bias), out.data.ptr, _ptr(mean), rstd.data.ptr, rows, n, eps,
    )  # fmt: skip
    return (out, rstd) if rms else (out, mean, rstd)


def _normalise_grad(gy: Any, x: Any, weight: Any, mean: Any, rstd: Any, dims: int, rms: int) -> Any:
    char, kind = x.dtype.char, _stored(x if weight is None else weight)
    if char not in NUMBERS or kind is None or not x.size or gy.dtype != x.dtype:
        return NotImplemented
    gy, x, weight = _dense(gy), _dense(x), _dense(weight)
    mean, rstd = _dense(mean), _dense(rstd)
    rows, n = _rows(x, dims)
    options = {"NW": kind, "RMS": rms, "TEAM": int(n <= _WARP_ROW)}
    gx = cupy.ndarray(x.shape, x.dtype)
    formats = ("P", "P", "P", "P", "P", "P", "q", "i")
    load("layer_norm.cu", "norm_rows_grad", formats, char, **options)(
        -(-rows // 4) if options["TEAM"] else rows, 128 if options["TEAM"] else 512, gy.data.ptr,
        x.data.ptr, _ptr(weight), _ptr(mean), rstd.data.ptr, gx.data.ptr, rows, n,
    )  # fmt: skip
    dtype = x.dtype if weight is None else weight.dtype
    gw = cupy.ndarray(x.shape[x.ndim - dims :], dtype)
    gb = None if rms else cupy.ndarray(x.shape[x.ndim - dims :], dtype)
    columns = -(-n // 32)
    splits = max(1, min(_FILL // columns, -(-rows // 64), PARTIALS // (2 * n)))
    parts = partials()
    load("layer_norm.cu", "weight_sums", ("P", "P", "P", "P", "P", "q", "i"), char, **options).on_grid(
        (columns, splits, 1), (512, 1, 1), 0, gy.data.ptr, x.data.ptr, _ptr(mean), rstd.data.ptr,
        parts, rows, n,
    )  # fmt: skip
    load("layer_norm.cu", "weight_finish", ("P", "P", "P", "i", "i"), char, **options)(
        -(-n // 128), 128, parts, gw.data.ptr, _ptr(gb), splits, n
    )
    return (gx, gw) if rms else (gx, gw, gb)


@kernel_for("cuda", "layer_norm")
def layer_norm(x: Any, weight: Any, bias: Any, *, dims: int, eps: float) -> Any:
    return _normalise(x, weight, bias, dims, eps, 0)


@kernel_for("cuda", "layer_norm_grad")
def layer_norm_grad(
    gy: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, dims: int, eps: float
) -> Any:
    return _normalise_grad(gy, x, weight, mean, rstd, dims, 0)


@kernel_for("cuda", "rms_norm")
def rms_norm(x: Any, weight: Any, *, dims: int, eps: float) -> Any:
    return _normalise(x, weight, None, dims, eps, 1)


@kernel_for("cuda", "rms_norm_grad")
def rms_norm_grad(gy: Any, x: Any, weight: Any, rstd: Any, *, dims: int, eps: float) -> Any:
    return _normalise_grad(gy, x, weight, None, rstd, dims, 1)
