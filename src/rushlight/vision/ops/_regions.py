"""What the region operators share: rows of boxes, weights along each axis, and the sum over windows.

A cell of a region is a weighted sum of pixels, and the weights are a product of one factor per axis: those of
the rows (K, cells, height) and those of the columns (K, cells, width). RoIAlign and its kin differ in these
factors only, so one operation computes them all, and its derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import dtypes
from ...core.op import Op
from ...core.tensor import Tensor
from ...operators.create.from_data import from_numpy
from .._shown import ShownModule

Places = tuple[tuple[int, int, int, int, int], ...]  # picture, top, bottom, left, right


class RegionLayer(ShownModule):
    """A function of feature maps and regions as a layer; what is shown are its options."""

    _functional: Any
    _shows: tuple[str, ...] = ("output_size", "spatial_scale")

    def __init__(self, output_size: Any, spatial_scale: float) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = spatial_scale

    def forward(self, input: Tensor, rois: Any) -> Tensor:
        return type(self)._functional(input, rois, *[getattr(self, name) for name in self._shows])


def pair(size: Any) -> tuple[int, int]:
    """(height, width) from a number or two."""
    if isinstance(size, int):
        return size, size
    values = tuple(int(n) for n in size)
    return (values[0], values[0]) if len(values) == 1 else (values[0], values[1])


def check_boxes(boxes: Any) -> None:
    """Regions are a (K, 5) tensor, or a list with an (L, 4) tensor for every picture."""
    if isinstance(boxes, Tensor):
        if boxes.ndim != 2 or boxes.shape[1] != 5:
            raise ValueError("The boxes tensor shape is not correct as Tensor[K, 5]")
    elif isinstance(boxes, (list, tuple)):
        if not all(isinstance(b, Tensor) and b.ndim == 2 and b.shape[1] == 4 for b in boxes):
            raise ValueError("The shape of the tensor in the boxes list is not correct as List[Tensor[L, 4]]")
    else:
        raise TypeError("boxes is expected to be a Tensor[L, 5] or a List[Tensor[K, 4]]")


def region_rows(boxes: Any, pictures: int) -> np.ndarray:
    """(K, 5) on the host: number of the picture, x1, y1, x2, y2 of every region."""
    check_boxes(boxes)
    if isinstance(boxes, Tensor):
        rows = _on_host(boxes)
    else:
        parts = [_on_host(b) for b in boxes]
        numbered = [np.insert(p, 0, i, axis=1) for i, p in enumerate(parts)]
        rows = np.concatenate(numbered) if numbered else np.zeros((0, 5), np.float32)
    if rows.size and not ((rows[:, 0] >= 0) & (rows[:, 0] < pictures)).all():
        wrong = rows[(rows[:, 0] < 0) | (rows[:, 0] >= pictures)][0, 0]
        raise IndexError(f"a region belongs to picture {wrong:g}, but the batch has {pictures}")
    return rows


def _on_host(boxes: Tensor) -> np.ndarray:
    wide = boxes.dtype if boxes.dtype is dtypes.float64 else dtypes.float32
    return boxes.detach().to("cpu", wide).numpy()


def check_input(input: Tensor) -> None:
    """A batch of pictures of real numbers."""
    if input.ndim != 4:
        raise RuntimeError(f"expected a batch (N, C, H, W), got {tuple(input.shape)}")
    if not input.is_floating_point():
        raise RuntimeError(f"expected real numbers, got a tensor of {input.dtype}")


# -- weights along one axis ------------------------------------------------------------------------


def sampled(start: np.ndarray, length: np.ndarray, cells: int, ratio: int, limit: int) -> np.ndarray:
    """(K, cells, limit): the mean of evenly spaced points of each cell, read between two pixels.

    Without a `ratio` a cell has as many points as it is pixels long, rounded up. Points more than one
    pixel outside of the picture count as zero.
    """
    step = length / cells
    count = np.full(len(start), ratio) if ratio > 0 else np.ceil(step).astype(np.int64)
    point = np.arange(max(int(count.max(initial=0)), 0))
    share = np.maximum(count, 1)
    at = (
        start[:, None, None]
        + np.arange(cells, dtype=start.dtype)[None, :, None] * step[:, None, None]
        + (point + start.dtype.type(0.5)) * (step / share.astype(start.dtype))[:, None, None]
    )
    counts = (at >= -1) & (at <= limit) & (point < count[:, None, None])
    at = np.maximum(at, 0)
    low = np.minimum(at.astype(np.int64), limit - 1)
    high = np.minimum(low + 1, limit - 1)
    rest = np.where(low == limit - 1, 0, at - low)
    row = (np.arange(len(start) * cells) * limit).reshape(-1, cells, 1)
    each = counts / share[:, None, None]
    total = len(start) * cells * limit
    made = np.bincount((row + low).ravel(), ((1 - rest) * each).ravel(), total)
    made += np.bincount((row + high).ravel(), (rest * each).ravel(), total)
    return made.reshape(len(start), cells, limit).astype(start.dtype)


def averaged(first: np.ndarray, last: np.ndarray, limit: int) -> np.ndarray:
    """(K, cells, limit): the mean of the pixels first <= i < last of each cell."""
    i = np.arange(limit)
    inside = (i >= first[..., None]) & (i < last[..., None])
    return inside / np.maximum(inside.sum(-1, keepdims=True), 1)


def _span(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first pixel that any cell of a region reads, and the one after the last."""
    read = (weights != 0).any(1)
    some = read.any(1)
    last = weights.shape[2] - read[:, ::-1].argmax(1)
    return np.where(some, read.argmax(1), 0), np.where(some, last, 0)


