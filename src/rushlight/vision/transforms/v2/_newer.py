"""Transforms that only v2 has, for single images."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base import dtypes
from ....core.tensor import Tensor
from ....nn import Module
from .. import _batch
from .. import functional as F
from .._batch import Stage, Step
from .._fixed import ConvertImageDtype, PILToTensor, _scaled


class ToImage(Module):
    """A PIL image or an (H, W, C) array as a (C, H, W) tensor of its own numbers.

    Example:
        >>> from rushlight.vision.transforms import v2
        >>> v2.ToImage()(np.zeros((2, 4, 3), np.uint8)).shape
        torch.Size([3, 2, 4])
    """

    def forward(self, img: Any) -> Tensor:
        if isinstance(img, Tensor):
            return img
        if isinstance(img, np.ndarray):
            from ....operators.create.from_data import from_numpy

            rows = img[:, :, None] if img.ndim == 2 else img
            return from_numpy(np.array(rows.transpose(2, 0, 1), order="C"))
        return F.pil_to_tensor(img)

    def __batched__(self, stage: Stage) -> Step | None:
        return PILToTensor().__batched__(stage) if stage.pil else _batch.same(stage)


class ToPureTensor(Module):
    """A tensor as a plain tensor; there are no others here.

    Example:
        >>> from rushlight.vision.transforms import v2
        >>> v2.ToPureTensor()(torch.tensor([1, 2]))
        tensor([1, 2])
    """

    def forward(self, img: Any) -> Any:
        return img

    def __batched__(self, stage: Stage) -> Step | None:
        return _batch.same(stage)


class ToDtype(Module):
    """A tensor image in another dtype, its numbers scaled to that dtype's range when `scale`.

    Args:
        dtype: the new one.
        scale: scale the numbers, too.

    Example:
        >>> from rushlight.vision.transforms import v2
        >>> v2.ToDtype(torch.float32, scale=True)(torch.tensor([[[0, 255]]], dtype=torch.uint8))
        tensor([[[0., 1.]]])
    """

    def __init__(self, dtype: Any, scale: bool = False) -> None:
        super().__init__()
        if not isinstance(dtype, dtypes.dtype):
            raise ValueError(f"dtype must be a torch.dtype, got {type(dtype)} instead")
        self.dtype = dtype
        self.scale = scale

    def forward(self, img: Any) -> Any:
        if not isinstance(img, Tensor):
            return img  # as torchvision's, it leaves PIL images alone
        return F.convert_image_dtype(img, self.dtype) if self.scale else img.to(self.dtype)

    def __batched__(self, stage: Stage) -> Step | None:
        if stage.pil:
            return _batch.same(stage)
        kind = self.dtype.np
        if self.scale and stage.dtype == np.uint8 and kind in (np.float32, np.float64):
            return _scaled(stage, kind)
        if stage.dtype == kind:
            return _batch.same(stage)
        if self.scale:
            return None
        return Step(lambda x, words: x.astype(kind), stage._replace(dtype=kind))

    def extra_repr(self) -> str:
        return f"scale={self.scale}"


class ConvertDtype(ConvertImageDtype):
    """The former name of ToDtype(dtype, scale=True).

    Args:
        dtype: the new one.

    Example:
        >>> from rushlight.vision.transforms import v2
        >>> v2.ConvertDtype()(torch.tensor([[[0, 255]]], dtype=torch.uint8))
        tensor([[[0., 1.]]])
    """

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        super().__init__(dtype)


class Identity(Module):
    """The image as it is.

    Example:
        >>> from rushlight.vision.transforms import v2
        >>> v2.Identity()(torch.tensor([1, 2]))
        tensor([1, 2])
    """

    def forward(self, img: Any) -> Any:
        return img

    def __batched__(self, stage: Stage) -> Step | None:
        return _batch.same(stage)


class RGB(Module):
    """A grey image in three channels; one in colour as it is.

    Example:
        >>> from rushlight.vision.transforms import v2
        >>> v2.RGB()(torch.zeros(1, 2, 4)).shape
        torch.Size([3, 2, 4])
    """

    def forward(self, img: Any) -> Any:
        if not isinstance(img, Tensor):
            return img.convert("RGB")
        return img if img.shape[-3] == 3 else img.expand(*img.shape[:-3], 3, *img.shape[-2:])


class GaussianNoise(Module):
    """Normal noise added to a float tensor image.

    Args:
        mean, sigma: of the noise.
        clip: keep the result between 0 and 1.

    Raises:
        ValueError: if the picture is not a tensor of floating point.

    Example:
        >>> from rushlight.vision.transforms import v2
        >>> v2.GaussianNoise(sigma=0.0)(torch.ones(1, 1, 2))
        tensor([[[1., 1.]]])
    """

    def __init__(self, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> None:
        super().__init__()
        self.mean, self.sigma, self.clip = mean, sigma, clip

    def forward(self, img: Tensor) -> Tensor:
        if not isinstance(img, Tensor) or not img.is_floating_point():
            raise ValueError("Input tensor is expected to be in float dtype")
        noise = img.new_empty(img.shape).normal_()
        out = img + self.mean + noise * self.sigma
        return out.clamp(0, 1) if self.clip else out

    def extra_repr(self) -> str:
        return f"mean={self.mean}, sigma={self.sigma}, clip={self.clip}"
