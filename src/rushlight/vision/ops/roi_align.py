"""RoIAlign (He et al. 2017): regions of a feature map read at points between its pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ._regions import RegionLayer, check_input, pair, region_rows, region_sums, sampled

__all__ = ["RoIAlign", "roi_align"]


def roi_align(
    input: Tensor,
    boxes: Any,
    output_size: Any,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """Cut regions out of feature maps, each resampled to the same size.

    Args:
        input: feature maps, (N, C, H, W).
        boxes: regions (x1, y1, x2, y2) in the coordinates of the picture: a list with an (L, 4) tensor for
            each of the N pictures, or one (K, 5) tensor whose first column is the number of the picture.
        output_size: height and width of the result, or one number for both.
        spatial_scale: the size of the feature map over that of the picture.
        sampling_ratio: points read in each cell along each axis; as many as the cell is pixels long
            if not positive.
        aligned: shift the boxes by half a pixel, so that a pixel's centre is what is read.

    Returns:
        (K, C, height, width), for the K regions of all pictures.

    Raises:
        ValueError: if the boxes have another shape.
        IndexError: if a region belongs to a picture that is not in the batch.

    Example:
        >>> x = torch.arange(16.0).reshape(1, 1, 4, 4)
        >>> ops.roi_align(x, [torch.tensor([[0.0, 0.0, 2.0, 2.0]])], output_size=2)
        tensor([[[[2.5000, 3.5000],
                  [6.5000, 7.5000]]]])
    """
    check_input(input)
    rows, columns = pair(output_size)
    regions = region_rows(boxes, input.shape[0])
    height, width = input.shape[-2:]
    x1, y1, x2, y2 = _edges(regions, spatial_scale, 0.5 if aligned else 0.0)
    wide, tall = x2 - x1, y2 - y1
    if not aligned:  # older detectors stretch degenerate boxes to a pixel
        wide, tall = np.maximum(wide, 1), np.maximum(tall, 1)
    down = sampled(y1, tall, rows, sampling_ratio, height)
    across = sampled(x1, wide, columns, sampling_ratio, width)
    return region_sums(input, regions[:, 0], down, across)


def _edges(regions: np.ndarray, scale: float, shift: float) -> np.ndarray:
    """The edges of regions in pixels of the feature map, a row each of x1, y1, x2, y2."""
    kind = regions.dtype.type
    return (regions[:, 1:] * kind(scale) - kind(shift)).T


class RoIAlign(RegionLayer):
    """See `roi_align`: the same as a layer."""

    _functional = roi_align
    _shows = ("output_size", "spatial_scale", "sampling_ratio", "aligned")

    def __init__(self, output_size: Any, spatial_scale: float, sampling_ratio: int, aligned: bool = False) -> None:
        super().__init__(output_size, spatial_scale)
        self.sampling_ratio = sampling_ratio
        self.aligned = aligned
