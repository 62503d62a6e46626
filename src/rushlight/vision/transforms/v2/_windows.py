"""Windows and rims: crops, padding, and windows that keep boxes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ....core.tensor import Tensor
from ....operators.create.filled import empty
from ....operators.create.from_data import tensor
from ....operators.random.draws import randint
from ..._pillow import is_pil_image
from ...ops.boxes import box_iou
from ...tv_tensors import BoundingBoxes, BoundingBoxFormat, Image, KeyPoints, Mask
from .. import _fixed, _random_geometry
from .._batch import PlannedTransform, Stage
from .._draw import rand
from . import functional as F
from ._query import get_bounding_boxes, has_all, has_any, query_size
from ._transform import (
    Sometimes,
    Transform,
    check_padding,
    check_padding_mode,
    check_sequence,
    fill_for,
    fills,
    two_sizes,
)
from .functional._options import sides


class CenterCrop(Transform):
    """The middle, with a black rim where the picture is smaller."""

    _v1_transform_cls = _fixed.CenterCrop

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = two_sizes(size)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The middle of the part."""
        return self._call_kernel(F.center_crop, inpt, output_size=self.size)

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        return _fixed.CenterCrop(self.size).__batched__(stage)


def warn_of_passing(transform: Transform, inpt: object) -> None:
    """Say that a transform does nothing to boxes, points and masks."""
    if isinstance(inpt, (BoundingBoxes, KeyPoints, Mask)):
        warnings.warn(
            f"{type(transform).__name__}() is currently passing through inputs of type "
            f"tv_tensors.{type(inpt).__name__}. This will likely change in the future."
        )


class _Crops(Transform):
    """Several crops of pictures; there is nothing of the kind for boxes and masks."""

    def _call_kernel(self, functional: Callable, inpt: Any, *args: Any, **kwargs: Any) -> Any:
        warn_of_passing(self, inpt)
        return super()._call_kernel(functional, inpt, *args, **kwargs)

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        if has_any(flat_inputs, BoundingBoxes, Mask):
            raise TypeError(f"BoundingBoxes'es and Mask's are not supported by {type(self).__name__}()")


class FiveCrop(_Crops):
    """The four corners and the middle, as a tuple."""

    _v1_transform_cls = _fixed.FiveCrop
    _functional, _given = F.five_crop, ("size",)

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = two_sizes(size)


class TenCrop(_Crops):
    """The five crops of the picture and of its mirror image, as a tuple."""

    _v1_transform_cls = _fixed.TenCrop
    _functional, _given = F.ten_crop, ("size", "vertical_flip")

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__()
        self.size = two_sizes(size)
        self.vertical_flip = vertical_flip


class Pad(Transform):
    """A rim: one number, (left/right, top/bottom), or (left, top, right, bottom)."""

    _v1_transform_cls = _fixed.Pad
    _functional, _given = F.pad, ("padding", "padding_mode")

    def __init__(
        self,
        padding: int | Sequence[int],
        fill: float | Sequence[float] | dict[Any, Any] | None = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        check_padding(padding)
        check_padding_mode(padding_mode)
        self.padding = padding if isinstance(padding, int) else list(padding)
        self.fill = fill
        self._fill = fills(fill)
        self.padding_mode = padding_mode

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        if isinstance(self.fill, dict):
            return None
        return _fixed.Pad(self.padding, self.fill, self.padding_mode).__batched__(stage)


class RandomZoomOut(Sometimes):
    """The picture at a random place of a larger one, with probability p.

    Args:
        fill: the colour around it, or a dict from kinds of input to colours.
        side_range: limits of how many times longer its sides are.

    Example:
        >>> v2.RandomZoomOut(side_range=(2.0, 2.0), p=1.0)(torch.zeros(3, 8, 8)).shape
        torch.Size([3, 16, 16])
    """

    _functional = F.pad

    def __init__(
        self,
        fill: float | Sequence[float] | dict[Any, Any] | None = 0,
        side_range: Sequence[float] = (1.0, 4.0),
        p: float = 0.5,
    ) -> None:
        super().__init__(p=p)
        self.fill = fill
        self._fill = fills(fill)
        check_sequence(side_range, "side_range")
        self.side_range = side_range
        if side_range[0] < 1.0 or side_range[0] > side_range[1]:
            raise ValueError(f"Invalid side range provided {side_range}.")

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The rim."""
        height, width = query_size(flat_inputs)
        low, high = self.side_range
        factor = low + rand() * (high - low)
        wide, tall = int((width * factor).item()), int((height * factor).item())
        across, down = empty(2).uniform_().unbind()
        left, top = int(((wide - width) * across).item()), int(((tall - height) * down).item())
        return {"padding": [left, top, wide - left - width, tall - top - height]}


class RandomCrop(Transform):
    """A window at a random place, after padding."""

    _v1_transform_cls = _random_geometry.RandomCrop

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: float | Sequence[float] | dict[Any, Any] | None = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = two_sizes(size)
        if padding is not None:
            check_padding(padding)
        if pad_if_needed or padding is not None:
            check_padding_mode(padding_mode)
        self.padding = sides(padding) if padding else None  # left, right, top, bottom
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self._fill = fills(fill)
        self.padding_mode = padding_mode

    def _rim(self, height: int, width: int) -> list[int]:
        """Left, right, top and bottom of the rim for a picture of this size."""
        rim = list(self.padding or [0, 0, 0, 0])
        if self.pad_if_needed:
            across = max(self.size[1] - width - rim[0] - rim[1], 0)
            down = max(self.size[0] - height - rim[2] - rim[3], 0)
            rim = [rim[0] + across, rim[1] + across, rim[2] + down, rim[3] + down]
        return rim

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The rim and the window; nothing is drawn for a side that stays whole."""
        height, width = query_size(flat_inputs)
        left, right, top, bottom = self._rim(height, width)
        height, width = height + top + bottom, width + left + right
        th, tw = self.size
        if height < th or width < tw:
            said = "padded " if self.padding is not None else ""
            raise ValueError(f"Required crop size {(th, tw)} is larger than {said}input image size {(height, width)}.")
        first = int(randint(0, height - th + 1, ()).item()) if height > th else 0
        second = int(randint(0, width - tw + 1, ()).item()) if width > tw else 0
        return {
            "needs_crop": height > th or width > tw, "top": first, "left": second, "height": th, "width": tw,
            "needs_pad": any((left, top, right, bottom)), "padding": [left, top, right, bottom],
        }  # fmt: skip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The window of the part."""
        if params["needs_pad"]:
            fill = fill_for(self._fill, inpt)
            inpt = self._call_kernel(F.pad, inpt, padding=params["padding"], fill=fill, padding_mode=self.padding_mode)
        if params["needs_crop"]:
            window = {name: params[name] for name in ("top", "left", "height", "width")}
            inpt = self._call_kernel(F.crop, inpt, **window)
        return inpt

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        left, right, top, bottom = self._rim(*stage.shape[1:])
        tall = stage.shape[1] + top + bottom > self.size[0]
        wide = stage.shape[2] + left + right > self.size[1]
        if isinstance(self.fill, dict) or tall != wide:
            return None  # the first generation draws two places where one is enough
        rim = [left, top, right, bottom]
        return _random_geometry.RandomCrop(self.size, rim, False, self.fill, self.padding_mode).__batched__(stage)


_OPTIONS = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]


