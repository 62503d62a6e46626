"""The transforms that pretrained weights were made for."""

from __future__ import annotations

from typing import Any

from ...base import dtypes
from ...core.tensor import Tensor
from ...nn import Module
from . import functional as F
from ._modes import InterpolationMode

__all__ = ["ImageClassification"]


class ImageClassification(Module):
    """Resize the shorter edge, crop the middle, scale to [0, 1] and normalise."""

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

    def forward(self, img: Any) -> Tensor:
        img = F.resize(img, self.resize_size, self.interpolation, antialias=self.antialias)
        img = F.center_crop(img, self.crop_size)
        if not isinstance(img, Tensor):
            img = F.pil_to_tensor(img)
        img = F.convert_image_dtype(img, dtypes.float32)
        return F.normalize(img, mean=self.mean, std=self.std)

    def __repr__(self) -> str:
        rows = ("crop_size", "resize_size", "mean", "std", "interpolation")
        body = "".join(f"\n    {name}={getattr(self, name)}" for name in rows)
        return f"{type(self).__name__}({body}\n)"

    def describe(self) -> str:
        """What is done to an image, in words."""
        return (
            "Accepts ``PIL.Image``, batched ``(B, C, H, W)`` and single ``(C, H, W)`` image "
            f"``torch.Tensor`` objects. The images are resized to ``resize_size={self.resize_size}`` "
            f"using ``interpolation={self.interpolation}``, followed by a central crop of "
            f"``crop_size={self.crop_size}``. Finally the values are first rescaled to ``[0.0, 1.0]`` "
            f"and then normalized using ``mean={self.mean}`` and ``std={self.std}``."
        )
