"""transforms.functional: one function per transform, for PIL images and tensor images alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.tensor import Tensor
from ...operators.create.from_data import as_tensor
from .. import _pillow
from . import _functional_pil as F_pil
from . import _functional_tensor as F_t
from ._convert import convert_image_dtype, pil_to_tensor, to_pil_image, to_tensor
from ._geometry import affine, elastic_transform, perspective, rotate
from ._geometry import inverse_affine_matrix as _get_inverse_affine_matrix  # noqa: F401 - libraries take it from here
from ._modes import PIL_NUMBERS, InterpolationMode, as_mode

if TYPE_CHECKING:
    from .._pillow import Picture

__all__ = [
    "InterpolationMode", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue",
    "adjust_saturation", "adjust_sharpness", "affine", "autocontrast", "center_crop",
    "convert_image_dtype", "crop", "elastic_transform", "equalize", "erase", "five_crop", "gaussian_blur",
    "get_dimensions", "get_image_num_channels", "get_image_size", "hflip", "invert", "normalize",
    "pad", "perspective", "pil_to_tensor", "posterize", "resize", "resized_crop",
    "rgb_to_grayscale", "rotate", "solarize", "ten_crop", "to_grayscale", "to_pil_image",
    "to_tensor", "vflip",
]  # fmt: skip

_is_pil_image = _pillow.is_pil_image
pil_modes_mapping = PIL_NUMBERS  # libraries take it from here


def _side(img: Picture) -> Any:
    """The module that works on this kind of image."""
    if isinstance(img, Tensor):
        return F_t
    if _is_pil_image(img):
        return F_pil
    raise TypeError(f"img should be PIL Image or Tensor Image. Got {type(img)}")


def get_dimensions(img: Picture) -> list[int]:
    """[channels, height, width] of an image.

    Example:
        >>> TF.get_dimensions(torch.zeros(3, 2, 4))
        [3, 2, 4]
    """
    return _side(img).get_dimensions(img)


def get_image_size(img: Picture) -> list[int]:
    """[width, height] of an image.

    Example:
        >>> TF.get_image_size(torch.zeros(3, 2, 4))
        [4, 2]
    """
    _, height, width = get_dimensions(img)
    return [width, height]


def get_image_num_channels(img: Picture) -> int:
    """The number of channels of an image.

    Example:
        >>> TF.get_image_num_channels(torch.zeros(3, 2, 4))
        3
    """
    return get_dimensions(img)[0]


def normalize(tensor: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """As `vision.transforms.Normalize`, of one picture."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
    if not tensor.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(
            f"Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = {tensor.size()}"
        )
    centre = as_tensor(mean, dtype=tensor.dtype, device=tensor.device)
    spread = as_tensor(std, dtype=tensor.dtype, device=tensor.device)
    if (spread == 0).any():
        raise ValueError(f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero.")
    if centre.ndim == 1:
        centre = centre.view(-1, 1, 1)
    if spread.ndim == 1:
        spread = spread.view(-1, 1, 1)
    out = tensor if inplace else tensor.clone()
    return out.sub_(centre).div_(spread)


def _resized(height: int, width: int, size: Sequence[int], max_size: int | None) -> list[int]:
    """[height, width] after a resize; a single number is meant for the shorter edge."""
    if len(size) == 2:
        return [int(size[0]), int(size[1])]
    wanted = int(size[0])
    short, long = min(height, width), max(height, width)
    new_short, new_long = wanted, int(wanted * long / short)
    if max_size is not None:
        if max_size <= wanted:
            raise ValueError(
                f"max_size = {max_size} must be strictly greater than the requested size for the "
                f"smaller edge size = {wanted}"
            )
        if new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return [new_long, new_short] if width <= height else [new_short, new_long]


def resize(
    img: Picture,
    size: int | Sequence[int],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    """As `vision.transforms.Resize`, of one picture."""
    mode = as_mode(interpolation)
    sizes = [size] if isinstance(size, int) else list(size)
    if len(sizes) not in (1, 2):
        raise ValueError(f"Size must be an int or a 1 or 2 element tuple/list, not a {len(sizes)} element tuple/list")
    if max_size is not None and len(sizes) != 1:
        raise ValueError(
            "max_size should only be passed if size specifies the length of the smaller edge, "
            "i.e. size should be an int or a sequence of length 1 in torchscript mode."
        )
    _, height, width = get_dimensions(img)
    target = _resized(height, width, sizes, max_size)
    if target == [height, width]:
        return img
    if isinstance(img, Tensor):
        return F_t.resize(img, target, mode.value, antialias)
    return F_pil.resize(img, target, PIL_NUMBERS[mode])


_PADDING_MODES = ("constant", "edge", "reflect", "symmetric")


def check_padding(padding: object, fill: object, padding_mode: object) -> None:
    """Refuse a padding, a fill or a mode that is none.

    Args:
        padding, fill, padding_mode: as in `pad`.

    Raises:
        TypeError: if one of them is of a wrong type.

    Example:
        >>> TF.check_padding((1, 2), 0, "edge")
    """
    if not isinstance(padding, (int, tuple, list)):
        raise TypeError("Got inappropriate padding arg")
    if not isinstance(fill, (int, float, str, tuple, list)) and fill is not None:
        raise TypeError("Got inappropriate fill arg")
    if not isinstance(padding_mode, str):
        raise TypeError("Got inappropriate padding_mode arg")
    if isinstance(padding, (tuple, list)) and len(padding) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple")
    if padding_mode not in _PADDING_MODES:
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")


def pad(
    img: Picture, padding: int | Sequence[int], fill: float | Sequence[float] | None = 0, padding_mode: str = "constant"
) -> Any:
    """As `vision.transforms.Pad`, of one picture."""
    check_padding(padding, fill, padding_mode)
    return _side(img).pad(img, padding, fill, padding_mode)


def crop(img: Picture, top: int, left: int, height: int, width: int) -> Any:
    """A window of the image; what lies outside is black.

    Args:
        top, left: the window's corner.
        height, width: its size.

    Example:
        >>> TF.crop(torch.arange(9).reshape(1, 3, 3), 1, 1, 2, 2)
        tensor([[[4, 5],
                 [7, 8]]])
    """
    return _side(img).crop(img, top, left, height, width)


def pair(size: int | Sequence[int]) -> tuple[int, int]:
    """One number twice, or two numbers.

    Args:
        size: a number, or a sequence of one or two.

    Raises:
        ValueError: if there are more than two.

    Example:
        >>> TF.pair(3)
        (3, 3)
    """
    if isinstance(size, (int, float)):
        return int(size), int(size)
    sizes = list(size)
    if len(sizes) == 1:
        return int(sizes[0]), int(sizes[0])
    if len(sizes) != 2:
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return sizes[0], sizes[1]


def centre_window(height: int, width: int, th: int, tw: int) -> tuple[list[int], int, int]:
    """The rim a centre crop needs first, then the top and the left of its window.

    Args:
        height, width: of the picture.
        th, tw: of the window.

    Example:
        >>> TF.centre_window(4, 4, 2, 2)
        ([0, 0, 0, 0], 1, 1)
    """
    rim = [max(tw - width, 0) // 2, max(th - height, 0) // 2]
    rim += [(max(tw - width, 0) + 1) // 2, (max(th - height, 0) + 1) // 2]
    height, width = max(height, th), max(width, tw)
    return rim, round((height - th) / 2.0), round((width - tw) / 2.0)


def center_crop(img: Picture, output_size: int | Sequence[int]) -> Any:
    """As `vision.transforms.CenterCrop`, of one picture."""
    th, tw = pair(output_size)
    _, height, width = get_dimensions(img)
    rim, top, left = centre_window(height, width, th, tw)
    if any(rim):
        img = pad(img, rim, fill=0)
        if (max(height, th), max(width, tw)) == (th, tw):
            return img
    return crop(img, top, left, th, tw)


def resized_crop(
    img: Picture,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Any:
    """A window of the image, resized.

    Args:
        top, left: the window's corner.
        height, width: its size.
        size: of the result.
        interpolation: an `InterpolationMode`.
        antialias: average over the pixels that become one.

    Example:
        >>> TF.resized_crop(torch.zeros(3, 16, 16), 0, 0, 8, 8, 4).shape
        torch.Size([3, 4, 4])
    """
    window = crop(img, top, left, height, width)
    return resize(window, size, interpolation, antialias=antialias)


def hflip(img: Picture) -> Any:
    """Left and right exchanged.

    Example:
        >>> TF.hflip(torch.tensor([[[1, 2]]]))
        tensor([[[2, 1]]])
    """
    return _side(img).hflip(img)


def vflip(img: Picture) -> Any:
    """As `hflip`: top and bottom exchanged."""
    return _side(img).vflip(img)


def five_crop(img: Picture, size: int | Sequence[int]) -> tuple[Any, ...]:
    """As `vision.transforms.FiveCrop`, of one picture."""
    th, tw = pair(size)
    _, height, width = get_dimensions(img)
    if tw > width or th > height:
        raise ValueError(f"Requested crop size {(th, tw)} is bigger than input size {(height, width)}")
    corners = [(0, 0), (0, width - tw), (height - th, 0), (height - th, width - tw)]
    crops = [crop(img, top, left, th, tw) for top, left in corners]
    return (*crops, center_crop(img, [th, tw]))


def ten_crop(img: Picture, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Any, ...]:
    """As `vision.transforms.TenCrop`, of one picture."""
    th, tw = pair(size)
    mirrored = vflip(img) if vertical_flip else hflip(img)
    return (*five_crop(img, (th, tw)), *five_crop(mirrored, (th, tw)))


# -- colours -------------------------------------------------------------------------------------


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """0 is black, 1 the image, 2 twice as bright.

    Args:
        brightness_factor: at least 0.

    Example:
        >>> TF.adjust_brightness(torch.full((3, 1, 1), 0.25), 2)[0]
        tensor([[0.5000]])
    """
    return _side(img).adjust_brightness(img, brightness_factor)


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """0 is grey, 1 the image.

    Args:
        contrast_factor: at least 0.

    Example:
        >>> TF.adjust_contrast(torch.tensor([[[0.0, 0.5]]]).expand(3, 1, 2), 0)[0]
        tensor([[0.2500, 0.2500]])
    """
    return _side(img).adjust_contrast(img, contrast_factor)


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """0 is black and white, 1 the image.

    Args:
        saturation_factor: at least 0.

    Example:
        >>> TF.adjust_saturation(torch.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1), 0).flatten()
        tensor([0.2989, 0.2989, 0.2989])
    """
    return _side(img).adjust_saturation(img, saturation_factor)


def adjust_sharpness(img: Any, sharpness_factor: float) -> Any:
    """0 is blurred, 1 the image, 2 sharper.

    Args:
        sharpness_factor: at least 0.

    Example:
        >>> TF.adjust_sharpness(torch.ones(3, 4, 4), 2).shape
        torch.Size([3, 4, 4])
    """
    return _side(img).adjust_sharpness(img, sharpness_factor)


def adjust_hue(img: Picture, hue_factor: float) -> Any:
    """Hues turned by a part of the circle in [-0.5, 0.5].

    Args:
        hue_factor: between -0.5 and 0.5.

    Raises:
        ValueError: if `hue_factor` is out of range.

    Example:
        >>> TF.adjust_hue(torch.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1), 0.5).flatten()
        tensor([0., 1., 1.])
    """
    return _side(img).adjust_hue(img, hue_factor)


def adjust_gamma(img: Picture, gamma: float, gain: float = 1) -> Any:
    """gain * img ** gamma, with the image in [0, 1].

    Args:
        gamma, gain: numbers.

    Example:
        >>> TF.adjust_gamma(torch.full((1, 1, 1), 0.5), 2)
        tensor([[[0.2500]]])
    """
    return _side(img).adjust_gamma(img, gamma, gain)


def rgb_to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """As `vision.transforms.Grayscale`, of one picture."""
    if _side(img) is F_pil:
        return F_pil.to_grayscale(img, num_output_channels)
    return F_t.rgb_to_grayscale(img, num_output_channels)


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """A PIL image without colour.

    Args:
        img: a PIL image.
        num_output_channels: 1 or 3.

    Raises:
        TypeError: if it is something else.

    Example:
        >>> from PIL import Image
        >>> TF.to_grayscale(Image.new("RGB", (4, 2))).mode
        'L'
    """
    if not _is_pil_image(img):
        raise TypeError("Input should be PIL Image")
    return F_pil.to_grayscale(img, num_output_channels)


def invert(img: Picture) -> Any:
    """The negative.

    Example:
        >>> TF.invert(torch.tensor([[[0.0, 0.25]]]))
        tensor([[[1.0000, 0.7500]]])
    """
    return _side(img).invert(img)


def posterize(img: Picture, bits: int) -> Any:
    """Only the highest `bits` of every number kept.

    Args:
        bits: 0 to 8.

    Example:
        >>> TF.posterize(torch.tensor([[[100, 200]]], dtype=torch.uint8), 1)
        tensor([[[  0, 128]]], dtype=torch.uint8)
    """
    if not 0 <= bits <= 8:
        raise ValueError(f"The number if bits should be between 0 and 8. Got {bits}")
    return _side(img).posterize(img, bits)


def solarize(img: Picture, threshold: float) -> Any:
    """The negative of all that is at least as bright as `threshold`.

    Args:
        threshold: a number of the image's range.

    Example:
        >>> TF.solarize(torch.tensor([[[0.25, 0.75]]]), 0.5)
        tensor([[[0.2500, 0.2500]]])
    """
    return _side(img).solarize(img, threshold)


def autocontrast(img: Picture) -> Any:
    """Every channel stretched over the whole range.

    Example:
        >>> TF.autocontrast(torch.tensor([[[0.25, 0.75]]]))
        tensor([[[0., 1.]]])
    """
    return _side(img).autocontrast(img)


def equalize(img: Picture) -> Any:
    """Every channel with an even histogram.

    Raises:
        TypeError: if a tensor is not of uint8.

    Example:
        >>> TF.equalize(torch.tensor([[[100, 101, 102, 103]]], dtype=torch.uint8))
        tensor([[[100, 101, 102, 103]]], dtype=torch.uint8)
    """
    return _side(img).equalize(img)


# -- the rest ------------------------------------------------------------------------------------


def erase(img: Picture, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Tensor:
    """A tensor image with the rectangle at (i, j) replaced by `v`.

    Args:
        img: a tensor (..., C, H, W).
        i, j: top and left of the rectangle.
        h, w: its size.
        v: what is put there.
        inplace: change the picture itself.

    Example:
        >>> TF.erase(torch.ones(1, 2, 2), 0, 0, 1, 2, torch.zeros(1, 1, 1))
        tensor([[[0., 0.],
                 [1., 1.]]])
    """
    if not isinstance(img, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(img)}")
    return F_t.erase(img, i, j, h, w, v, inplace=inplace)


def gaussian_blur(img: Any, kernel_size: Any, sigma: float | Sequence[float] | None = None) -> Any:
    """As `vision.transforms.GaussianBlur`, of one picture."""
    kernel = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    if len(kernel) != 2:
        raise ValueError(f"If kernel_size is a sequence its length should be 2. Got {len(kernel)}")
    if any(k % 2 == 0 or k < 0 for k in kernel):
        raise ValueError(f"kernel_size should have odd and positive integers. Got {kernel}")
    if sigma is None:
        spread = [0.3 * ((k - 1) * 0.5 - 1) + 0.8 for k in kernel]
    else:
        given = [sigma] if isinstance(sigma, (int, float)) else list(sigma)
        spread = [float(s) for s in (given * 2 if len(given) == 1 else given)]
    if len(spread) != 2:
        raise ValueError(f"If sigma is a sequence, its length should be 2. Got {len(spread)}")
    if any(s <= 0.0 for s in spread):
        raise ValueError(f"sigma should have positive values. Got {spread}")
    if _side(img) is F_t:
        return F_t.gaussian_blur(img, kernel, spread)
    blurred = F_t.gaussian_blur(pil_to_tensor(img), kernel, spread)
    return to_pil_image(blurred, mode=img.mode)