class RandomIoUCrop(Transform):
    """A random window that some box overlaps well enough, as SSD is trained (Liu et al. 2016).

    Boxes whose centre is outside become zeros: `SanitizeBoundingBoxes` takes them and their labels away.

    Args:
        min_scale, max_scale: limits of the window's sides, as parts of the picture's.
        min_aspect_ratio, max_aspect_ratio: limits of width / height.
        sampler_options: overlaps to choose from; 1 or more leaves the picture as it is.
        trials: windows to try for each of them.

    Raises:
        TypeError: if the sample has no picture or no boxes.

    Example:
        >>> boxes = tv_tensors.BoundingBoxes([[0, 0, 8, 8]], format="XYXY", canvas_size=(8, 8))
        >>> picture, boxes = v2.RandomIoUCrop(sampler_options=[1.0])(torch.zeros(3, 8, 8), boxes)
        >>> picture.shape
        torch.Size([3, 8, 8])
    """

    def __init__(
        self,
        min_scale: float = 0.3,
        max_scale: float = 1.0,
        min_aspect_ratio: float = 0.5,
        max_aspect_ratio: float = 2.0,
        sampler_options: list[float] | None = None,
        trials: int = 40,
    ) -> None:
        super().__init__()
        self.min_scale, self.max_scale = min_scale, max_scale
        self.min_aspect_ratio, self.max_aspect_ratio = min_aspect_ratio, max_aspect_ratio
        self.options = list(_OPTIONS) if sampler_options is None else sampler_options
        self.trials = trials

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        pictured = has_any(flat_inputs, is_pil_image, Image, F.is_pure_tensor)
        if not (has_all(flat_inputs, BoundingBoxes) and pictured):
            raise TypeError(
                f"{type(self).__name__}() requires input sample to contain tensor or PIL images "
                "and bounding boxes. Sample can also contain masks."
            )

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The window and the boxes whose centre is in it; nothing when the picture stays whole."""
        size = query_size(flat_inputs)
        boxes = get_bounding_boxes(flat_inputs)
        corners = F.convert_bounding_box_format(boxes.as_subclass(Tensor), boxes.format, BoundingBoxFormat.XYXY)
        while True:
            overlap = self.options[int(randint(0, len(self.options), (1,)).item())]
            if overlap >= 1.0:
                return {}
            for _ in range(self.trials):
                found = self._trial(size, corners, overlap)
                if found is not None:
                    return found

    def _trial(self, size: tuple[int, int], corners: Tensor, overlap: float) -> dict[str, Any] | None:
        height, width = size
        scales = self.min_scale + (self.max_scale - self.min_scale) * empty(2).uniform_()
        w, h = int((width * scales[0]).item()), int((height * scales[1]).item())
        if not self.min_aspect_ratio <= w / h <= self.max_aspect_ratio:
            return None
        across, down = empty(2).uniform_().unbind()
        left, top = int(((width - w) * across).item()), int(((height - h) * down).item())
        if w == 0 or h == 0:
            return None
        cx, cy = (0.5 * (corners[..., 0] + corners[..., 2]), 0.5 * (corners[..., 1] + corners[..., 3]))
        inside = (left < cx) & (cx < left + w) & (top < cy) & (cy < top + h)
        if not inside.any():
            return None
        window = tensor([[left, top, left + w, top + h]], dtype=corners.dtype, device=corners.device)
        if box_iou(corners[inside], window).max() < overlap:
            return None
        return {"top": top, "left": left, "height": h, "width": w, "is_within_crop_area": inside}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The window of the part."""
        if not params:
            return inpt
        window = {name: params[name] for name in ("top", "left", "height", "width")}
        output = self._call_kernel(F.crop, inpt, **window)
        if isinstance(output, BoundingBoxes):
            output[~params["is_within_crop_area"]] = 0
        return output
