"""RoI pooling (Girshick 2015): the largest value in each cell of a grid laid over each region."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.op import Op
from ...core.tensor import Tensor
from ...operators.create.from_data import from_numpy
from ...operators.create.ranges import arange
from ._regions import RegionLayer, check_input, pair, region_rows

__all__ = ["RoIPool", "roi_pool"]

Edges = tuple[tuple[int, int], ...]


def _largest(xp: Any, x: Any, *, cells: tuple[tuple[int, Edges, Edges], ...]) -> Any:
    """(K, C, rows * columns): where in its picture the largest value of a cell is, -1 if it is empty."""
    width = x.shape[3]
    rows, columns = (len(cells[0][1]), len(cells[0][2])) if cells else (0, 0)
    out = xp.full((len(cells), x.shape[1], rows, columns), -1, "int64")
    for k, (picture, down, across) in enumerate(cells):
        for i, (top, bottom) in enumerate(down):
            for j, (left, right) in enumerate(across):
                if top < bottom and left < right:
                    cell = x[picture, :, top:bottom, left:right].reshape(x.shape[1], -1)
                    best = cell.argmax(1)
                    tall, wide = best // (right - left), best % (right - left)
                    out[k, :, i, j] = (top + tall) * width + left + wide
    return out.reshape(len(cells), x.shape[1], -1)


def _meta(x: Any, *, cells: Any) -> Any:
    size = len(cells[0][1]) * len(cells[0][2]) if cells else 0
    return (len(cells), x.shape[1], size), np.dtype("int64")


_op = Op(_largest, "roi_largest", meta=_meta)


def _edges(low: float, high: float, scale: float, cells: int, limit: int) -> Edges:
    """Where each cell begins and ends along one axis."""
    one = np.float32
    start, end = (math.floor(float(one(v) * one(scale)) + 0.5) for v in (low, high))
    step = one(max(end - start + 1, 1)) / one(cells)
    ends = [
        (math.floor(float(one(k) * step)) + start, math.ceil(float(one(k + 1) * step)) + start) for k in range(cells)
    ]
    return tuple((min(max(a, 0), limit), min(max(b, 0), limit)) for a, b in ends)


def roi_pool(input: Tensor, boxes: Any, output_size: Any, spatial_scale: float = 1.0) -> Tensor:
    """As `roi_align`, by the largest value in every cell; zero in cells that lie outside of the picture."""
    check_input(input)
    rows, columns = pair(output_size)
    height, width = input.shape[-2:]
    cells = tuple(
        (int(picture), _edges(y1, y2, spatial_scale, rows, height), _edges(x1, x2, spatial_scale, columns, width))
        for picture, x1, y1, x2, y2 in region_rows(boxes, input.shape[0]).tolist()
    )
    if not cells:
        return input[:0, :, :1, :1].expand(0, -1, rows, columns)
    place = _op(input.detach(), cells=cells)
    pictures = from_numpy(np.array([c[0] for c in cells])).to(input.device)
    channel = arange(input.shape[1], device=input.device)
    taken = input.flatten(2)[pictures[:, None, None], channel[:, None], place.clamp(min=0)]
    return taken.masked_fill(place < 0, 0.0).reshape(len(cells), -1, rows, columns)


class RoIPool(RegionLayer):
    """See `roi_pool`: the same as a layer."""

    _functional = roi_pool
