"""Images read at given places on the GPU (grid_sample), and the gradients of images and places."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import cupy

from .....base.config import settings
from .....base.dtypes import from_np
from ....door import kernel_for
from ...code.sources import NUMBERS, blocks_for, computed, load
from ...processors import multiprocessors
from ..fills import fill, row_major
from ..pointwise import cast

if TYPE_CHECKING:
    from .....base.protocols import DeviceArray

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


@kernel_for("cuda", "grid_sample")
def read(x: DeviceArray, grid: DeviceArray, *, mode: str, padding: str, align: bool) -> Any:
    """x (N, C, *size) at the places of grid (N, *out, dims)."""
    s = _sizes(x, grid)
    if s is None:
        return NotImplemented
    x, grid = row_major(x), row_major(grid)
    out = cupy.ndarray((*x.shape[:2], *grid.shape[1:-1]), x.dtype)
    each = s.each()
    count = s.images * -(-s.channels // each) * s.places
    _kernel("sample", x, mode, padding, align)(
        blocks_for(count), 256, x, grid, out, count, s.places, s.channels, each, s.plane, *s.image
    )
    return out


@kernel_for("cuda", "grid_sample_grad_input")
def spread(
    gy: DeviceArray, x: DeviceArray, grid: DeviceArray, *, mode: str, padding: str, align: bool
) -> Any:
    """Every gradient to the pixels that its place read; by atomic additions unless the same bits are wanted."""
    s = _sizes(x, grid)
    if s is None or gy.dtype != x.dtype:
        return NotImplemented
    gy, grid = row_major(gy), row_major(grid)
    gx = cupy.ndarray(x.shape, computed(x.dtype))
    fill(gx, 0)
    if settings.deterministic:
        count = s.images * s.channels
        _kernel("spread_in_order", x, mode, padding, align)(
            blocks_for(count, 32), 32, gy, grid, gx, count, s.places, s.channels, s.plane, *s.image
        )
    else:
        each = s.each()
        count = s.images * -(-s.channels // each) * s.places
        _kernel("spread", x, mode, padding, align)(
            blocks_for(count), 256, gy, grid, gx, count, s.places, s.channels, each, s.plane,
            *s.image,
        )  # fmt: skip
    return gx if gx.dtype == x.dtype else cast(gx, from_np(x.dtype).name)


@kernel_for("cuda", "grid_sample_grad_grid")
def slope(
    gy: DeviceArray, x: DeviceArray, grid: DeviceArray, *, mode: str, padding: str, align: bool
) -> Any:
    """What a step of each place changes, summed over the channels."""
    s = _sizes(x, grid)
    if s is None or gy.dtype != x.dtype:
        return NotImplemented
    gy, x, grid = row_major(gy), row_major(x), row_major(grid)
    out = cupy.ndarray(grid.shape, grid.dtype)
    count = s.images * s.places
    _kernel("slope", x, mode, padding, align)(
        blocks_for(count), 256, gy, x, grid, out, count, s.places, s.channels, s.plane, *s.image
    )
    return out
