"""Geometry of tensor images (..., C, H, W): crops, flips, padding, resizing, blurring, turning."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...base import dtypes
from ...core.tensor import Tensor
from ...nn import functional as F
from ...operators.create.from_data import tensor
from ...operators.create.ranges import arange, linspace
from ...operators.shape.join import cat, stack


def check(img: object) -> None:
    """Refuse what is no tensor image."""
    if not (isinstance(img, Tensor) and img.ndim >= 2):
        raise TypeError("Tensor is not a torch image.")


def get_dimensions(img: Tensor) -> list[int]:
    """[channels, height, width]."""
    check(img)
    return [1 if img.ndim == 2 else img.shape[-3], img.shape[-2], img.shape[-1]]


def hflip(img: Tensor) -> Tensor:
    check(img)
    return img.flip(-1)


def vflip(img: Tensor) -> Tensor:
    check(img)
    return img.flip(-2)


def crop(img: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    """A window; what lies outside the image is zero."""
    check(img)
    _, h, w = get_dimensions(img)
    inside = img[..., max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
    if left < 0 or top < 0 or left + width > w or top + height > h:
        rim = [
            max(-left + min(0, left + width), 0),
            max(-top + min(0, top + height), 0),
            max(left + width - max(w, left), 0),
            max(top + height - max(h, top), 0),
        ]
        return pad(inside, rim, 0.0, "constant")
    return inside


def ltrb(padding: int | Sequence[int]) -> list[int]:
    """Padding in any of its spellings as [left, top, right, bottom]."""
    if isinstance(padding, int):
        return [padding] * 4
    sides = list(padding)
    if len(sides) == 1:
        return sides * 4
    if len(sides) == 2:
        return sides * 2
    return sides


def pad(img: Tensor, padding: int | Sequence[int], fill: Any = 0, padding_mode: str = "constant") -> Tensor:
    """A rim around the image; negative padding cuts."""
    check(img)
    left, top, right, bottom = ltrb(padding)
    if padding_mode == "symmetric":
        return _take(_take(img, -1, left, right), -2, top, bottom)
    if isinstance(fill, (tuple, list)):
        if len(fill) != 1:
            raise ValueError("Padding a tensor image needs one number as fill")
        fill = fill[0]
    mode = "replicate" if padding_mode == "edge" else padding_mode
    if mode == "constant":
        return F.pad(img, [left, right, top, bottom], mode, float(0 if fill is None else fill))
    # Negative sides are cut first: only a constant rim can be negative in F.pad.
    wide = img[..., max(-top, 0) : img.shape[-2] - max(-bottom, 0), :]
    wide = wide[..., max(-left, 0) : img.shape[-1] - max(-right, 0)]
    sides = [max(s, 0) for s in (left, right, top, bottom)]
    back = None
    if not wide.is_floating_point():
        back, wide = wide.dtype, wide.to(dtypes.float32)
    lead = wide.shape[:-3] if wide.ndim > 3 else ()
    flat = wide.reshape(-1, *wide.shape[-3:]) if wide.ndim != 2 else wide[None, None]
    out = F.pad(flat, sides, mode)
    out = out.reshape(*lead, *out.shape[1:]) if img.ndim > 3 else out[0]
    out = out[0] if img.ndim == 2 else out
    return out if back is None else out.to(back)


def _take(img: Tensor, dim: int, before: int, after: int) -> Tensor:
    """Mirror at the edge along one dim, the edge pixel repeated."""
    size = img.shape[dim]
    places = [min(max(i, -1 - i), 2 * size - 1 - i) for i in range(-before, size + after)]
    return img.index_select(dim, tensor(places, device=img.device))


def with_floats(img: Tensor, fn: Callable[..., Tensor], also: Sequence[Any] = ()) -> Tensor:
    """Apply `fn` to the image as a float batch (N, C, H, W); rounds back to integers."""
    shape, source = img.shape, img.dtype
    batch = img.reshape(-1, *([1] if img.ndim == 2 else []), *shape[-3:])
    if source not in (dtypes.float32, dtypes.float64, *also):
        batch = batch.to(dtypes.float32)
    out = fn(batch)
    out = out.reshape(*shape[:-3], *out.shape[1:]) if img.ndim > 2 else out[0, 0]
    if out.dtype != source:
        out = (out if source.is_floating_point else out.round()).to(source)
    return out


def resize(img: Tensor, size: list[int], interpolation: str = "bilinear", antialias: bool | None = True) -> Tensor:
    """The image with `size` = [height, width]."""
    check(img)
    if interpolation not in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        raise ValueError(
            "This interpolation mode is unsupported with Tensor input: only nearest, "
            f"nearest-exact, bilinear and bicubic are, but got {interpolation}"
        )
    smooth = interpolation in ("bilinear", "bicubic")
    options: dict[str, Any] = {"mode": interpolation}
    if smooth:
        options |= {"align_corners": False, "antialias": bool(antialias)}

    def scaled(batch: Tensor) -> Tensor:
        out = F.interpolate(batch, size=size, **options)
        if interpolation == "bicubic" and img.dtype == dtypes.uint8:
            return out.clamp(0, 255)
        return out

    return with_floats(img, scaled)


def gaussian_kernel(size: int, sigma: float, like: Tensor) -> Tensor:
    """The weights of a one-dimensional blur; they sum to one."""
    half = (size - 1) * 0.5
    x = linspace(-half, half, steps=size, dtype=like.dtype, device=like.device)
    weights = (x / sigma).pow(2).mul(-0.5).exp()
    return weights / weights.sum()


def gaussian_blur(img: Tensor, kernel_size: list[int], sigma: list[float]) -> Tensor:
    """Blurred with a Gaussian; the edges are mirrored."""
    check(img)
    wide, high = kernel_size
    rim = [wide // 2, wide // 2, high // 2, high // 2]

    def blurred(batch: Tensor) -> Tensor:
        kernel = gaussian_kernel(high, sigma[1], batch)[:, None]
        kernel = kernel * gaussian_kernel(wide, sigma[0], batch)
        channels = batch.shape[-3]
        kernel = kernel.expand(channels, 1, high, wide)
        return F.conv2d(F.pad(batch, rim, mode="reflect"), kernel, groups=channels)

    return with_floats(img, blurred)


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Tensor:
    """The rectangle at (i, j) replaced by v."""
    check(img)
    if not inplace:
        img = img.clone()
    img[..., i : i + h, j : j + w] = v
    return img


# -- maps of the plane ---------------------------------------------------------------------------


def _sampled(img: Tensor, grid: Tensor, mode: str, fill: Any) -> Tensor:
    """Pixels at the places of `grid` (H, W, 2), in [-1, 1]; places outside are `fill`."""

    def look(batch: Tensor) -> Tensor:
        places = grid.to(batch.dtype).expand(batch.shape[0], *grid.shape)
        if fill is None:
            return F.grid_sample(batch, places, mode, "zeros", align_corners=False)
        # A channel of ones shows how much of each pixel came from inside the image.
        masked = cat([batch, batch[:, :1] * 0 + 1], 1)
        out = F.grid_sample(masked, places, mode, "zeros", align_corners=False)
        inside, out = out[:, -1:], out[:, :-1]
        values = list(fill) if isinstance(fill, (tuple, list)) else [float(fill)]
        colour = tensor(values, dtype=batch.dtype, device=batch.device).view(1, -1, 1, 1)
        if mode == "nearest":
            return out.where(inside >= 0.5, colour.expand(out.shape))
        return out * inside + (1 - inside) * colour

    return with_floats(img, look)


def affine(img: Tensor, matrix: list[float], interpolation: str, fill: float | Sequence[float] | None) -> Tensor:
    """Every place (x, y) of the result, counted from the centre, shows the image at matrix @ (x, y, 1)."""
    check(img)
    _, h, w = get_dimensions(img)
    return _sampled(img, _affine_grid(matrix, w, h, w, h, img), interpolation, fill)


def _affine_grid(m: list[float], w: int, h: int, ow: int, oh: int, like: Tensor) -> Tensor:
    x = arange(ow, dtype=dtypes.float32, device=like.device) + 0.5 - ow * 0.5
    y = arange(oh, dtype=dtypes.float32, device=like.device)[:, None] + 0.5 - oh * 0.5
    across = (x * m[0] + y * m[1] + m[2]) / (0.5 * w)
    down = (x * m[3] + y * m[4] + m[5]) / (0.5 * h)
    return stack([across, down], -1)


def turned_size(matrix: list[float], w: int, h: int) -> tuple[int, int]:
    """Width and height of the box that holds the whole turned image."""
    xs, ys = [], []
    for x, y in ((-w / 2, -h / 2), (-w / 2, h / 2), (w / 2, h / 2), (w / 2, -h / 2)):
        xs.append(x * matrix[0] + y * matrix[1] + matrix[2] + w / 2)
        ys.append(x * matrix[3] + y * matrix[4] + matrix[5] + h / 2)
    # What rounding may add must not make the box a pixel wider.
    low_x, low_y = (math.floor(round(min(v), 4)) for v in (xs, ys))
    high_x, high_y = (math.ceil(round(max(v), 4)) for v in (xs, ys))
    return high_x - low_x, high_y - low_y


def rotate(
    img: Tensor, matrix: list[float], interpolation: str, expand: bool, fill: float | Sequence[float] | None
) -> Tensor:
    """The turned image, in a box that fits when `expand`."""
    check(img)
    _, h, w = get_dimensions(img)
    ow, oh = turned_size(matrix, w, h) if expand else (w, h)
    return _sampled(img, _affine_grid(matrix, w, h, ow, oh, img), interpolation, fill)


def perspective(
    img: Tensor, c: list[float], interpolation: str = "bilinear", fill: float | Sequence[float] | None = None
) -> Tensor:
    """Place (x, y) shows the image at ((c0 x + c1 y + c2) / d, (c3 x + c4 y + c5) / d)."""
    check(img)
    _, h, w = get_dimensions(img)
    x = arange(w, dtype=dtypes.float32, device=img.device) + 0.5
    y = arange(h, dtype=dtypes.float32, device=img.device)[:, None] + 0.5
    below = x * c[6] + y * c[7] + 1.0
    across = (x * c[0] + y * c[1] + c[2]) / below / (0.5 * w) - 1.0
    down = (x * c[3] + y * c[4] + c[5]) / below / (0.5 * h) - 1.0
    return _sampled(img, stack([across, down], -1), interpolation, fill)
