"""Kernels of grid_sample: images read at places between pixels, and the gradients of images and places."""

from __future__ import annotations

from itertools import product as corners
from math import prod
from typing import Any, NamedTuple

from ...base.arrays import Array, ArrayModule, Shaped
from ...core.op import Op
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.precision import in_float32


class Tap(NamedTuple):
    """A neighbour along one axis: where it is, whether that is inside, its weight, and how that changes with the place."""

    at: Any
    inside: Any
    weight: Any
    slope: Any


def _mirrored(xp: ArrayModule, p: Any, slope: Any, size: int, align: bool) -> tuple[Any, Any]:
    low, span = (0.0, size - 1.0) if align else (-0.5, float(size))
    if span == 0:
        return p * 0, slope * 0
    far = p - low
    over = xp.abs(far)
    over = over - xp.trunc(over / (2 * span)) * (2 * span)
    back = 2 * span - over
    turns = (far < 0) != (over > back)
    return xp.minimum(over, back) + p.dtype.type(low), xp.where(turns, -slope, slope)


def _bounded(xp: ArrayModule, p: Any, slope: Any, size: int, padding: str, align: bool) -> tuple[Any, Any]:
    """Places inside the image; at an end they have no slope, and NaN is the first place, as in PyTorch."""
    if padding == "zeros":
        return p, slope
    if padding == "reflection":
        p, slope = _mirrored(xp, p, slope, size, align)
    free = (p > 0) & (p < size - 1)
    return xp.minimum(xp.where(p > 0, p, p.dtype.type(0)), size - 1), xp.where(free, slope, 0)


def _tap(xp: ArrayModule, p: Any, size: int, weight: Any, slope: Any) -> Tap:
    inside = (p >= 0) & (p <= size - 1)
    return Tap(xp.where(inside, p, 0).astype(int), inside, weight, slope)


def _cubic(t: Any, k: int, a: float = -0.75) -> tuple[Any, Any]:
    """The weight of neighbour k at `t` behind the second, and its derivative."""
    d, sign = ((t + 1, 1), (t, 1), (1 - t, -1), (2 - t, -1))[k]
    if k in (1, 2):
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        return near, sign * (3 * (a + 2) * d - 2 * (a + 3)) * d
    return ((d - 5) * d + 8) * d * a - 4 * a, sign * ((3 * d - 10) * d + 8) * a


def _taps(xp: ArrayModule, g: Array, size: int, mode: str, padding: str, align: bool) -> list[Tap]:
    """The neighbours that coordinates in [-1, 1] read along an axis."""
    scale = (size - 1) / 2 if align else size / 2
    p = (g + 1) * scale if align else ((g + 1) * size - 1) / 2
    slope = xp.full(p.shape, scale, p.dtype)
    if mode == "bicubic":
        low = xp.floor(p)
        taps = []
        for k in range(4):
            at, _ = _bounded(xp, low + (k - 1), slope, size, padding, align)
            weight, by = _cubic(p - low, k)
            taps.append(_tap(xp, at, size, weight, by * slope))
        return taps
    p, slope = _bounded(xp, p, slope, size, padding, align)
    if mode == "nearest":
        return [_tap(xp, xp.rint(p), size, xp.ones_like(p), slope * 0)]
    low = xp.floor(p)
    part = p - low
    return [_tap(xp, low, size, 1 - part, -slope), _tap(xp, low + 1, size, part, slope)]


def _joined(
    xp: ArrayModule, x: Array, grid: Array, mode: str, padding: str, align: bool
) -> list[tuple[Any, Any, list[Tap]]]:
    """For every combination of neighbours along the axes: flat places [N, 1, P], whether inside, and the taps."""
    sizes, n = x.shape[2:], grid.shape[0]
    flat = grid.reshape(n, 1, -1, len(sizes))
    axes = [
        _taps(xp, flat[..., len(sizes) - 1 - d], size, mode, padding, align) for d, size in enumerate(sizes)
    ]  # in the grid x comes first, in the input it is the last dimension
    found = []
    for taps in corners(*axes):
        at, inside = taps[0].at, taps[0].inside
        for tap, size in zip(taps[1:], sizes[1:]):
            at, inside = at * size + tap.at, inside & tap.inside
        found.append((at, inside, list(taps)))
    return found


