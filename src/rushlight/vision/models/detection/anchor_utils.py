"""Anchors: the boxes that detectors start from, at every place of their maps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .... import nn
from ....base import dtypes
from ....base.device import device
from ....base.dtypes import dtype
from ....core.tensor import Tensor
from ....operators.create.from_data import tensor
from ....operators.create.ranges import arange
from ....operators.shape.combine import meshgrid
from ....operators.shape.join import cat, stack
from .image_list import ImageList

__all__ = ["AnchorGenerator", "DefaultBoxGenerator"]


def _nested(values: Any, like: int | None = None) -> tuple:
    """Numbers as a tuple of tuples: one for each map."""
    if not isinstance(values[0], (list, tuple)):
        return tuple((v,) for v in values) if like is None else (tuple(values),) * like
    return tuple(values)


class AnchorGenerator(nn.Module):
    """Boxes of several sizes and proportions around every place of every map.

    Args:
        sizes: for each map, the roots of the areas.
        aspect_ratios: for each map, heights over widths.

    Example:
        >>> from rushlight.vision.models.detection.anchor_utils import AnchorGenerator
        >>> from rushlight.vision.models.detection.image_list import ImageList
        >>> make = AnchorGenerator(((8,),), ((1.0,),))
        >>> make(ImageList(torch.zeros(1, 3, 16, 16), [(16, 16)]), [torch.zeros(1, 4, 1, 2)])[0]
        tensor([[-4., -4.,  4.,  4.],
                [ 4., -4., 12.,  4.]])
    """

    def __init__(
        self, sizes: Sequence[Any] = ((128, 256, 512),), aspect_ratios: Sequence[Any] = ((0.5, 1.0, 2.0),)
    ) -> None:
        super().__init__()
        self.sizes = _nested(sizes)
        self.aspect_ratios = _nested(aspect_ratios, len(self.sizes))
        self.cell_anchors = [self.generate_anchors(s, a) for s, a in zip(self.sizes, self.aspect_ratios)]

    def generate_anchors(
        self, scales: Any, aspect_ratios: Any, dtype: dtype = dtypes.float32, device: Any = "cpu"
    ) -> Tensor:
        """The boxes around the origin, (ratios x scales, 4), rounded."""
        scale = tensor(list(scales), dtype=dtype, device=device)
        tall = tensor(list(aspect_ratios), dtype=dtype, device=device).sqrt()
        widths = ((1 / tall)[:, None] * scale[None, :]).reshape(-1)
        heights = (tall[:, None] * scale[None, :]).reshape(-1)
        return (stack([-widths, -heights, widths, heights], 1) / 2).round()

    def set_cell_anchors(self, dtype: dtype, device: device) -> None:
        """Bring the boxes around the origin to a type and a device."""
        self.cell_anchors = [a.to(dtype=dtype, device=device) for a in self.cell_anchors]

    def num_anchors_per_location(self) -> list[int]:
        """How many boxes there are at a place of each map."""
        return [len(s) * len(a) for s, a in zip(self.sizes, self.aspect_ratios)]

    def grid_anchors(self, grid_sizes: list[Any], strides: list[tuple[int, int]]) -> list[Tensor]:
        """All boxes of each map, from the maps' sizes and the pixels between their places."""
        if not len(grid_sizes) == len(strides) == len(self.cell_anchors):
            raise AssertionError(
                "Anchors should be Tuple[Tuple[int]] because each feature map could potentially have different "
                "sizes and aspect ratios. There needs to be a match between the number of feature maps passed and "
                "the number of sizes / aspect ratios specified."
            )
        found = []
        for (rows, columns), (down, across), cell in zip(grid_sizes, strides, self.cell_anchors):
            x = arange(columns, dtype=dtypes.int32, device=cell.device) * across
            y = arange(rows, dtype=dtypes.int32, device=cell.device) * down
            grid_y, grid_x = (g.reshape(-1) for g in meshgrid(y, x, indexing="ij"))
            shifts = stack([grid_x, grid_y, grid_x, grid_y], 1)
            found.append((shifts[:, None] + cell[None]).reshape(-1, 4))
        return found

    def forward(self, image_list: ImageList, feature_maps: list[Tensor]) -> list[Tensor]:
        sizes = [m.shape[-2:] for m in feature_maps]
        height, width = image_list.tensors.shape[-2:]
        self.set_cell_anchors(feature_maps[0].dtype, feature_maps[0].device)
        strides = [(height // rows, width // columns) for rows, columns in sizes]
        every = cat(self.grid_anchors(sizes, strides))
        return [every for _ in image_list.image_sizes]


class DefaultBoxGenerator(nn.Module):
    """The default boxes of SSD, as shares of the picture.

    Args:
        aspect_ratios: for each map, proportions beside the square.
        min_ratio: the size of the first map's boxes, where `scales` are not given.
        max_ratio: that of the last map's.
        scales: the sizes for each map, and one more.
        steps: pixels between the places of each map; from the maps' sizes if not given.
        clip: no box is larger than the picture.

    Example:
        >>> from rushlight.vision.models.detection.anchor_utils import DefaultBoxGenerator
        >>> DefaultBoxGenerator([[2], [2, 3]]).num_anchors_per_location()
        [4, 6]
    """

    def __init__(
        self,
        aspect_ratios: list[list[int]],
        min_ratio: float = 0.15,
        max_ratio: float = 0.9,
        scales: list[float] | None = None,
        steps: list[int] | None = None,
        clip: bool = True,
    ) -> None:
        super().__init__()
        if steps is not None and len(aspect_ratios) != len(steps):
            raise ValueError("aspect_ratios and steps should have the same length")
        self.aspect_ratios, self.steps, self.clip = aspect_ratios, steps, clip
        count = len(aspect_ratios)
        if scales is not None:
            self.scales = scales
        elif count > 1:
            step = (max_ratio - min_ratio) / (count - 1)
            self.scales = [min_ratio + step * k for k in range(count)] + [1.0]
        else:
            self.scales = [min_ratio, max_ratio]
        self._wh_pairs = [self._sides(k) for k in range(count)]

    def _sides(self, k: int) -> Tensor:
        """Widths and heights of the boxes of one map."""
        size, next_size = self.scales[k], self.scales[k + 1]
        between = math.sqrt(size * next_size)
        pairs = [[size, size], [between, between]]
        for ratio in self.aspect_ratios[k]:
            wide, narrow = size * math.sqrt(ratio), size / math.sqrt(ratio)
            pairs += [[wide, narrow], [narrow, wide]]
        return tensor(pairs)

    def num_anchors_per_location(self) -> list[int]:
        """How many boxes there are at a place of each map."""
        return [2 + 2 * len(r) for r in self.aspect_ratios]

    def _boxes(self, sizes: list[Any], picture: Any, dtype: dtype, device: device) -> Tensor:
        """(x, y, w, h) of all boxes of all maps, as shares of the picture."""
        parts = []
        for k, (rows, columns) in enumerate(sizes):
            down, across = rows, columns
            if self.steps is not None:
                down, across = picture[0] / self.steps[k], picture[1] / self.steps[k]
            x = (arange(columns, device=device) + 0.5) / across
            y = (arange(rows, device=device) + 0.5) / down
            grid_y, grid_x = (g.reshape(-1) for g in meshgrid(y.to(dtype), x.to(dtype), indexing="ij"))
            sides = self._wh_pairs[k].to(dtype=dtype, device=device)
            sides = sides.clamp(0, 1) if self.clip else sides
            middle = stack([grid_x, grid_y], 1)[:, None].expand(-1, len(sides), -1)
            every = sides[None].expand(rows * columns, -1, -1)
            parts.append(cat([middle, every], -1).reshape(-1, 4))
        return cat(parts)

    def forward(self, image_list: ImageList, feature_maps: list[Tensor]) -> list[Tensor]:
        sizes = [m.shape[-2:] for m in feature_maps]
        height, width = image_list.tensors.shape[-2:]
        first = feature_maps[0]
        shares = self._boxes(sizes, (height, width), first.dtype, first.device)
        half = 0.5 * shares[:, 2:]
        corners = cat([shares[:, :2] - half, shares[:, :2] + half], -1)
        corners = corners * tensor([width, height, width, height], device=first.device)
        return [corners for _ in image_list.image_sizes]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(aspect_ratios={self.aspect_ratios}, clip={self.clip}, "
            f"scales={self.scales}, steps={self.steps})"
        )
