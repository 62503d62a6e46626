"""Position-sensitive RoIAlign: each cell of a region reads channels of its own (Li et al. 2018)."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from ._regions import RegionLayer, check_input, pair, region_rows, region_sums, sampled
from .roi_align import _edges

__all__ = ["PSRoIAlign", "ps_roi_align"]


def check_channels(input: Tensor, rows: int, columns: int) -> None:
    """There is a channel for every cell."""
    check_input(input)
    if input.shape[1] % (rows * columns):
        raise RuntimeError("input channels must be a multiple of pooling height * pooling width")


def ps_roi_align(
    input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0, sampling_ratio: int = -1
) -> Tensor:
    """Read regions of feature maps, each cell from channels of its own.

    Args:
        input: feature maps, (N, C * height * width, H, W).
        boxes: regions as `roi_align` takes them.
        output_size: height and width of the result, or one number for both.
        spatial_scale: the size of the feature map over that of the picture.
        sampling_ratio: points read in each cell along each axis; as many as the cell is pixels long
            if not positive.

    Returns:
        (K, C, height, width).

    Raises:
        RuntimeError: if the channels cannot be shared out to the cells.

    Example:
        >>> x = torch.arange(4.0).reshape(1, 4, 1, 1).expand(1, 4, 6, 6)
        >>> ops.ps_roi_align(x, torch.tensor([[0.0, 0, 0, 4, 4]]), 2)
        tensor([[[[0., 1.],
                  [2., 3.]]]])
    """
    rows, columns = pair(output_size)
    check_channels(input, rows, columns)
    regions = region_rows(boxes, input.shape[0])
    x1, y1, x2, y2 = _edges(regions, spatial_scale, 0.5)
    down = sampled(y1, y2 - y1, rows, sampling_ratio, input.shape[2])
    across = sampled(x1, x2 - x1, columns, sampling_ratio, input.shape[3])
    return region_sums(input, regions[:, 0], down, across, sensitive=True)


class PSRoIAlign(RegionLayer):
    """See `ps_roi_align`: the same as a layer."""

    _functional = ps_roi_align
    _shows = ("output_size", "spatial_scale", "sampling_ratio")

    def __init__(self, output_size: Any, spatial_scale: float, sampling_ratio: int) -> None:
        super().__init__(output_size, spatial_scale)
        self.sampling_ratio = sampling_ratio
