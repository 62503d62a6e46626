"""RoI pooling (Girshick 2015): the largest value in each cell of a grid laid over each region."""

from __future__ import annotations

import math
from typing import Any

from ...core.tensor import Tensor
from ...nn import Module
from ...operators.shape.join import cat, stack

__all__ = ["RoIPool", "roi_pool"]


def _rows(boxes: Any) -> list[list[float]]:
    """[picture, x1, y1, x2, y2] of every region, from a (K, 5) tensor or a list of (L, 4)."""
    if isinstance(boxes, Tensor):
        if boxes.ndim != 2 or boxes.shape[1] != 5:
            raise ValueError("The boxes tensor shape is not correct as Tensor[K, 5]")
        return boxes.tolist()
    for b in boxes:
        if b.ndim != 2 or b.shape[1] != 4:
            raise ValueError(
                "The shape of the tensor in the boxes list is not correct as List[Tensor[L, 4]]"
            )
    return [[i, *row] for i, b in enumerate(boxes) for row in b.tolist()]


def _edges(low: float, high: float, scale: float, cells: int, limit: int) -> list[tuple[int, int]]:
    """Where each cell begins and ends along one axis."""
    start = math.floor(low * scale + 0.5)
    size = max(math.floor(high * scale + 0.5) - start + 1, 1) / cells
    ends = [(math.floor(k * size) + start, math.ceil((k + 1) * size) + start) for k in range(cells)]
    return [(min(max(a, 0), limit), min(max(b, 0), limit)) for a, b in ends]


def roi_pool(
    input: Tensor, boxes: Any, output_size: int | tuple[int, int], spatial_scale: float = 1.0
) -> Tensor:
    """(K, C, *output_size): the largest value in every cell of every region."""
    rows_out, columns_out = (output_size,) * 2 if isinstance(output_size, int) else output_size
    height, width = input.shape[-2:]
    zero = input[:1, :, :1, :1].sum((0, 2, 3)) * 0
    pooled = []
    for picture, x1, y1, x2, y2 in _rows(boxes):
        image = input[int(picture)]
        cells = []
        for top, bottom in _edges(y1, y2, spatial_scale, rows_out, height):
            for left, right in _edges(x1, x2, spatial_scale, columns_out, width):
                cell = image[:, top:bottom, left:right].flatten(1)
                cells.append(cell.max(1).values if cell.shape[1] else zero)
        pooled.append(stack(cells, 1).reshape(1, -1, rows_out, columns_out))
    if not pooled:
        return input.new_zeros((0, input.shape[1], rows_out, columns_out))
    return cat(pooled, 0)


class RoIPool(Module):
    """`roi_pool` as a layer."""

    def __init__(self, output_size: int | tuple[int, int], spatial_scale: float) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def forward(self, input: Tensor, rois: Any) -> Tensor:
        return roi_pool(input, rois, self.output_size, self.spatial_scale)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(output_size={self.output_size}, "
            f"spatial_scale={self.spatial_scale})"
        )
