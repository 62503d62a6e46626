"""Images read at given places on the GPU (grid_sample), and the gradients of images and places."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from .....base.arrays import DeviceArray
from .....base.config import settings
from ....door import kernel_for
from ...code.launch import Result
from ...code.sources import NUMBERS, blocks_for, load
from ...processors import multiprocessors
from ..fills import into_zeros, one_launch

_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}
_BUSY = 2048  # threads that keep a multiprocessor busy


class _Sizes(NamedTuple):
    images: int
    channels: int
    places: int  # of an image of the result
    plane: int  # pixels of an image
    image: tuple[int, ...]  # its dims, three of them

    def each(self) -> int:
        """Channels for a thread: as many as leave the GPU busy, since a thread finds its neighbours once for all of them."""
        wanted = _BUSY * multiprocessors()
        shares = min(self.channels, max(1, wanted // max(self.images * self.places, 1)))
        return -(-self.channels // shares)


def _sizes(x: DeviceArray, grid: DeviceArray) -> _Sizes | None:
    """None where the kernels do not take these."""
    dims = x.ndim - 2
    if dims not in (2, 3) or grid.ndim != x.ndim or grid.shape[-1] != dims:
        return None
    if x.dtype.char not in NUMBERS or grid.dtype != x.dtype or not x.size or not grid.size:
        return None
    if not x._c_contiguous or not grid._c_contiguous:
        return None
    plane = prod(x.shape[2:])
    if plane >= 2**31 or x.shape[1] >= 2**31 or grid.shape[0] != x.shape[0]:
        return None
    image = (*x.shape[2:], 0)[:3]
    return _Sizes(x.shape[0], x.shape[1], prod(grid.shape[1:-1]), plane, image)


def _kernel(name: str, x: DeviceArray, mode: str, padding: str, align: bool) -> Any:
    return load(
        "grid_sample.cu", name, x.dtype.char, MODE=_MODES[mode], PADDING=_PADDINGS[padding],
        DIMS=x.ndim - 2, ALIGN=int(align),
    )  # fmt: skip


def _read(x: DeviceArray, grid: DeviceArray, *, mode: str, padding: str, align: bool) -> Any:
    """x (N, C, *size) at the places of grid (N, *out, dims)."""
    s = _sizes(x, grid)
    if s is None:
        return None
    each = s.each()
    count = s.images * -(-s.channels // each) * s.places
    made = (Result(2, (*x.shape[:2], *grid.shape[1:-1]), x.dtype),)
    return _kernel("sample", x, mode, padding, align).prepared(
        blocks_for(count), 256, made, count, s.places, s.channels, each, s.plane, *s.image
    )


def _spread(gy: DeviceArray, x: DeviceArray, grid: DeviceArray, *, mode: str, padding: str, align: bool) -> Any:
    """Every gradient to the pixels that its place read; by atomic additions unless the same bits are wanted."""
    s = _sizes(x, grid)
    if s is None or gy.dtype != x.dtype or not gy._c_contiguous:
        return None
    in_order, each = settings.deterministic, s.each()
    count = s.images * (s.channels if in_order else -(-s.channels // each) * s.places)
    name, threads, more = ("spread_in_order", 32, ()) if in_order else ("spread", 256, (each,))
    launch = _kernel(name, x, mode, padding, align).fixed(
        blocks_for(count, threads), threads, count, s.places, s.channels, *more, s.plane, *s.image
    )
    return into_zeros(lambda gx, gy, x, grid: launch(gy, grid, gx), x.shape, x.dtype)


def _slope(gy: DeviceArray, x: DeviceArray, grid: DeviceArray, *, mode: str, padding: str, align: bool) -> Any:
    """What a step of each place changes, summed over the channels."""
    s = _sizes(x, grid)
    if s is None or gy.dtype != x.dtype or not gy._c_contiguous:
        return None
    count = s.images * s.places
    return _kernel("slope", x, mode, padding, align).prepared(
        blocks_for(count), 256, (Result(3, grid.shape, grid.dtype),), count, s.places, s.channels, s.plane, *s.image
    )


kernel_for("cuda", "grid_sample")(one_launch(_read))
kernel_for("cuda", "grid_sample_grad_input")(one_launch(_spread, ((settings, "deterministic"),)))
kernel_for("cuda", "grid_sample_grad_grid")(one_launch(_slope))
