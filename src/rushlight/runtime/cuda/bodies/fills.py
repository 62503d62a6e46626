"""Copies, fills and moves between devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import cupy
import numpy as np
from cupy.cuda import runtime

from ....base.arrays import DeviceArray
from ....base.bounded import Bounded
from ....base.device import device
from ....base.dtypes import dtype, from_np
from ...door import kernel_for
from ...thread import here
from ..code.compile import kernel, source
from ..code.geometry import collapse, dense_like
from ..code.keyed import keyed
from ..code.launch import Launch, Result, empty
from ..code.sources import computed
from ..code.variants import prepared_as, prepared_into
from ..memory import host_copies as transfer
from ..memory.staging import is_staged
from ..memory.streams import current
from .pointwise import cast

ndarray = cupy.ndarray
_WITHIN = 3  # cudaMemcpyDeviceToDevice


def copy_to(dst: DeviceArray, src: DeviceArray) -> None:
    """Write `src`, broadcast and converted, into `dst`; they may have any strides, but must not overlap."""
    if src.dtype == dst.dtype:
        if dst._c_contiguous and src._c_contiguous and src.shape == dst.shape:
            if dst.size:
                runtime.memcpyAsync(dst.data.ptr, src.data.ptr, dst.nbytes, _WITHIN, current.ptr)
            return
        if dst.size >= 4096 and _transposed(dst, src):
            return
    cast(src, out=dst)


def copying(src: DeviceArray, dst: DeviceArray) -> Any:
    """The launch of (address or array like `dst`, array like `src`) that copies; None where there is none."""
    return prepared_into("cast", (src,), dst)


class _Tiles(NamedTuple):
    """A copy by tiles, for arrays whose innermost dims differ: the launch, its grid, and what follows the addresses."""

    launch: Launch
    grid: tuple[int, int, int]
    values: tuple[int, ...]


def tiles(dst: DeviceArray, src: DeviceArray) -> _Tiles | None:
    """How to copy by tiles where the innermost dims of the two differ; None where they are the same."""
    sizes, steps, _short = collapse(dst.shape, dst, [src])
    dims = len(sizes)
    to, from_ = steps[:dims], steps[dims:]
    if not 2 <= dims <= 8 or to[-1] != 1 or from_[-1] == 1 or sizes[-1] < 8:
        return None
    rows = next((d for d in range(dims - 1) if from_[d] == 1 and sizes[d] >= 8), None)
    if rows is None or max(sizes[rows], sizes[-1]) >= 2**31:
        return None
    others = [d for d in range(dims - 1) if d != rows]
    pad = 6 - len(others)
    batch = [1] * pad + [sizes[d] for d in others]
    batch += [0] * pad + [from_[d] for d in others]
    batch += [0] * pad + [to[d] for d in others]
    count = 1
    for d in others:
        count *= sizes[d]
    launch = kernel(source("moves.cu"), f"transpose{dst.itemsize}")
    tile = 64 if dst.itemsize <= 4 else 32
    grid = (-(-sizes[-1] // tile), -(-sizes[rows] // tile), min(count, 65535))
    if grid[1] > 65535 or count >= 2**31:
        return None
    return _Tiles(launch, grid, (sizes[rows], sizes[-1], from_[-1], to[rows], count, *batch))


def _transposed(dst: DeviceArray, src: DeviceArray) -> bool:
    """Copy by tiles where the innermost dims of the two differ; False where they are the same."""
    found = tiles(dst, src)
    if found is not None:
        found.launch(found.grid, (32, 8, 1), dst, src, *found.values)
    return found is not None


def copied(x: DeviceArray, order: str = "C") -> Any:
    """A copy in new memory, row-major or in the order of the source."""
    return _in_rows(x) if order == "C" else _in_its_order(x)


def _copier(order: str) -> Callable[[Any], Any]:
    def like(x: DeviceArray) -> Any:
        return ndarray(x.shape, x.dtype) if order == "C" else dense_like([x], x.shape, x.dtype)

    def copy(x: DeviceArray) -> Any:
        out = like(x)
        if x.size:
            if not x._c_contiguous and x.strides == out.strides:  # both dense in one order
                runtime.memcpyAsync(out.data.ptr, x.data.ptr, x.nbytes, _WITHIN, current.ptr)
            else:
                copy_to(out, x)
        return out

    def prepare(x: DeviceArray) -> Any:
        if not x.size:
            return None
        out = like(x)
        if x.strides == out.strides:
            return _whole(x.shape, x.dtype, x.nbytes, None if out._c_contiguous else out.strides)
        found = tiles(out, x) if out.size >= 4096 else None
        if found is None:
            return prepared_as("cast", (x,), out)
        results = (Result(0, x.shape, x.dtype, None if out._c_contiguous else out.strides),)
        return found.launch.prepared(found.grid, (32, 8, 1), results, *found.values)

    return keyed(copy, prepare)


def _whole(shape: tuple[int, ...], dtype: np.dtype, size: int, strides: tuple[int, ...] | None) -> Callable[[Any], Any]:
    """The copy of memory as it lies."""

    def copy(x: DeviceArray) -> Any:
        out = empty(shape, dtype, strides)
        runtime.memcpyAsync(out.data.ptr, x.data.ptr, size, _WITHIN, current.ptr)
        return out

    return copy


_in_rows, _in_its_order = _copier("C"), _copier("K")


def row_major(a: DeviceArray | None) -> Any:
    """`a` row-major, copied where it is not; None stays. CuPy's own copies cost the host 20 us each."""
    return a if a is None or a._c_contiguous else copied(a)


