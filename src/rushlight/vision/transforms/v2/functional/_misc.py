"""The rest: normalising, blurring, noise, dtypes, holes, JPEG, frames."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from .....base import dtypes
from .....core.tensor import Tensor
from .....nn import functional as nnF
from .....operators.create.from_data import as_tensor, from_numpy
from .....operators.create.like import empty_like
from .....operators.create.ranges import linspace
from .....operators.shape.join import stack
from .... import tv_tensors
from ...._pillow import is_pil_image, need
from ....io.image import decode_jpeg, encode_jpeg
from ....tv_tensors import Video
from ... import functional as v1
from ..._convert import pil_to_tensor
from ._registry import by_tensor, call, functional, serve
from ._registry import pil_kernel as __getattr__  # noqa: F401 - by torchvision's names
from ._tones import to_dtype_image

if TYPE_CHECKING:
    from .....base.dtypes import dtype
    from ...._pillow import Picture, PILImage

__all__ = [
    "convert_image_dtype", "erase", "erase_image", "erase_video", "gaussian_blur",
    "gaussian_blur_image", "gaussian_blur_video", "gaussian_noise", "gaussian_noise_image",
    "gaussian_noise_video", "get_image_size", "jpeg", "jpeg_image", "jpeg_video", "normalize",
    "normalize_image", "normalize_video", "to_dtype", "to_dtype_video", "to_image", "to_tensor",
    "uniform_temporal_subsample", "uniform_temporal_subsample_video",
]  # fmt: skip


def normalize_image(image: Tensor, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> Tensor:
    """As `normalize`, for tensor pictures: (image - mean) / std, channel by channel."""
    if not image.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {image.dtype}.")
    if image.ndim < 3:
        raise ValueError(f"Expected tensor to be a tensor image of size (..., C, H, W). Got {image.shape}.")
    if not isinstance(std, Tensor) and not np.all(std):
        raise ValueError("std evaluated to zero, leading to division by zero.")
    centre, spread = (as_tensor(v, dtype=image.dtype, device=image.device) for v in (mean, std))
    centre = centre.view(-1, 1, 1) if centre.ndim == 1 else centre
    spread = spread.view(-1, 1, 1) if spread.ndim == 1 else spread
    return (image.sub_(centre) if inplace else image.sub(centre)).div_(spread)


def _kernel_and_spread(
    kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None
) -> tuple[list[int], list[float]]:
    kernel = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    if len(kernel) != 2:
        raise ValueError(f"If kernel_size is a sequence its length should be 2. Got {len(kernel)}")
    if any(k % 2 == 0 or k < 0 for k in kernel):
        raise ValueError(f"kernel_size should have odd and positive integers. Got {kernel}")
    if sigma is None:
        spread = [k * 0.15 + 0.35 for k in kernel]
    elif isinstance(sigma, (int, float)):
        spread = [float(sigma)] * 2
    elif isinstance(sigma, (list, tuple)):
        spread = list(sigma) * 2 if len(sigma) == 1 else list(sigma)
    else:
        raise TypeError(f"sigma should be either float or sequence of floats. Got {type(sigma)}")
    if len(spread) != 2:
        raise ValueError(f"If sigma is a sequence, its length should be 2. Got {len(spread)}")
    if any(s <= 0.0 for s in spread):
        raise ValueError(f"sigma should have positive values. Got {spread}")
    return kernel, spread


def _bell(size: int, sigma: float, like: Tensor) -> Tensor:
    """The weights of a blur along one dimension; they sum to one."""
    half = (size - 1) / 2.0
    x = linspace(-half, half, steps=size, dtype=like.dtype, device=like.device)
    return ((x / sigma).pow(2) * -0.5).softmax(0)


def gaussian_blur_image(
    image: Tensor, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Tensor:
    """As `gaussian_blur`, for tensor pictures: the picture blurred with a Gaussian; its edges are mirrored."""
    (wide, high), (sx, sy) = _kernel_and_spread(kernel_size, sigma)
    if image.numel() == 0:
        return image
    floats = image if image.is_floating_point() else image.to(dtypes.float32)
    channels = image.shape[-3]
    batch = floats.reshape(-1, *image.shape[-3:])
    weights = _bell(high, sy, batch)[:, None] * _bell(wide, sx, batch)
    rim = [wide // 2, wide // 2, high // 2, high // 2]
    weights = weights.expand(channels, 1, high, wide)
    out = nnF.conv2d(nnF.pad(batch, rim, mode="reflect"), weights, groups=channels)
    out = out.reshape(image.shape)
    return out if image.is_floating_point() else out.round().to(image.dtype)


def gaussian_noise(inpt: Picture, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> Any:
    """Normal noise added to a picture or a video; bytes count as numbers of [0, 1], times 255.

    Args:
        inpt: a tensor of floating point or of bytes.
        mean, sigma: of the noise.
        clip: keep the result within the range of a picture.

    Raises:
        ValueError: if the dtype is another one, or `sigma` is negative.

    Example:
        >>> F.gaussian_noise(torch.ones(1, 1, 2), sigma=0.0)
        tensor([[[1., 1.]]])
    """
    return call(gaussian_noise, inpt, mean=mean, sigma=sigma, clip=clip)


def gaussian_noise_image(image: Tensor, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> Tensor:
    """As `gaussian_noise`, for tensor pictures: normal noise added to a tensor."""
    if sigma < 0:
        raise ValueError(f"sigma shouldn't be negative. Got {sigma}")
    if image.is_floating_point():
        out = image + (mean + empty_like(image).normal_() * sigma)
        return out.clamp(0, 1) if clip else out
    if image.dtype != dtypes.uint8:
        raise ValueError(f"Input tensor is expected to be in uint8 or float dtype, got dtype={image.dtype}")
    noise = mean * 255 + empty_like(image, dtype=dtypes.float32).normal_() * (sigma * 255)
    out = image + noise.to(dtypes.int16)
    return (out.clamp(0, 255) if clip else out).to(dtypes.uint8)


def to_dtype(inpt: Picture, dtype: dtype = dtypes.float32, scale: bool = False) -> Any:
    """A tensor in another dtype, the numbers of a picture scaled to that dtype's range if `scale`.

    Args:
        inpt: a tensor of any kind.
        scale: scale pictures and videos; masks, boxes and points never are.

    Raises:
        RuntimeError: if the new dtype cannot hold the scaled numbers.

    Example:
        >>> F.to_dtype(torch.tensor([0, 255], dtype=torch.uint8), scale=True)
        tensor([0., 1.])
    """
    return call(to_dtype, inpt, dtype=dtype, scale=scale)


def _plain_dtype(inpt: Tensor, dtype: dtype = dtypes.float32) -> Tensor:
    return inpt.to(dtype)


def convert_image_dtype(image: Tensor, dtype: dtype = dtypes.float32) -> Tensor:
    """As `vision.transforms.functional.convert_image_dtype`; the former name of to_dtype(image, dtype, scale=True)."""
    return to_dtype_image(image, dtype, scale=True)


def erase_image(image: Tensor, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Tensor:
    """As `erase`, for tensor pictures: a tensor with a rectangle replaced."""
    out = image if inplace else image.clone()
    out[..., i : i + h, j : j + w] = v
    return out


def jpeg(image: Picture, quality: int) -> Any:
    """A picture or a video as it looks after it was stored as JPEG.

    Args:
        image: a picture of bytes, as a tensor or a PIL image.
        quality: 1 to 100.

    Example:
        >>> import PIL
        >>> F.jpeg(torch.zeros(3, 8, 8, dtype=torch.uint8), 50).sum()
        tensor(0)
    """
    return call(jpeg, image, quality=quality)


def jpeg_image(image: Tensor, quality: int) -> Tensor:
    """As `jpeg`, for tensor pictures: a tensor after JPEG."""
    pictures = image.reshape(-1, *image.shape[-3:])
    if pictures.shape[0] == 0:
        return image.clone()
    made = [decode_jpeg(encode_jpeg(picture, quality=quality)) for picture in pictures]
    return stack(made).reshape(image.shape)


def _jpeg_pil(image: PILImage, quality: int) -> Any:
    raw = BytesIO()
    image.save(raw, format="JPEG", quality=quality)
    return need().open(raw).copy()  # a plain image, not the reader of a file


def uniform_temporal_subsample(inpt: Picture, num_samples: int) -> Any:
    """Some pictures of a video, the first and the last among them, the others evenly between.

    Args:
        inpt: (..., T, C, H, W).
        num_samples: how many.

    Example:
        >>> F.uniform_temporal_subsample(torch.arange(5).reshape(5, 1, 1, 1), 3).flatten()
        tensor([0, 2, 4])
    """
    return call(uniform_temporal_subsample, inpt, num_samples=num_samples)


def uniform_temporal_subsample_video(video: Tensor, num_samples: int) -> Tensor:
    """As `uniform_temporal_subsample`, for tensor videos: some pictures of a tensor."""
    places = linspace(0, video.shape[-4] - 1, num_samples, device=video.device)
    return video.index_select(-4, places.to(dtypes.int64))


def to_image(inpt: Any) -> Any:
    """A tensor, a PIL image or an (H, W, C) array as `tv_tensors.Image`.

    Args:
        inpt: one of them.

    Raises:
        TypeError: if it is something else.

    Example:
        >>> F.to_image(np.zeros((2, 4, 3), np.uint8)).shape
        torch.Size([3, 2, 4])
    """
    if isinstance(inpt, np.ndarray):
        inpt = from_numpy(np.ascontiguousarray(np.atleast_3d(inpt).transpose(2, 0, 1)))
    elif is_pil_image(inpt):
        inpt = pil_to_tensor(inpt)
    elif not isinstance(inpt, Tensor):
        raise TypeError(
            f"Input can either be a pure Tensor, a numpy array, or a PIL image, but got {type(inpt)} instead."
        )
    return tv_tensors.Image(inpt)


def to_tensor(inpt: Any) -> Tensor:
    """As `vision.transforms.functional.to_tensor`, with a warning: use `to_image` and `to_dtype`."""
    warnings.warn(
        "The function `to_tensor(...)` is deprecated and will be removed in a future release. "
        "Instead, please use `to_image(...)` followed by `to_dtype(..., dtype=torch.float32, scale=True)`."
    )
    return v1.to_tensor(inpt)


def get_image_size(inpt: Picture) -> list[int]:
    """As `vision.transforms.functional.get_image_size`, with a warning: use `get_size`."""
    warnings.warn(
        "The function `get_image_size(...)` is deprecated and will be removed in a future release. "
        "Instead, please use `get_size(...)` which returns `[h, w]` instead of `[w, h]`."
    )
    return v1.get_image_size(inpt)


normalize = functional("normalize", normalize_image, whom="for pictures and videos of `tv_tensors`, too.")
gaussian_blur = functional(
    "gaussian_blur", gaussian_blur_image, by_tensor(gaussian_blur_image),
    whom="for pictures and videos of `tv_tensors`, too.",
)  # fmt: skip
erase = functional(
    "erase", erase_image, by_tensor(erase_image), whom="for PIL images and pictures and videos of `tv_tensors`, too."
)
serve(gaussian_noise, gaussian_noise_image)
serve(to_dtype, to_dtype_image, None, _plain_dtype, _plain_dtype, _plain_dtype)
serve(jpeg, jpeg_image, _jpeg_pil)
serve(uniform_temporal_subsample, uniform_temporal_subsample_video, kinds=(Video,))

normalize_video, gaussian_blur_video, gaussian_noise_video = (
    normalize_image,
    gaussian_blur_image,
    gaussian_noise_image,
)
to_dtype_video, erase_video, jpeg_video = to_dtype_image, erase_image, jpeg_image
