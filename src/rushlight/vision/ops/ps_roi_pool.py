"""Position-sensitive RoI pooling: the mean of each cell, read from channels of its own (Dai et al. 2016)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ._regions import RegionLayer, averaged, pair, region_rows, region_sums
from .ps_roi_align import check_channels

__all__ = ["PSRoIPool", "ps_roi_pool"]


def _halves_away(a: np.ndarray) -> np.ndarray:
    """Rounded; halves go away from zero."""
    return np.trunc(a + np.copysign(a.dtype.type(0.5), a))


def _cells(low: np.ndarray, high: np.ndarray, scale: float, cells: int, limit: int) -> np.ndarray:
    kind = low.dtype.type
    start, end = _halves_away(low * kind(scale)), _halves_away(high * kind(scale))
    step = (np.maximum(end - start, 1) / kind(cells))[:, None]
    place = np.arange(cells, dtype=low.dtype)
    first = np.clip(np.floor(place * step) + start[:, None], 0, limit)
    last = np.clip(np.ceil((place + 1) * step) + start[:, None], 0, limit)
    return averaged(first, last, limit)


def ps_roi_pool(input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0) -> Tensor:
    """As `ps_roi_align`, by the mean of every cell."""
    rows, columns = pair(output_size)
    check_channels(input, rows, columns)
    regions = region_rows(boxes, input.shape[0])
    down = _cells(regions[:, 2], regions[:, 4], spatial_scale, rows, input.shape[2])
    across = _cells(regions[:, 1], regions[:, 3], spatial_scale, columns, input.shape[3])
    return region_sums(input, regions[:, 0], down, across, sensitive=True)


class PSRoIPool(RegionLayer):
    """See `ps_roi_pool`: the same as a layer."""

    _functional = ps_roi_pool