def one_launch(prepare: Callable[..., Any], watched: tuple[tuple[Any, str], ...] = ()) -> Callable[..., Any]:
    """The body of a kernel that is one launch of dense arrays, which `prepare` packs; others are made row-major first."""

    def body(*arrays: Any, **attrs: Any) -> Any:
        dense = [row_major(a) if a.__class__ is ndarray else a for a in arrays]
        if launch is not body and any(a is not b for a, b in zip(arrays, dense)):
            return launch(*dense, **attrs)
        made = prepare(*dense, **attrs)
        return NotImplemented if made is None else made(*dense)

    launch = keyed(body, prepare, watched=watched)
    return launch


def into_zeros(
    launch: Callable[..., Any], shape: tuple[int, ...], dtype: np.dtype, wide: np.dtype | None = None,
    strides: tuple[int, ...] | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """A call of `launch(zeros, *arrays)`, which adds to them; they become a result of `dtype`.

    The zeros are `wide`: if not said, of the dtype that numbers are added up in.
    """
    wide, name = computed(dtype) if wide is None else wide, from_np(dtype).name
    size = prod(shape) * wide.itemsize

    def call(*arrays: Any) -> Any:
        out = empty(shape, wide, strides)
        runtime.memsetAsync(out.data.ptr, 0, size, current.ptr)
        launch(out, *arrays)
        return out if wide == dtype else cast(out, name)

    return call


@kernel_for("cuda", "clone")
def _clone(x: DeviceArray, *, order: Any) -> Any:
    if order.__class__ is str:
        return copied(x, order)
    back = [0] * len(order)
    for place, axis in enumerate(order):
        back[axis] = place
    return copied(x.transpose(order)).transpose(back)


@kernel_for("cuda", "snapshot")
def _snapshot(x: DeviceArray) -> Any:
    return copied(x, "K")


@kernel_for("cuda", "reshape_copy")
def _reshape_copy(x: DeviceArray, *, shape: tuple[int, ...]) -> Any:
    return copied(x).reshape(shape)


@kernel_for("cuda", "copy_into")
def _copy_into(dst: DeviceArray, src: DeviceArray) -> Any:
    if src.__class__ is not ndarray:
        return NotImplemented
    if src.data.mem is dst.data.mem and src is not dst:
        if src.data.ptr == dst.data.ptr and src.shape == dst.shape and src.strides == dst.strides:
            if src.dtype == dst.dtype:  # `x[a:b] += y` assigns what lies there already
                return dst
        src = copied(src)  # both may show the same elements at other places
    copy_to(dst, src)
    return dst


# -- fills ----------------------------------------------------------------------------------------

_patterns: dict[tuple, tuple[int, int]] = Bounded(4096)
# The kernel of the first GPU under 0: a search by its source would take longer.
_fills: dict[int, Any] = Bounded(1)


def _pattern(value: int | float | complex, dtype: np.dtype) -> tuple[int, int]:
    """16 bytes of a repeated value as two integers."""
    key = (value or str(value), value.__class__, dtype)  # 0.0 and -0.0 are equal, but not the same
    found = _patterns.get(key)
    if found is None:
        with np.errstate(all="ignore"):
            one = np.array(value).astype(dtype).tobytes()
        raw = one * (16 // len(one))
        found = int.from_bytes(raw[:8], "little"), int.from_bytes(raw[8:], "little")
        _patterns[key] = found
    return found


def fill(dst: DeviceArray, value: int | float | complex) -> None:
    """Write one value everywhere into dense memory."""
    size = dst.nbytes
    if not size:
        return
    lo, hi = _pattern(value, dst.dtype)
    first = lo & 255
    if lo == hi == first * 0x0101010101010101:
        runtime.memsetAsync(dst.data.ptr, first, size, current.ptr)
        return
    launch = _fills.get(0)
    if launch is None or runtime.getDevice():
        launch = kernel(source("moves.cu"), "fill")
        if not runtime.getDevice():
            _fills[0] = launch
    launch.go(min(-(-size // 4096), 2**20), 256, size, dst.data.ptr, lo, hi)


@kernel_for("cuda", "fill_into")
def _fill_into(dst: DeviceArray, *, value: int | float | complex) -> Any:
    if dst._c_contiguous and not dst.data.ptr & 15:
        fill(dst, value)
    else:
        one = ndarray((), dst.dtype)
        fill(one, value)
        cast(one, out=dst)
    return dst


_SMALL = 1 << 20  # bytes that are filled by a launch packed before, from there on the driver is as quick


def _prepared_full(*, size: tuple, value: Any, dtype: dtype, device: device, order: Any = None) -> Any:
    """One launch for each size, number and dtype."""
    count = prod(size) * dtype.np.itemsize
    if order is not None or not 0 < count <= _SMALL:
        return None
    lo, hi = _pattern(value, dtype.np)
    return kernel(source("moves.cu"), "fill").prepared(
        -(-count // 4096), 256, (Result(0, size, dtype.np),), lo, hi, head=1, front=(count,)
    )


def _full(
    *, size: tuple, value: int | float | complex, dtype: dtype, device: device, order: Sequence[int] | None = None
) -> Any:
    shape = size if order is None else tuple([size[i] for i in order])
    out = ndarray(shape, dtype.np)
    fill(out, value)
    if order is None:
        return out
    return out.transpose(sorted(range(len(order)), key=order.__getitem__))


kernel_for("cuda", "full")(keyed(_full, _prepared_full))


@kernel_for("cuda", "empty")
def _empty(*, size: tuple, dtype: dtype, device: device, order: Sequence[int] | None = None) -> Any:
    if order is None:
        return ndarray(size, dtype.np)
    out = ndarray(tuple([size[i] for i in order]), dtype.np)
    return out.transpose(sorted(range(len(order)), key=order.__getitem__))


@kernel_for("cuda", "zeros_of")
def _zeros_of(x: DeviceArray) -> Any:
    out = dense_like([x], x.shape, x.dtype)
    if x.size:
        runtime.memsetAsync(out.data.ptr, 0, out.nbytes, current.ptr)
    return out


@kernel_for("cuda", "unwindow")
def _unwindow(g: DeviceArray, *, index: tuple, shape: tuple) -> Any:
    """Zeros with `g` in a window of them: the gradient of a slice."""
    out = ndarray(shape, g.dtype)
    place = out[(*[slice(*e) if e.__class__ is tuple else e for e in index], ...)]
    if place.size != out.size:
        fill(out, 0)
    copy_to(place, g)
    return out


# -- between devices ------------------------------------------------------------------------------


@kernel_for("cuda", "move")
def _move(x: DeviceArray, *, to: device, source: device, non_blocking: bool) -> Any:
    if to.type == "cuda":
        here = x.device.id
        index = here if to.index is None else to.index
        return copied(x, "K") if index == here else transfer.to_peer(x, index)
    if to.type == "cpu":
        return transfer.to_host(x, non_blocking)
    return NotImplemented


@kernel_for("cpu", "move")
def _move_up(x: np.ndarray, *, to: device, source: device, non_blocking: bool) -> Any:
    if to.type != "cuda":
        return NotImplemented
    tracer = here.tracer
    wanted = tracer is not None and (tracer.asked or tracer.awake)
    if wanted and not non_blocking and is_staged(x):
        return transfer.staged(x, to.index or 0)
    return transfer.to_device(x, to.index or 0, non_blocking)
