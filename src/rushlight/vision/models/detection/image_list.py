"""ImageList: pictures of different sizes in one batch."""

from __future__ import annotations

from ....base.device import device
from ....core.tensor import Tensor


class ImageList:
    """A batch of pictures, padded to one size, and the size each had before.

    Args:
        tensors: (N, C, H, W).
        image_sizes: (height, width) of each.

    Example:
        >>> from rushlight.vision.models.detection.image_list import ImageList
        >>> ImageList(torch.zeros(1, 3, 32, 32), [(20, 30)]).image_sizes
        [(20, 30)]
    """

    def __init__(self, tensors: Tensor, image_sizes: list[tuple[int, int]]) -> None:
        self.tensors = tensors
        self.image_sizes = image_sizes

    def to(self, device: device | str) -> ImageList:
        """The same on another device."""
        return ImageList(self.tensors.to(device), self.image_sizes)