def _seen(xp: ArrayModule, x: Array, at: Any, inside: Any) -> Any:
    """The pixels at flat places, 0 outside, [N, C, P]."""
    shape = (*x.shape[:2], at.shape[-1])
    planes = x.reshape(*x.shape[:2], -1)
    if not planes.size:
        return xp.zeros(shape, x.dtype)
    read = xp.take_along_axis(planes, xp.broadcast_to(at, shape), 2)
    return xp.where(inside, read, x.dtype.type(0))


@in_float32
def _read(xp: ArrayModule, x: Array, grid: Array, *, mode: str, padding: str, align: bool) -> Any:
    """x (N, C, *size) at the places of grid (N, *out, dims)."""
    total: Any = None
    for at, inside, taps in _joined(xp, x, grid, mode, padding, align):
        term = _seen(xp, x, at, inside) * prod(tap.weight for tap in taps)
        total = term if total is None else total + term
    return total.reshape(*x.shape[:2], *grid.shape[1:-1])


@in_float32
def _grad_input(xp: ArrayModule, gy: Array, x: Array, grid: Array, *, mode: str, padding: str, align: bool) -> Any:
    """Every gradient to the pixels its place read."""
    n, c = x.shape[:2]
    size = prod(x.shape[2:])
    gx = xp.zeros(n * c * size, gy.dtype)
    planes = (xp.arange(n * c) * size).reshape(n, c, 1)
    flat = gy.reshape(n, c, -1)
    for at, inside, taps in _joined(xp, x, grid, mode, padding, align):
        term = flat * prod(tap.weight for tap in taps)
        if size:
            xp.add.at(gx, (planes + at).reshape(-1), xp.where(inside, term, 0).reshape(-1))
    return gx.reshape(x.shape)


@in_float32
def _grad_grid(xp: ArrayModule, gy: Array, x: Array, grid: Array, *, mode: str, padding: str, align: bool) -> Any:
    """What a step of each place changes, summed over the channels."""
    dims = grid.shape[-1]
    flat = gy.reshape(*x.shape[:2], -1)
    out = xp.zeros((grid.shape[0], flat.shape[-1], dims), gy.dtype)
    for at, inside, taps in _joined(xp, x, grid, mode, padding, align):
        worth = (_seen(xp, x, at, inside) * flat).sum(1)
        for d in range(dims):
            by = prod(tap.slope if d == k else tap.weight for k, tap in enumerate(taps))[:, 0]
            out[..., dims - 1 - d] += xp.where(inside[:, 0], by * worth, 0)
    return out.reshape(grid.shape)


def _meta(x: Shaped, grid: Shaped, **how: Any) -> tuple:
    return (*x.shape[:2], *grid.shape[1:-1]), x.dtype


sample = Op(
    _read,
    "grid_sample",
    meta=_meta,
    grad_name="GridSampler2DBackward0",
    facts=Facts(vmap="more_rows", one_kernel={"cpu": True}),
)
sample_grad_input = Op(_grad_input, "grid_sample_grad_input", meta=lambda gy, x, grid, **how: (x.shape, x.dtype))
sample_grad_grid = Op(_grad_grid, "grid_sample_grad_grid", meta=lambda gy, x, grid, **how: (grid.shape, grid.dtype))


def _of_input(g: Tensor, x: Tensor, grid: Tensor, mode: str, padding: str, align: bool) -> Tensor:
    return sample_grad_input(g, x, grid, mode=mode, padding=padding, align=align)


def _of_grid(g: Tensor, x: Tensor, grid: Tensor, mode: str, padding: str, align: bool) -> Tensor:
    return sample_grad_grid(g, x, grid, mode=mode, padding=padding, align=align)


sample.derivative(x=_of_input, grid=_of_grid)
