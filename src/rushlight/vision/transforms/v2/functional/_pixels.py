"""Geometry of tensor pictures (..., C, H, W): flips, sizes, windows, rims, and maps of the plane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any

from .....base import dtypes
from .....base.formats import channels_last
from .....core.tensor import Tensor
from .....nn import functional as nnF
from .....operators.create.filled import ones
from .....operators.create.from_data import tensor
from .....operators.create.ranges import linspace
from .....operators.shape.join import cat, stack
from ..._geometry_tensor import pad as pad_one_colour
from ..._modes import InterpolationMode
from ...functional import centre_window
from ._options import Affine, eight, expanded_size, mode_of, pair_of, resized, sides

if TYPE_CHECKING:
    from .....base.device import device
    from .....base.dtypes import dtype

__all__ = [
    "affine_image", "affine_mask", "affine_video", "center_crop_image", "center_crop_mask",
    "center_crop_video", "crop_image", "crop_mask", "crop_video", "elastic_image", "elastic_mask",
    "elastic_video", "five_crop_image", "five_crop_video", "horizontal_flip_image",
    "horizontal_flip_mask", "horizontal_flip_video", "pad_image", "pad_mask", "pad_video",
    "perspective_image", "perspective_mask", "perspective_video", "resize_image", "resize_mask",
    "resize_video", "resized_crop_image", "resized_crop_mask", "resized_crop_video", "rotate_image",
    "rotate_mask", "rotate_video", "ten_crop_image", "ten_crop_video", "vertical_flip_image",
    "vertical_flip_mask", "vertical_flip_video",
]  # fmt: skip

BILINEAR, NEAREST = InterpolationMode.BILINEAR, InterpolationMode.NEAREST
_SMOOTH = (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC, InterpolationMode.LANCZOS)


def for_masks(kernel: Callable, **fixed: Any) -> Callable:
    """A kernel for pictures as one for masks, which may lack the dimension of channels; `fixed` options are no more."""
    whole = signature(kernel)
    options = whole.replace(parameters=[p for p in whole.parameters.values() if p.name not in fixed])

    @wraps(kernel)
    def run(mask: Tensor, *args: Any, **given: Any) -> Tensor:
        if fixed:
            given = {**dict(zip(list(options.parameters)[1:], args, strict=False)), **given, **fixed}
            args = args[len(options.parameters) - 1 :]
        if mask.ndim >= 3:
            return kernel(mask, *args, **given)
        return kernel(mask.unsqueeze(0), *args, **given).squeeze(0)

    run.__signature__ = options  # type: ignore[attr-defined]
    run.__name__ = run.__qualname__ = kernel.__name__.replace("_image", "_mask")
    run.__doc__ = (kernel.__doc__ or "").replace("tensor pictures: the picture", "masks: masks")
    return run


def horizontal_flip_image(image: Tensor) -> Tensor:
    """As `horizontal_flip`, for tensor pictures: left and right exchanged."""
    return image.flip(-1)


def vertical_flip_image(image: Tensor) -> Tensor:
    """As `vertical_flip`, for tensor pictures: top and bottom exchanged."""
    return image.flip(-2)


def resize_image(
    image: Tensor,
    size: int | Sequence[int] | None,
    interpolation: InterpolationMode | str | int = BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Tensor:
    """As `resize`, for tensor pictures: the picture in another size."""
    mode = mode_of(interpolation)
    if mode is InterpolationMode.LANCZOS and not antialias:
        raise ValueError("InterpolationMode.LANCZOS requires antialias=True")
    *lead, channels, height, width = image.shape
    target = resized((height, width), size, max_size)
    if target == (height, width):
        return image
    shape = (*lead, channels, *target)
    if image.numel() == 0:
        return image.reshape(shape)
    exact = [dtypes.float32, dtypes.float64]
    if mode in (InterpolationMode.NEAREST, InterpolationMode.NEAREST_EXACT) or image.is_cpu:
        exact.append(dtypes.uint8)  # bytes have kernels of their own there
    batch = image.reshape(-1, channels, height, width)
    batch = batch if image.dtype in exact else batch.to(dtypes.float32)
    options: dict[str, Any] = {"mode": mode.value}
    if mode in _SMOOTH:
        options |= {"align_corners": False, "antialias": bool(antialias)}
    out = nnF.interpolate(batch, size=list(target), **options)
    if batch.is_contiguous(memory_format=channels_last) and not batch.is_contiguous():
        out = out.contiguous(memory_format=channels_last)
    if out.dtype != image.dtype:
        if mode in _SMOOTH[1:] and image.dtype == dtypes.uint8:
            out = out.clamp(0, 255)
        out = (out if image.is_floating_point() else out.round()).to(image.dtype)
    return out.reshape(shape)


def resize_mask(
    mask: Tensor,
    size: int | Sequence[int] | None,
    interpolation: InterpolationMode | str | int = BILINEAR,
    max_size: int | None = None,
) -> Tensor:
    """As `resize`, for masks: masks in another size; classes are not mixed, so pixels are never interpolated."""
    mode = mode_of(interpolation)
    mode = mode if mode is InterpolationMode.NEAREST_EXACT else NEAREST
    return for_masks(resize_image)(mask, size, mode, max_size)


# -- windows and rims -----------------------------------------------------------------------------


def pad_image(
    image: Tensor,
    padding: int | Sequence[int],
    fill: float | Sequence[float] | None = None,
    padding_mode: str = "constant",
) -> Tensor:
    """As `pad`, for tensor pictures: a rim around the picture, with one colour or a number for each channel."""
    left, right, top, bottom = sides(padding)
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError(
            "`padding_mode` should be either `'constant'`, `'edge'`, `'reflect'` or `'symmetric'`, "
            f"but got `'{padding_mode}'`."
        )
    colour = [0 if fill is None else fill] if not isinstance(fill, (tuple, list)) else list(fill)
    rim = [left, top, right, bottom]
    if len(colour) == 1:
        return pad_one_colour(image, rim, colour[0], padding_mode)
    if padding_mode != "constant":
        raise ValueError(f"Padding mode '{padding_mode}' is not supported if fill is not scalar")
    inside = pad_one_colour(ones(image.shape[-2:], dtype=dtypes.bool_, device=image.device), rim, 0)
    values = tensor(colour, device=image.device).to(image.dtype).reshape(-1, 1, 1)
    return pad_one_colour(image, rim, 0).where(inside, values)


def pad_mask(
    mask: Tensor,
    padding: int | Sequence[int],
    fill: float | Sequence[float] | None = None,
    padding_mode: str = "constant",
) -> Tensor:
    """As `pad`, for masks: a rim around masks, of one class."""
    if isinstance(fill, (tuple, list)):
        raise ValueError("Non-scalar fill value is not supported")
    return for_masks(pad_image)(mask, padding, fill, padding_mode)


def crop_image(image: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    """As `crop`, for tensor pictures: a window of the picture; what lies outside is zero."""
    h, w = image.shape[-2:]
    right, bottom = left + width, top + height
    inside = image[..., max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
    if left >= 0 and top >= 0 and right <= w and bottom <= h:
        return inside
    rim = [max(min(right, 0) - left, 0), max(min(bottom, 0) - top, 0)]
    rim += [max(right - max(w, left), 0), max(bottom - max(h, top), 0)]
    return pad_one_colour(inside, rim, 0)


def center_crop_image(image: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """As `center_crop`, for tensor pictures: the middle of the picture, with a black rim where the picture is smaller."""
    height, width = pair_of(output_size)
    rim, top, left = centre_window(image.shape[-2], image.shape[-1], height, width)
    wide = pad_one_colour(image, rim, 0) if any(rim) else image
    return wide[..., top : top + height, left : left + width]


def resized_crop_image(
    image: Tensor,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: InterpolationMode | str | int = BILINEAR,
    antialias: bool | None = True,
) -> Tensor:
    """As `resized_crop`, for tensor pictures: a window of the picture in another size."""
    return resize_image(crop_image(image, top, left, height, width), size, interpolation, antialias=antialias)


def resized_crop_mask(mask: Tensor, top: int, left: int, height: int, width: int, size: int | Sequence[int]) -> Tensor:
    """As `resized_crop`, for masks: a window of masks in another size."""
    return resize_mask(crop_mask(mask, top, left, height, width), size)


def five_crop_image(image: Tensor, size: int | Sequence[int]) -> tuple[Tensor, ...]:
    """As `five_crop`, for tensor pictures: four corners and the middle."""
    height, width = pair_of(size)
    h, w = image.shape[-2:]
    if width > w or height > h:
        raise ValueError(f"Requested crop size {size} is bigger than input size {(h, w)}")
    corners = [(0, 0), (0, w - width), (h - height, 0), (h - height, w - width)]
    found = [crop_image(image, top, left, height, width) for top, left in corners]
    return (*found, center_crop_image(image, [height, width]))


def ten_crop_image(image: Tensor, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Tensor, ...]:
    """As `ten_crop`, for tensor pictures: the five of the picture, and of its mirror image."""
    mirrored = image.flip(-2 if vertical_flip else -1)
    return (*five_crop_image(image, size), *five_crop_image(mirrored, size))


# -- maps of the plane ----------------------------------------------------------------------------


def _check_map(image: Tensor, mode: InterpolationMode, fill: float | Sequence[float] | None) -> None:
    if isinstance(fill, (tuple, list)):
        if len(fill) > 1 and len(fill) != image.shape[-3]:
            raise ValueError(
                "The number of elements in 'fill' cannot broadcast to match the number of "
                f"channels of the image ({len(fill)} != {image.shape[-3]})"
            )
    elif fill is not None and not isinstance(fill, (int, float)):
        raise ValueError("Argument fill should be either int, float, tuple or list")
    if mode not in (NEAREST, BILINEAR):
        raise ValueError(f"Interpolation mode '{mode.value}' is unsupported with Tensor input")


def _places(height: int, width: int, first: float, like: Tensor, dtype: dtype) -> Tensor:
    """(x, y, 1) of every pixel, as rows; pixels are a unit apart, and the first is half a unit from `first` sizes."""
    x = linspace(first * width + 0.5, first * width + width - 0.5, width, device=like.device, dtype=dtype)
    y = linspace(first * height + 0.5, first * height + height - 0.5, height, device=like.device, dtype=dtype)
    columns = [x.expand(height, width), y[:, None].expand(height, width)]
    return stack([*columns, ones(height, width, device=like.device, dtype=dtype)], -1).reshape(-1, 3)


def _work_dtype(image: Tensor) -> Any:
    return image.dtype if image.is_floating_point() else dtypes.float32


def _sampled(image: Tensor, grid: Tensor, mode: InterpolationMode, fill: Any) -> Tensor:
    """The picture at the places of `grid` (H, W, 2), in [-1, 1]; places outside are `fill`."""
    _check_map(image, mode, fill)
    *lead, channels, height, width = image.shape
    shape = (*lead, channels, *grid.shape[:2])
    if image.numel() == 0:
        return image.reshape(shape)
    work = image.reshape(-1, channels, height, width).to(grid.dtype)
    count = work.shape[0]
    if fill is not None:  # a channel of ones tells how much of a pixel came from inside
        work = cat([work, ones(count, 1, height, width, dtype=work.dtype, device=work.device)], 1)
    out = nnF.grid_sample(work, grid.expand(count, *grid.shape), mode.value, "zeros", align_corners=False)
    if fill is not None:
        out, inside = out[:, :-1], out[:, -1:]
        values = list(fill) if isinstance(fill, (tuple, list)) else [float(fill)]
        colour = tensor(values, dtype=out.dtype, device=out.device).view(1, -1, 1, 1)
        if mode is NEAREST:
            out = out.where(inside >= 0.5, colour)
        else:
            out = (out - colour) * inside + colour
    return (out if out.dtype == image.dtype else out.round().to(image.dtype)).reshape(shape)


def _mapped(image: Tensor, matrix: list[float], size: Sequence[int], mode: InterpolationMode, fill: float | Sequence[float] | None) -> Tensor:  # fmt: skip
    """The picture that shows at each place, counted from the middle, what was at matrix @ (x, y, 1)."""
    dtype = _work_dtype(image)
    height, width = image.shape[-2:]
    half = tensor([0.5 * width, 0.5 * height], dtype=dtype, device=image.device)
    theta = tensor(matrix, dtype=dtype, device=image.device).reshape(2, 3).T / half
    places = _places(size[0], size[1], -0.5, image, dtype)
    return _sampled(image, (places @ theta).reshape(*size, 2), mode, fill)


def _from_middle(image: Tensor, center: Sequence[float] | None) -> list[float]:
    height, width = image.shape[-2:]
    return [0.0, 0.0] if center is None else [center[0] - 0.5 * width, center[1] - 0.5 * height]


def affine_image(
    image: Tensor,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    interpolation: InterpolationMode | str | int = NEAREST,
    fill: float | Sequence[float] | None = None,
    center: Sequence[float] | None = None,
) -> Tensor:
    """As `affine`, for tensor pictures: the picture turned, shifted, scaled and sheared."""
    mode = mode_of(interpolation)
    change = Affine(angle, translate, scale, shear, center)
    matrix = change.backward(_from_middle(image, change.center))
    return _mapped(image, matrix, image.shape[-2:], mode, fill)


def rotate_image(
    image: Tensor,
    angle: float,
    interpolation: InterpolationMode | str | int = NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
) -> Tensor:
    """As `rotate`, for tensor pictures: the picture turned counter-clockwise."""
    angle = angle % 360
    height, width = image.shape[-2:]
    if center is None and angle % 90 == 0 and (angle % 180 == 0 or expand or height == width):
        return image.rot90(int(angle) // 90, (-2, -1)) if angle else image.clone()
    mode = mode_of(interpolation)
    # Positive angles are counter-clockwise here, and clockwise in affine matrices.
    change = Affine(-angle, [0.0, 0.0], 1.0, [0.0, 0.0], None)
    matrix = change.backward(_from_middle(image, center))
    size = expanded_size(matrix, width, height) if expand else (height, width)
    return _mapped(image, matrix, size, mode, fill)


def perspective_image(
    image: Tensor,
    startpoints: Sequence[Sequence[int]] | None,
    endpoints: Sequence[Sequence[int]] | None,
    interpolation: InterpolationMode | str | int = BILINEAR,
    fill: float | Sequence[float] | None = None,
    coefficients: Sequence[float] | None = None,
) -> Tensor:
    """As `perspective`, for tensor pictures: the picture with four points moved."""
    c = eight(startpoints, endpoints, coefficients)
    dtype = _work_dtype(image)
    height, width = image.shape[-2:]
    rows = tensor([[c[:3], c[3:6]], [[c[6], c[7], 1.0]] * 2], dtype=dtype, device=image.device)
    half = tensor([0.5 * width, 0.5 * height], dtype=dtype, device=image.device)
    places = _places(height, width, 0.0, image, dtype)
    grid = (places @ (rows[0].T / half)) / (places @ rows[1].T) - 1.0
    return _sampled(image, grid.reshape(height, width, 2), mode_of(interpolation), fill)


def identity_grid(height: int, width: int, dtype: dtype, device: device) -> Tensor:
    """The places of all pixels, (H, W, 2), in [-1, 1]."""
    x = linspace((1 - width) / width, (width - 1) / width, width, dtype=dtype, device=device)
    y = linspace((1 - height) / height, (height - 1) / height, height, dtype=dtype, device=device)
    return stack([x.expand(height, width), y[:, None].expand(height, width)], -1)


def check_displacement(displacement: Tensor, height: int, width: int) -> None:
    """Refuse shifts that do not fit a picture."""
    if not isinstance(displacement, Tensor):
        raise TypeError("Argument displacement should be a Tensor")
    wanted = (1, height, width, 2)
    if tuple(displacement.shape) != wanted:
        raise ValueError(f"Argument displacement shape should be {wanted}, but given {displacement.shape}")


def elastic_image(
    image: Tensor,
    displacement: Tensor,
    interpolation: InterpolationMode | str | int = BILINEAR,
    fill: float | Sequence[float] | None = None,
) -> Tensor:
    """As `elastic`, for tensor pictures: the picture read at places that are moved."""
    height, width = image.shape[-2:]
    check_displacement(displacement, height, width)
    dtype = _work_dtype(image)
    if dtype == dtypes.float16 and image.is_cpu:
        dtype = dtypes.float32
    still = identity_grid(height, width, dtype, image.device)
    moved = still + displacement[0].to(dtype=dtype, device=image.device)
    out = _sampled(image.to(dtype) if image.is_floating_point() else image, moved, mode_of(interpolation), fill)
    return out.to(image.dtype)


horizontal_flip_mask = horizontal_flip_video = horizontal_flip_image
vertical_flip_mask = vertical_flip_video = vertical_flip_image
crop_mask, center_crop_mask = for_masks(crop_image), for_masks(center_crop_image)
affine_mask = for_masks(affine_image, interpolation=NEAREST)
rotate_mask = for_masks(rotate_image, interpolation=NEAREST)
perspective_mask = for_masks(perspective_image, interpolation=NEAREST)
elastic_mask = for_masks(elastic_image, interpolation=NEAREST)
resize_video, pad_video, crop_video = resize_image, pad_image, crop_image
center_crop_video, resized_crop_video = center_crop_image, resized_crop_image
five_crop_video, ten_crop_video = five_crop_image, ten_crop_image
affine_video, rotate_video = affine_image, rotate_image
perspective_video, elastic_video = perspective_image, elastic_image
