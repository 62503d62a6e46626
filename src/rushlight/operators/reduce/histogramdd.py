"""Histograms of points in several dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base import dtypes
from ...base.shapes import whole
from ...core.public import public
from ...core.tensor import Tensor
from ..made_of.guards import refuse_grad, unsupported
from ..made_of.return_types import named
from .counting import histogram_edges, searchsorted

_HISTOGRAMDD = named("histogramdd", "hist", "bin_edges")


@public("torch")
def histogramdd(
    input: Tensor, bins: Any, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """How many points fall into each cell of a grid, and the edges of the grid's lines.

    Args:
        input: (*, D), points with D coordinates.
        bins: how many of equal width, one number for each coordinate or one for all; or a sequence
            of D vectors of edges.
        range: lower and upper ends, 2 D numbers; those of the points if not given.
        weight: (*), how much each point counts.
        density: divide so that the volume is 1.

    Example:
        >>> points = torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0]])
        >>> torch.histogramdd(points, bins=[2, 2]).hist
        tensor([[0., 1.],
                [1., 2.]])
    """
    if input._a.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    if input.dtype.category != dtypes.FLOATING:
        raise unsupported("histogramdd", input.dtype)
    refuse_grad("histogramdd", input=input, weight=weight)
    n = input._a.shape[-1]
    if weight is not None and weight._a.shape != input._a.shape[:-1]:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the "
            f"input tensor excluding its innermost dimension, but got input with shape "
            f"{list(input._a.shape)} and weight with shape {list(weight._a.shape)}"
        )
    points = input.detach().reshape((-1, n))
    edges = _edges_of(points, bins, range, n)
    hist = _counted(points, edges, None if weight is None else weight.detach().reshape((-1,)))
    if density:
        hist = hist / hist.sum()
        for d, line in enumerate(edges):
            shape = [1] * n
            shape[d] = -1
            hist = hist / (line[1:] - line[:-1]).reshape(shape)
    return _HISTOGRAMDD(hist, edges)


def _edges_of(points: Tensor, bins: Any, ends: Any, n: int) -> tuple[Tensor, ...]:
    many = isinstance(bins, Sequence)
    if many and len(bins) != n:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    if many and all(isinstance(b, Tensor) for b in bins):
        return tuple(bins)
    if ends is not None and len(ends) != 2 * n:
        raise RuntimeError(
            f"torch.histogramdd: for a {n}-dimensional histogram range should have {2 * n} elements, "
            f"but got {len(ends)}"
        )
    lines = []
    for d, count in enumerate(bins if many else [bins] * n):
        if whole(count, "bins") <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {d}")
        low, high = (None, None) if ends is None else map(float, ends[2 * d : 2 * d + 2])
        if low is not None and high is not None and high < low:
            raise RuntimeError(f"torch.histogramdd: dimension {d}'s range [{low:g}, {high:g}] is not valid")
        lines.append(histogram_edges(points[:, d], bins=count, low=low, high=high))
    return tuple(lines)


def _counted(points: Tensor, edges: tuple[Tensor, ...], weight: Tensor | None) -> Tensor:
    """Points in cells, each cell a place in one long row; those outside count nothing."""
    held = points.new_ones(points._a.shape[0]) if weight is None else weight.to(points.dtype)
    place: Any = 0
    for d, line in enumerate(edges):
        column, cells = points[:, d].contiguous(), line._a.shape[0] - 1
        inside = (column >= line[0]) & (column <= line[-1])
        held = held.masked_fill(~inside, 0.0)
        at = (searchsorted(line, column, right=True) - 1).clamp(0, cells - 1)
        place = place * cells + at
    shape = tuple(line._a.shape[0] - 1 for line in edges)
    total = 1
    for size in shape:
        total *= size
    return points.new_zeros(total).index_add(0, place, held).reshape(shape)
