"""Sampling images at given positions: grid_sample, with affine_grid to make the positions."""

from __future__ import annotations

import warnings
from functools import lru_cache
from itertools import product as corners
from typing import Any

import numpy as np

from ...base.shapes import as_size
from ...core.public import public
from ...core.tensor import Tensor
from ..create.ranges import LINSPACE
from ..layers.pool_kernels import pool_take
from ..made_of.constants import kept_on_device
from ..made_of.reference import by_reference, vjp
from .grid_kernels import sample, sample_grad_grid, sample_grad_input

# Three kernels do it where a device has them. Elsewhere, and for derivatives of derivatives, it is written in tensor
# ops, so that the derivatives for input and grid follow by themselves.

_MODES = {0: "bilinear", 1: "nearest", 2: "bicubic"}


def _warn_align() -> None:
    warnings.warn(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
        "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
        "documentation of grid_sample for details.",
        stacklevel=3,
    )


def _check(x: Tensor, grid: Tensor, mode: str, padding_mode: str) -> None:
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    a, b = x._a.shape, grid._a.shape
    if x._a.dtype != grid._a.dtype:
        raise RuntimeError(
            "grid_sampler(): expected input and grid to have same dtype, but input has "
            f"{x.dtype} and grid has {grid.dtype}"
        )
    if a[:1] != b[:1]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with "
            f"sizes {list(a)} and grid with sizes {list(b)}"
        )
    if b[-1] != len(a) - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {len(a) - 2} in last dimension, but got "
            f"grid with sizes {list(b)}"
        )
    if len(a) not in (4, 5) or len(a) != len(b):
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but "
            f"got input with sizes {list(a)} and grid with sizes {list(b)}"
        )
    if mode == "bicubic" and len(a) != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


@public("functional")
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """Read images at given places.

    Args:
        input: (N, C, H, W), or (N, C, D, H, W).
        grid: (N, h, w, 2) of places (x, y), or (N, d, h, w, 3) of (x, y, z); -1 is the first
            side of the image and 1 the last.
        mode: "bilinear", "nearest" or "bicubic".
        padding_mode: what lies outside: "zeros", "border" or "reflection".
        align_corners: True puts -1 and 1 on the centres of the outermost pixels, False on their
            edges.

    Returns:
        (N, C, h, w), or (N, C, d, h, w).

    Example:
        >>> image = torch.arange(4.0).reshape(1, 1, 2, 2)
        >>> grid = torch.tensor([[[[0.0, 0.0], [1.0, 1.0]]]])
        >>> F.grid_sample(image, grid, align_corners=True)
        tensor([[[[1.5000, 3.0000]]]])
    """
    _check(input, grid, mode, padding_mode)
    if align_corners is None:
        _warn_align()
    align = bool(align_corners)
    if sample.is_whole(input):
        return sample(input, grid, mode=mode, padding=padding_mode, align=align)
    return _in_parts(input, grid, mode, padding_mode, align)


def _in_parts(input: Tensor, grid: Tensor, mode: str, padding_mode: str, align: bool) -> Tensor:
    """The same in tensor ops."""
    sizes = input._a.shape[2:]
    # In the grid x comes first, in the input it is the last dimension.
    where = [_pixels(grid.select(-1, len(sizes) - 1 - i), n, align) for i, n in enumerate(sizes)]
    if mode == "bicubic":
        return _bicubic(input, where, padding_mode, align)
    where = [_bounded(p, n, padding_mode, align) for p, n in zip(where, sizes)]
    if mode == "nearest":
        picked = _read(input, [p.detach().round() for p in where], None)
        # A small change of the grid does not change the result: its gradient is zero, but not None.
        return picked + (where[0] * 0).unsqueeze(1) if grid.requires_grad else picked
    return _bilinear(input, where)


@public("torch", aliases=("grid_sampler_2d", "grid_sampler_3d"))
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """As `nn.functional.grid_sample`, with modes as numbers.

    Args:
        interpolation_mode: 0 bilinear, 1 nearest, 2 bicubic.
        padding_mode: 0 zeros, 1 border, 2 reflection.
    """
    padding = ("zeros", "border", "reflection")[padding_mode]
    return grid_sample(input, grid, _MODES[interpolation_mode], padding, align_corners)


# -- positions ----------------------------------------------------------------------------------


def _pixels(p: Tensor, n: int, align: bool) -> Tensor:
    """From [-1, 1] to pixel coordinates."""
    return (p + 1) * ((n - 1) / 2) if align else ((p + 1) * n - 1) / 2


def _bounded(p: Tensor, n: int, padding_mode: str, align: bool) -> Tensor:
    if padding_mode == "zeros":
        return p
    if padding_mode == "reflection":
        low, span = (0.0, n - 1.0) if align else (-0.5, float(n))
        p = _reflected(p, low, span)
    return p.clamp(0, n - 1)


def _reflected(p: Tensor, low: float, span: float) -> Tensor:
    """Mirrored at `low` and `low + span` as often as needed."""
    if span == 0:
        return p * 0
    far = (p - low).abs()
    flips = (far.detach() / span).floor()
    odd = flips % 2
    rest = far - flips * span
    return rest * (1 - 2 * odd) + odd * span + low


