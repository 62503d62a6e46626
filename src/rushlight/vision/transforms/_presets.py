"""The transforms that pretrained weights were made for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base import dtypes
from ...core.tensor import Tensor
from ...nn import Module
from . import functional as F
from ._modes import InterpolationMode

if TYPE_CHECKING:
    from .._pillow import Picture

__all__ = ["ImageClassification", "ObjectDetection", "SemanticSegmentation"]


class _Preset(Module):
    """Shown with some of its attributes, one a line."""

    _shows: tuple[str, ...] = ()

    def __repr__(self) -> str:
        body = "".join(f"\n    {name}={getattr(self, name)}" for name in self._shows)
        return f"{type(self).__name__}({body}\n)" if body else f"{type(self).__name__}()"

    def _described(self, done: str) -> str:
        return (
            "Accepts ``PIL.Image``, batched ``(B, C, H, W)`` and single ``(C, H, W)`` image "
            f"``torch.Tensor`` objects. The images are {done}"
        )

    def _normalised(self) -> str:
        return (
            "Finally the values are first rescaled to ``[0.0, 1.0]`` and then normalized using "
            f"``mean={self.mean}`` and ``std={self.std}``."
        )


class ImageClassification(_Preset):
    """Resize the shorter edge, crop the middle, scale to [0, 1] and normalise."""

    _shows = ("crop_size", "resize_size", "mean", "std", "interpolation")

    def __init__(
        self,
        *,
        crop_size: int,
        resize_size: int = 256,
        mean: tuple[float, ...] = (0.485, 0.456, 0.406),
        std: tuple[float, ...] = (0.229, 0.224, 0.225),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.crop_size = [crop_size]
        self.resize_size = [resize_size]
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation
        self.antialias = antialias

    def forward(self, img: Picture) -> Tensor:
        img = F.resize(img, self.resize_size, self.interpolation, antialias=self.antialias)
        img = F.center_crop(img, self.crop_size)
        return F.normalize(_as_floats(img), mean=self.mean, std=self.std)

    def describe(self) -> str:
        """What is done to an image, in words."""
        return self._described(
            f"resized to ``resize_size={self.resize_size}`` using ``interpolation={self.interpolation}``, followed by "
            f"a central crop of ``crop_size={self.crop_size}``. {self._normalised()}"
        )


def _as_floats(img: Picture) -> Tensor:
    """A picture as a tensor of numbers from 0 to 1."""
    tensor = img if isinstance(img, Tensor) else F.pil_to_tensor(img)
    return F.convert_image_dtype(tensor, dtypes.float32)


class ObjectDetection(_Preset):
    """Scale to [0, 1]; detectors resize and normalise themselves.

    Example:
        >>> from rushlight.vision.transforms._presets import ObjectDetection
        >>> ObjectDetection()(torch.full((3, 2, 2), 255, dtype=torch.uint8)).max()
        tensor(1.)
    """

    def forward(self, img: Picture) -> Tensor:
        return _as_floats(img)

    def describe(self) -> str:
        """What is done to an image, in words."""
        return self._described("rescaled to ``[0.0, 1.0]``.")


class SemanticSegmentation(_Preset):
    """Resize the shorter edge, scale to [0, 1] and normalise.

    Args:
        resize_size: length of the shorter edge; None leaves the size as it is.
        mean: subtracted from each channel.
        std: divides each channel.
        interpolation: how pixels are read when resizing.
        antialias: smooth before the picture becomes smaller.

    Example:
        >>> from rushlight.vision.transforms._presets import SemanticSegmentation
        >>> SemanticSegmentation(resize_size=8)(torch.zeros(3, 16, 32)).shape
        torch.Size([3, 8, 16])
    """

    _shows = ("resize_size", "mean", "std", "interpolation")

    def __init__(
        self,
        *,
        resize_size: int | None,
        mean: tuple[float, ...] = (0.485, 0.456, 0.406),
        std: tuple[float, ...] = (0.229, 0.224, 0.225),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.resize_size = None if resize_size is None else [resize_size]
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation
        self.antialias = antialias

    def forward(self, img: Picture) -> Tensor:
        if self.resize_size is not None:
            img = F.resize(img, self.resize_size, self.interpolation, antialias=self.antialias)
        return F.normalize(_as_floats(img), mean=self.mean, std=self.std)

    def describe(self) -> str:
        """What is done to an image, in words."""
        return self._described(
            f"resized to ``resize_size={self.resize_size}`` using ``interpolation={self.interpolation}``. "
            f"{self._normalised()}"
        )
