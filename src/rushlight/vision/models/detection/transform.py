"""Pictures and targets brought to the size a detector works on, and its answers brought back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import nn
from ....core.tensor import Tensor
from ....nn.functional import interpolate
from ....operators.create.from_data import tensor
from ....operators.shape.join import stack
from ...transforms._draw import uniform
from .image_list import ImageList
from .roi_heads import paste_masks_in_image

Target = dict[str, Tensor]


def _ratios(original_size: Sequence[int], new_size: Sequence[int]) -> tuple[float, float]:
    """How much larger the new size is, in height and width, in single precision."""
    one = np.float32
    height, width = (float(one(n) / one(o)) for n, o in zip(new_size, original_size))
    return height, width


def resize_boxes(boxes: Tensor, original_size: Sequence[int], new_size: Sequence[int]) -> Tensor:
    """Boxes of a picture of one (height, width) in another.

    Example:
        >>> from rushlight.vision.models.detection.transform import resize_boxes
        >>> resize_boxes(torch.tensor([[1.0, 2, 3, 4]]), (10, 10), (10, 20))
        tensor([[2., 2., 6., 4.]])
    """
    down, across = _ratios(original_size, new_size)
    x1, y1, x2, y2 = boxes.unbind(1)
    return stack([x1 * across, y1 * down, x2 * across, y2 * down], 1)


def resize_keypoints(keypoints: Tensor, original_size: Sequence[int], new_size: Sequence[int]) -> Tensor:
    """Points (x, y, visible) of a picture of one (height, width) in another.

    Example:
        >>> from rushlight.vision.models.detection.transform import resize_keypoints
        >>> resize_keypoints(torch.tensor([[[1.0, 2, 1]]]), (10, 10), (10, 20))
        tensor([[[2., 2., 1.]]])
    """
    down, across = _ratios(original_size, new_size)
    made = keypoints.clone()
    made[..., 0] *= across
    made[..., 1] *= down
    return made


class GeneralizedRCNNTransform(nn.Module):
    """Normalise pictures, resize them, and put them into one batch; bring answers back to their size.

    Args:
        min_size: the shorter edge of a resized picture, or several to draw from in training.
        max_size: the longest that the other edge may be.
        image_mean: subtracted from each channel.
        image_std: divides each channel.
        size_divisible: height and width of the batch are multiples of it.
        fixed_size: (width, height) of every picture, instead.

    Example:
        >>> from rushlight.vision.models.detection.transform import GeneralizedRCNNTransform
        >>> resize = GeneralizedRCNNTransform(16, 32, [0.0] * 3, [1.0] * 3).eval()
        >>> images, _ = resize([torch.rand(3, 20, 30), torch.rand(3, 40, 20)])
        >>> images.tensors.shape, images.image_sizes
        (torch.Size([2, 3, 32, 32]), [(16, 24), (32, 16)])
    """

    def __init__(
        self,
        min_size: int | Sequence[int],
        max_size: int,
        image_mean: list[float],
        image_std: list[float],
        size_divisible: int = 32,
        fixed_size: tuple[int, int] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.min_size = tuple(min_size) if isinstance(min_size, (list, tuple)) else (min_size,)
        self.max_size = max_size
        self.image_mean, self.image_std = image_mean, image_std
        self.size_divisible, self.fixed_size = size_divisible, fixed_size
        self._skip_resize = kwargs.pop("_skip_resize", False)

    def forward(
        self, images: list[Tensor], targets: list[Target] | None = None
    ) -> tuple[ImageList, list[Target] | None]:
        images = list(images)
        targets = None if targets is None else [dict(t) for t in targets]
        for i, image in enumerate(images):
            if image.ndim != 3:
                raise ValueError(f"images is expected to be a list of 3d tensors of shape [C, H, W], got {image.shape}")
            target = None if targets is None else targets[i]
            images[i], target = self.resize(self.normalize(image), target)
            if targets is not None and target is not None:
                targets[i] = target
        sizes = [(image.shape[-2], image.shape[-1]) for image in images]
        return ImageList(self.batch_images(images, self.size_divisible), sizes), targets

    def normalize(self, image: Tensor) -> Tensor:
        """A picture of numbers from 0 to 1, less the mean, over the deviation."""
        if not image.is_floating_point():
            raise TypeError(
                f"Expected input images to be of floating type (in range [0, 1]), but found type {image.dtype} instead"
            )
        mean = tensor(self.image_mean, dtype=image.dtype, device=image.device)
        std = tensor(self.image_std, dtype=image.dtype, device=image.device)
        return (image - mean[:, None, None]) / std[:, None, None]

    def torch_choice(self, k: Any) -> int:
        """One of several sizes."""
        return k[int(uniform(0.0, float(len(k))))]

    def resize(self, image: Tensor, target: Target | None = None) -> tuple[Tensor, Target | None]:
        """A picture and its target in the size to work on."""
        if self.training and self._skip_resize:
            return image, target
        size = self.torch_choice(self.min_size) if self.training else self.min_size[-1]
        before = image.shape[-2:]
        options = self._how(before, size)
        image = interpolate(image[None], mode="bilinear", align_corners=False, **options)[0]
        if target is None:
            return image, None
        after = image.shape[-2:]
        target["boxes"] = resize_boxes(target["boxes"], before, after)
        if "masks" in target:
            masks = target["masks"][:, None].float()
            target["masks"] = interpolate(masks, **options)[:, 0].byte()
        if "keypoints" in target:
            target["keypoints"] = resize_keypoints(target["keypoints"], before, after)
        return image, target

    def _how(self, before: Any, size: int) -> dict[str, Any]:
        """The arguments of `interpolate`."""
        if self.fixed_size is not None:
            return {"size": [self.fixed_size[1], self.fixed_size[0]]}
        scale = min(size / min(before), self.max_size / max(before))
        return {"scale_factor": scale, "recompute_scale_factor": True}

    def max_by_axis(self, the_list: list[list[int]]) -> list[int]:
        """The largest size along each axis."""
        return [max(sizes) for sizes in zip(*the_list)]

    def batch_images(self, images: list[Tensor], size_divisible: int = 32) -> Tensor:
        """Pictures in one batch, zeros to the right and below where they are smaller."""
        channels, height, width = self.max_by_axis([list(image.shape) for image in images])
        height, width = (math.ceil(n / size_divisible) * size_divisible for n in (height, width))
        batch = images[0].new_full((len(images), channels, height, width), 0)
        for i, image in enumerate(images):
            batch[i, : image.shape[0], : image.shape[1], : image.shape[2]] = image
        return batch

    def postprocess(
        self, result: list[Target], image_shapes: list[Any], original_image_sizes: list[Any]
    ) -> list[Target]:
        """Boxes, masks and points in the sizes that the pictures had."""
        if self.training:
            return result
        for pred, worked, original in zip(result, image_shapes, original_image_sizes):
            pred["boxes"] = resize_boxes(pred["boxes"], worked, original)
            if "masks" in pred:
                pred["masks"] = paste_masks_in_image(pred["masks"], pred["boxes"], original)
            if "keypoints" in pred:
                pred["keypoints"] = resize_keypoints(pred["keypoints"], worked, original)
        return result

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(\n    Normalize(mean={self.image_mean}, std={self.image_std})\n"
            f"    Resize(min_size={self.min_size}, max_size={self.max_size}, mode='bilinear')\n)"
        )
