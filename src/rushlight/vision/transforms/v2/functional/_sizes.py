"""Channels, heights, widths and frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .....core.tensor import Tensor
from ... import functional as v1
from ._registry import call, tell

if TYPE_CHECKING:
    from ...._pillow import Picture, PILImage

__all__ = [
    "get_dimensions", "get_dimensions_image", "get_dimensions_video", "get_image_num_channels",
    "get_num_channels", "get_num_channels_image", "get_num_channels_video", "get_num_frames",
    "get_num_frames_video", "get_size", "get_size_bounding_boxes", "get_size_image",
    "get_size_keypoints", "get_size_mask", "get_size_video",
]  # fmt: skip


def _of(inpt: Tensor, last: int) -> list[int]:
    sizes = list(inpt.shape[-last:])
    if len(sizes) < 2:
        raise TypeError(f"Input tensor should have at least two dimensions, but got {len(sizes)}")
    return sizes


def get_dimensions(inpt: Picture) -> list[int]:
    """As `vision.transforms.functional.get_dimensions`, for videos, too."""
    return call(get_dimensions, inpt)


def get_dimensions_image(image: Tensor) -> list[int]:
    """As `get_dimensions`, for tensor pictures: [channels, height, width] of a tensor."""
    sizes = _of(image, 3)
    return [1, *sizes] if len(sizes) == 2 else sizes


def get_num_channels(inpt: Picture) -> int:
    """The number of channels of a picture or a video.

    Args:
        inpt: a picture or a video, as a tensor or a PIL image.

    Example:
        >>> F.get_num_channels(torch.zeros(3, 2, 4))
        3
    """
    return call(get_num_channels, inpt)


def get_num_channels_image(image: Tensor) -> int:
    """As `get_num_channels`, for tensor pictures: the channels of a tensor."""
    return get_dimensions_image(image)[0]


def get_size(inpt: Picture) -> list[int]:
    """[height, width] of a picture, a video, a mask, or of the picture that boxes or points belong to.

    Args:
        inpt: one of them.

    Example:
        >>> F.get_size(torch.zeros(3, 2, 4))
        [2, 4]
    """
    return call(get_size, inpt)


def get_size_image(image: Tensor) -> list[int]:
    """As `get_size`, for tensor pictures: [height, width] of a tensor."""
    return _of(image, 2)


def _size_pil(image: PILImage) -> list[int]:
    return [image.height, image.width]


def get_size_bounding_boxes(bounding_box: Any) -> list[int]:
    """As `get_size`, for plain boxes: [height, width] of the picture that boxes belong to."""
    return list(bounding_box.canvas_size)


def get_size_keypoints(keypoints: Any) -> list[int]:
    """As `get_size`, for plain points: [height, width] of the picture that points belong to."""
    return list(keypoints.canvas_size)


def get_num_frames(inpt: Picture) -> int:
    """The number of pictures of a video.

    Args:
        inpt: (..., T, C, H, W).

    Example:
        >>> F.get_num_frames(torch.zeros(5, 3, 2, 4))
        5
    """
    return call(get_num_frames, inpt)


def get_num_frames_video(video: Tensor) -> int:
    """As `get_num_frames`, for tensor videos: the pictures of a tensor."""
    return video.shape[-4]


get_image_num_channels = get_num_channels
get_dimensions_video, get_num_channels_video = get_dimensions_image, get_num_channels_image
get_size_video = get_size_mask = get_size_image

tell(get_dimensions, image=get_dimensions_image, video=get_dimensions_video, pil=v1.get_dimensions)
tell(get_num_channels, image=get_num_channels_image, video=get_num_channels_video, pil=v1.get_image_num_channels)
tell(get_size, image=get_size_image, video=get_size_video, mask=get_size_mask, pil=_size_pil,
     boxes=get_size_bounding_boxes, points=get_size_keypoints)  # fmt: skip
tell(get_num_frames, frames=get_num_frames_video)
