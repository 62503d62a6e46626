"""From one kind of thing to another: pictures, tensors, formats of boxes, frames of videos."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ....core.tensor import Tensor
from ..._pillow import is_pil_image
from ...tv_tensors import BoundingBoxes, Image, KeyPoints, TVTensor
from ...tv_tensors._base import _answers
from .. import _batch, _fixed
from .. import functional as v1
from .._batch import PlannedTransform, Stage
from . import functional as F
from ._transform import Transform

if TYPE_CHECKING:
    from ...tv_tensors._places import BoundingBoxFormat


class PILToTensor(Transform):
    """As `vision.transforms.PILToTensor`, of every part of a sample that it concerns."""

    _transformed_types = (is_pil_image,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Tensor:
        """The picture as a tensor."""
        return F.pil_to_tensor(inpt)

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        return _fixed.PILToTensor().__batched__(stage)


class ToImage(Transform):
    """A tensor, a PIL image or an (H, W, C) array as `tv_tensors.Image`; numbers stay as they are.

    Example:
        >>> v2.ToImage()(np.zeros((2, 4, 3), np.uint8)).shape
        torch.Size([3, 2, 4])
    """

    _transformed_types = (F.is_pure_tensor, is_pil_image, np.ndarray)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The picture as `tv_tensors.Image`."""
        return F.to_image(inpt)

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        if _answers.same_kind:
            return None  # a batch would be an Image, too
        return _batch.same(stage._replace(pil=False))


class ToPILImage(Transform):
    """As `vision.transforms.ToPILImage`, of every part of a sample that it concerns."""

    _transformed_types = (F.is_pure_tensor, Image, np.ndarray)

    def __init__(self, mode: str | None = None) -> None:
        super().__init__()
        self.mode = mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The picture as a PIL image."""
        return F.to_pil_image(inpt, mode=self.mode)


class ToPureTensor(Transform):
    """Values of `tv_tensors` as plain tensors.

    Example:
        >>> v2.ToPureTensor()(tv_tensors.Mask([[1, 2]]))
        tensor([[1, 2]])
    """

    _transformed_types = (TVTensor,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Tensor:
        """The part as a plain tensor."""
        return inpt.as_subclass(Tensor)

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        return _batch.same(stage)


class ToTensor(Transform):
    """PIL images and (H, W, C) arrays as (C, H, W) tensors; bytes become floats of [0, 1]. Use `ToImage` and `ToDtype`.

    Example:
        >>> import warnings; warnings.simplefilter("ignore")
        >>> v2.ToTensor()(np.array([[[0], [255]]], np.uint8))
        tensor([[[0., 1.]]])
    """

    _transformed_types = (is_pil_image, np.ndarray)

    def __init__(self) -> None:
        warnings.warn(
            "The transform `ToTensor()` is deprecated and will be removed in a future release. "
            "Instead, please use `v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])`."
            "Output is equivalent up to float precision."
        )
        super().__init__()

    def transform(self, inpt: Any, params: dict[str, Any]) -> Tensor:
        """The picture as a tensor."""
        return v1.to_tensor(inpt)

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        return _fixed.ToTensor().__batched__(stage)


class ConvertBoundingBoxFormat(Transform):
    """Boxes in another format.

    Args:
        format: a `tv_tensors.BoundingBoxFormat`, or its name.

    Example:
        >>> boxes = tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYWH", canvas_size=(8, 8))
        >>> v2.ToPureTensor()(v2.ConvertBoundingBoxFormat("XYXY")(boxes))
        tensor([[1, 2, 4, 6]])
    """

    _transformed_types = (BoundingBoxes,)

    def __init__(self, format: BoundingBoxFormat | str) -> None:
        super().__init__()
        self.format = format

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The boxes in that format."""
        return F.convert_bounding_box_format(inpt, new_format=self.format)


class ClampBoundingBoxes(Transform):
    """Boxes cut to the picture.

    Args:
        clamping_mode: for turned boxes: "soft", "hard", None, or "auto" for what the boxes say.

    Example:
        >>> boxes = tv_tensors.BoundingBoxes([[-1, 2, 30, 4]], format="XYXY", canvas_size=(8, 8))
        >>> v2.ToPureTensor()(v2.ClampBoundingBoxes()(boxes))
        tensor([[0, 2, 8, 4]])
    """

    _transformed_types = (BoundingBoxes,)

    def __init__(self, clamping_mode: str | None = "auto") -> None:
        super().__init__()
        self.clamping_mode = clamping_mode

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The boxes cut."""
        return F.clamp_bounding_boxes(inpt, clamping_mode=self.clamping_mode)


class ClampKeyPoints(Transform):
    """Points moved to the nearest pixel of the picture.

    Example:
        >>> v2.ToPureTensor()(v2.ClampKeyPoints()(tv_tensors.KeyPoints([-1, 9], canvas_size=(8, 8))))
        tensor([[0, 7]])
    """

    _transformed_types = (KeyPoints,)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The points inside."""
        return F.clamp_keypoints(inpt)


class SetClampingMode(Transform):
    """Say how the transforms that follow cut turned boxes.

    Args:
        clamping_mode: "soft", "hard" or None.

    Raises:
        ValueError: if it is none of them.

    Example:
        >>> boxes = tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(8, 8))
        >>> v2.SetClampingMode("hard")(boxes).clamping_mode
        'hard'
    """

    _transformed_types = (BoundingBoxes,)

    def __init__(self, clamping_mode: str | None) -> None:
        super().__init__()
        self.clamping_mode = clamping_mode
        if clamping_mode not in (None, "soft", "hard"):
            raise ValueError(f"clamping_mode must be soft, hard or None, got {clamping_mode}")

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The boxes, with that mode."""
        out = inpt.clone()
        out.clamping_mode = self.clamping_mode
        return out


class UniformTemporalSubsample(Transform):
    """Some pictures of a video, the first and the last among them, the others evenly between.

    Args:
        num_samples: how many.

    Example:
        >>> v2.UniformTemporalSubsample(3)(torch.arange(5).reshape(5, 1, 1, 1)).flatten()
        tensor([0, 2, 4])
    """

    _functional, _given = F.uniform_temporal_subsample, ("num_samples",)

    _transformed_types = (Tensor,)

    def __init__(self, num_samples: int) -> None:
        super().__init__()
        self.num_samples = num_samples