# -- reading ------------------------------------------------------------------------------------


def _read(x: Tensor, at: list[Tensor], weight: Tensor | None) -> Tensor:
    """The pixels at whole-numbered positions, zero outside, times `weight`."""
    sizes = x._a.shape[2:]
    flat = inside = None
    for p, n in zip(at, sizes):
        p = p.detach()
        ok = (p >= 0) & (p <= n - 1)
        index = p.clamp(0, n - 1).long()
        flat = index if flat is None else flat * n + index
        inside = ok if inside is None else inside & ok
    assert flat is not None and inside is not None
    shape = (flat._a.shape[0], x._a.shape[1], *flat._a.shape[1:])
    values = pool_take(x, flat.unsqueeze(1).expand(shape).contiguous())
    mask = inside.unsqueeze(1).to(x.dtype)
    return values * mask if weight is None else values * (mask * weight.unsqueeze(1))


def _bilinear(x: Tensor, where: list[Tensor]) -> Tensor:
    """Bilinear or trilinear: the corners of the cell, weighted by their distance along each dim."""
    lows = [p.detach().floor() for p in where]
    parts = [p - low for p, low in zip(where, lows)]
    total = None
    for corner in corners((0, 1), repeat=len(where)):
        weight = None
        for side, part in zip(corner, parts):
            near = part if side else 1 - part
            weight = near if weight is None else weight * near
        term = _read(x, [low + side for low, side in zip(lows, corner)], weight)
        total = term if total is None else total + term
    assert total is not None
    return total


def _cubic_taps(t: Tensor, a: float = -0.75) -> list[Tensor]:
    """Weights of the four neighbours at distances 1 + t, t, 1 - t, 2 - t."""

    def near(d: Tensor) -> Tensor:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Tensor) -> Tensor:
        return ((d - 5) * d + 8) * d * a - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _bicubic(x: Tensor, where: list[Tensor], padding_mode: str, align: bool) -> Tensor:
    h, w = x._a.shape[2:]
    y, z = where
    low_y, low_z = y.detach().floor(), z.detach().floor()
    taps_y, taps_z = _cubic_taps(y - low_y), _cubic_taps(z - low_z)
    total = None
    for i, weight_y in enumerate(taps_y):
        row = _bounded(low_y + (i - 1), h, padding_mode, align)
        for j, weight_z in enumerate(taps_z):
            column = _bounded(low_z + (j - 1), w, padding_mode, align)
            term = _read(x, [row, column], weight_y * weight_z)
            total = term if total is None else total + term
    assert total is not None
    return total


def _second_order(which: int) -> Any:
    """The derivative for input 0 or 1 in tensor ops, which can be differentiated once more."""

    def formula(gy: Tensor, x: Tensor, grid: Tensor, mode: str, padding: str, align: bool) -> Tensor:
        def read(x: Tensor, grid: Tensor) -> Tensor:
            return _in_parts(x, grid, mode, padding, align)

        return vjp(read, (x, grid), [True, True], [gy])[which]

    return formula


by_reference(sample_grad_input, _second_order(0))
by_reference(sample_grad_grid, _second_order(1))


# -- affine grids -------------------------------------------------------------------------------


@public("functional")
def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """Make the grid with which `grid_sample` applies affine maps.

    Args:
        theta: (N, 2, 3) for images, (N, 3, 4) for volumes.
        size: shape of the result, (N, C, H, W) or (N, C, D, H, W).
        align_corners: as in `grid_sample`.

    Returns:
        (N, H, W, 2), or (N, D, H, W, 3).

    Example:
        >>> same = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> F.affine_grid(same, (1, 1, 1, 2), align_corners=True)
        tensor([[[[-1.,  0.],
                  [ 1.,  0.]]]])
    """
    if align_corners is None:
        _warn_align()
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    size = as_size((tuple(size),))
    if min(size, default=1) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    n = len(size) - 2
    if theta._a.ndim != 3 or theta._a.shape[1:] != (n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. Got {theta.shape}."
        )
    base = kept_on_device(_places(size[2:], bool(align_corners), theta.dtype), theta.device)
    return (base @ theta.transpose(1, 2)).reshape((size[0], *size[2:], n))


@lru_cache(maxsize=16)
def _places(sizes: tuple[int, ...], align: bool, dtype: Any) -> np.ndarray:
    """The pixels of an image as rows (x, y, 1) in [-1, 1]: corner to corner, or the middles of equal cells.

    Rounded as PyTorch rounds them: a sample that lies exactly on a pixel takes its gradient from one side
    of it, and the last bit decides from which.
    """
    lines = []
    for n in sizes:
        line = (
            LINSPACE.generic(np, start=-1, end=1, size=(n,), dtype=dtype, device=None)
            if n > 1
            else np.zeros(n, dtype.np)
        )
        lines.append(line if align or n <= 1 else line * (n - 1) / n)
    mesh = np.meshgrid(*lines, indexing="ij")
    table = np.stack([*reversed(mesh), np.ones(sizes, dtype.np)], -1).reshape(-1, len(sizes) + 1)
    table.flags.writeable = False
    return table