# -- the operation and its derivative -----------------------------------------------------------------


def _regions(
    xp: Any, x: Any, down: Any, across: Any, *, places: Places, sensitive: bool
) -> Any:  # (K, C, rows, columns)
    rows, columns, channels = down.shape[1], across.shape[1], x.shape[1]
    if sensitive:
        return _sensitive(xp, x, down, across, places)
    lines = xp.ascontiguousarray(x.transpose(0, 2, 3, 1)).reshape(x.shape[0], x.shape[2], -1)
    out = xp.zeros((len(places), rows, columns, channels), x.dtype)
    for k, (n, top, bottom, left, right) in enumerate(places):
        if top == bottom or left == right:
            continue
        window = lines[n, top:bottom, left * channels : right * channels]
        strips = (down[k, :, top:bottom] @ window).reshape(rows, right - left, channels)
        out[k] = across[k, :, left:right] @ strips
    return xp.ascontiguousarray(out.transpose(0, 3, 1, 2))


def _sensitive(xp: Any, x: Any, down: Any, across: Any, places: Places) -> Any:
    """Cell (i, j) of output channel c reads channel (c, i, j) of the input."""
    rows, columns = down.shape[1], across.shape[1]
    planes = x.reshape(x.shape[0], -1, rows, columns, *x.shape[2:])
    out = xp.zeros((len(places), planes.shape[1], rows, columns), x.dtype)
    for k, (n, top, bottom, left, right) in enumerate(places):
        window = planes[n, ..., top:bottom, left:right]
        weighted = (window * across[k, :, None, left:right]).sum(-1)
        out[k] = (weighted * down[k, :, None, top:bottom]).sum(-1)
    return out


def _regions_grad(
    xp: Any, g: Any, down: Any, across: Any, *, places: Places, sensitive: bool, size: tuple[int, int, int, int]
) -> Any:
    pictures, channels, height, width = size
    rows, columns = down.shape[1], across.shape[1]
    if sensitive:
        gx = xp.zeros((pictures, channels // (rows * columns), rows, columns, height, width), g.dtype)
        for k, (n, top, bottom, left, right) in enumerate(places):
            tall = g[k][..., None, None] * down[k, :, None, top:bottom, None]
            gx[n, ..., top:bottom, left:right] += tall * across[k, :, None, left:right]
        return gx.reshape(size)
    lines = xp.zeros((pictures, height, width * channels), g.dtype)
    turned = xp.ascontiguousarray(g.transpose(0, 2, 3, 1))
    for k, (n, top, bottom, left, right) in enumerate(places):
        if top == bottom or left == right:
            continue
        strips = across[k, :, left:right].T @ turned[k]  # (rows, right - left, C)
        window = down[k, :, top:bottom].T @ strips.reshape(rows, -1)
        lines[n, top:bottom, left * channels : right * channels] += window
    return xp.ascontiguousarray(lines.reshape(pictures, height, width, channels).transpose(0, 3, 1, 2))


def _meta(x: Any, down: Any, across: Any, *, places: Places, sensitive: bool) -> Any:
    rows, columns = down.shape[1], across.shape[1]
    channels = x.shape[1] // (rows * columns) if sensitive else x.shape[1]
    return (len(places), channels, rows, columns), x.dtype


def _grad_meta(g: Any, down: Any, across: Any, *, size: tuple[int, ...], **others: Any) -> Any:
    return size, g.dtype


_op = Op(_regions, "region_sums", meta=_meta, grad_name="RoiAlignFunctionBackward")
_grad = Op(_regions_grad, "region_sums_grad", meta=_grad_meta)
_op.derivative(
    x=lambda g, down, across, places, sensitive, x_shape: _grad(
        g, down, across, places=places, sensitive=sensitive, size=tuple(x_shape)
    )
)
_grad.derivative(g=lambda g, down, across, places, sensitive: _op(g, down, across, places=places, sensitive=sensitive))


def region_sums(
    input: Tensor, pictures: np.ndarray, down: np.ndarray, across: np.ndarray, sensitive: bool = False
) -> Tensor:
    """The cells of every region, (K, C, rows, columns), from the weights of rows and columns."""
    kind = input.dtype
    x = input if kind in (dtypes.float32, dtypes.float64) else input.to(dtypes.float32)
    tops, bottoms = _span(down)
    lefts, rights = _span(across)
    places = tuple(zip(*(a.astype(np.int64).tolist() for a in (pictures, tops, bottoms, lefts, rights))))
    weights = [from_numpy(a.astype(x.dtype.np)).to(x.device) for a in (down, across)]
    return _op(x, *weights, places=places, sensitive=sensitive).to(kind)
