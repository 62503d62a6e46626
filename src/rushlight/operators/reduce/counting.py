"""Counting values and finding places among them: histc, histogram, bincount, searchsorted, unique."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base import dtypes
from ...base.arrays import Array, ArrayModule
from ...base.fits import storable
from ...base.shapes import whole, wrap_dim
from ...core.op import Op
from ...core.public import into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.guards import no_derivative, unsupported
from ..made_of.precision import widen
from ..made_of.promotion import result_dtype
from ..made_of.return_types import named
from ..shape.reshape import reshape
from .scan import along

# -- histograms ---------------------------------------------------------------------------------


def _histc_body(xp: ArrayModule, x: Array, *, bins: int, low: float, high: float) -> Any:
    flat = widen(xp, x).reshape(-1)
    if low == high and x.size:
        low, high = flat.min(), flat.max()
        same = low == high
        low, high = low - same, high + same
        _check_finite("torch.histc: range of", low, high)
    elif low == high:
        low, high = low - 1.0, high + 1.0
    inside = (flat >= low) & (flat <= high)
    if xp is np:
        flat = flat[inside]
    place = xp.minimum(((flat - low) / (high - low) * bins).astype(xp.int64), bins - 1)
    if xp is np:
        return xp.bincount(place, minlength=bins).astype(x.dtype)
    # Elsewhere neither a mask nor a count may ask how many there are: one bin more holds the rest.
    counts = xp.zeros(bins + 1, np.uint64)
    xp.add.at(counts, xp.where(inside, place, bins), xp.ones(place.shape, np.uint64))
    return counts[:bins].astype(x.dtype)


_histc = Op(_histc_body, "histc", meta=lambda x, *, bins, low, high: ((bins,), x.dtype), facts=Facts(refuses=True))


@public()
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0, *, out: Any = None) -> Tensor:
    """How many elements fall into each of some bins of equal width.

    Args:
        bins: how many bins.
        min: the lower end; if it equals `max`, the range of the elements is taken.
        max: the upper end.

    Example:
        >>> torch.tensor([1.0, 2.0, 1.0]).histc(bins=4, min=0, max=3)
        tensor([0., 2., 1., 0.])
    """
    if input.dtype.category != dtypes.FLOATING:
        raise unsupported("histogram_cpu", input.dtype)
    _check_bins(bins)
    if max < min:
        raise RuntimeError("torch.histc: max must be larger than min")
    _check_finite("torch.histc: range of", min, max)
    for end in (min, max):
        storable(end, input._a.dtype)
    return into_same(out, _histc(input, bins=bins, low=float(min), high=float(max)))


def _check_finite(what: str, low: Any, high: Any) -> None:
    low, high = float(low), float(high)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"{what} [{low:g}, {high:g}] is not finite")


def _check_bins(bins: int) -> None:
    if whole(bins, "bins") <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")


def _histogram_body(xp: ArrayModule, x: Array, edges: Array, weight: Array | None, *, density: bool) -> Any:
    flat = x.reshape(-1)
    bins = edges.size - 1
    inside = (flat >= edges[0]) & (flat <= edges[-1])
    place = xp.searchsorted(edges, flat[inside], side="right") - 1
    place = xp.minimum(place, bins - 1)  # the last bin holds its right edge
    held = None if weight is None else weight.reshape(-1)[inside]
    hist = xp.bincount(place, weights=held, minlength=bins).astype(x.dtype)
    return hist / hist.sum() / (edges[1:] - edges[:-1]) if density else hist


_histogram = Op(
    _histogram_body,
    "histogram",
    meta=lambda x, edges, weight, *, density: ((edges.shape[0] - 1,), x.dtype),
    facts=Facts(refuses=True),
)


def _edges_body(xp: ArrayModule, x: Array, *, bins: int, low: Any, high: Any) -> Any:
    if low is None:
        low, high = (x.min(), x.max()) if x.size else (0.0, 1.0)
    _check_finite("torch.histogramdd: dimension 0's range", low, high)
    aside = 0.5 * (low == high)
    low, high = xp.asarray([low - aside, high + aside], x.dtype)
    at = xp.arange(bins + 1).astype(x.dtype)
    step = (high - low) / x.dtype.type(bins)
    edges = xp.where(at <= bins // 2, low + at * step, high - (bins - at) * step)  # both ends exact
    return edges.astype(x.dtype)


histogram_edges = Op(
    _edges_body, "histogram_edges", meta=lambda x, *, bins, low, high: ((bins + 1,), x.dtype), facts=Facts(refuses=True)
)


_histogram.derivative(x=no_derivative("histogram"), weight=no_derivative("histogram"))
histogram_edges.derivative(x=no_derivative("histogram"))
_HISTOGRAM = named("histogram", "hist", "bin_edges")


@public()
def histogram(
    input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: bool = False, out: Any = None
) -> Any:
    """How many elements fall into each bin, and the edges of the bins.

    Args:
        bins: how many of equal width, or a vector of edges.
        range: the lower and the upper end; that of the elements if not given.
        weight: how much each element counts.
        density: divide so that the area is 1.

    Example:
        >>> torch.tensor([1.0, 2.0, 1.0]).histogram(bins=2, range=(0.0, 4.0)).hist
        tensor([2., 1.])
    """
    if input.dtype.category != dtypes.FLOATING:
        raise unsupported("histogramdd", input.dtype)
    if isinstance(bins, Tensor):
        edges = bins.clone()
    else:
        _check_bins(bins)
        low, high = (None, None) if range is None else (float(range[0]), float(range[1]))
        if low is not None and high is not None and high < low:
            raise RuntimeError("torch.histogram(): min should not exceed max")
        edges = histogram_edges(input, bins=bins, low=low, high=high)
    hist = _histogram(input, edges, weight, density=density)
    return into_same(out, _HISTOGRAM(hist, edges))


def _bincount_body(xp: ArrayModule, x: Array, weights: Array | None, *, minlength: int) -> Any:
    if x.size and bool((x < 0).any()):
        raise RuntimeError(_NO_BINS)
    out = xp.bincount(x, weights=weights, minlength=minlength)
    if weights is None:
        return out.astype(xp.int64, copy=False)
    return out.astype(weights.dtype if weights.dtype == xp.float32 else xp.float64, copy=False)


_NO_BINS = "bincount only supports 1-d non-negative integral inputs."
_bincount = Op(_bincount_body, "bincount", facts=Facts(refuses=True, shape_by_values=True))


@public()
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number 0, 1, 2, ... occurs, or the sum of the weights of its places.

    Args:
        weights: one for each element.
        minlength: the result has at least so many elements.

    Raises:
        RuntimeError: for negative numbers, and for anything but a vector of integers.

    Example:
        >>> torch.tensor([0, 1, 1, 3]).bincount()
        tensor([1, 2, 0, 1])
    """
    if input._a.dtype.kind not in "iu":
        raise unsupported("bincount_cpu", input.dtype)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if input._a.ndim != 1:
        raise RuntimeError(_NO_BINS)
    if weights is not None and weights._a.shape != input._a.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if not input._a.size:  # PyTorch forgets the weights there
        weights = None
    return _bincount(input, weights, minlength=minlength)


# -- places in a sorted sequence ----------------------------------------------------------------


def _searchsorted_body(xp: ArrayModule, seq: Array, values: Array, *, right: bool, narrow: bool) -> Any:
    seq, values = widen(xp, seq), widen(xp, values)  # NumPy does not order bfloat16
    if seq.ndim == 1 and _is_ordered(xp, seq):
        found = xp.searchsorted(seq, values, side="right" if right else "left")
    else:
        found = _search_rows(xp, seq, values, right)
    return xp.asarray(found).astype(xp.int32 if narrow else xp.int64, copy=False)


def _is_ordered(xp: ArrayModule, seq: Array) -> bool:
    """Whether NumPy's search answers as a bisection does: not where NaNs or a disorder decide."""
    if xp is not np or seq.dtype.kind != "f":
        return True
    return bool((seq[1:] >= seq[:-1]).all()) and not np.isnan(seq[-1:]).any()


def _search_rows(xp: ArrayModule, seq: Array, values: Array, right: bool) -> Any:
    """Bisection of all rows at once: log2(n) whole-array steps."""
    n = seq.shape[-1]
    low = xp.zeros(values.shape, xp.int64)
    high = xp.full(values.shape, n, xp.int64)
    for _ in range(n.bit_length()):
        middle = (low + high) // 2
        at = xp.minimum(middle, n - 1)
        held = seq[at] if seq.ndim == 1 else xp.take_along_axis(seq, at, axis=-1)
        up = ~(held > values) if right else ~(held >= values)  # nan goes to the end
        open_ = low < high
        low = xp.where(open_ & up, middle + 1, low)
        high = xp.where(open_ & ~up, middle, high)
    return low


_searchsorted = Op(
    _searchsorted_body,
    "searchsorted",
    meta=lambda seq, values, *, right, narrow: (values.shape, np.dtype(np.int32 if narrow else np.int64)),
    facts=Facts(refuses=True, vmap="searchsorted"),
)


@public("torch")
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Any = None,
) -> Tensor:
    """Where each value would have to be inserted to keep a sequence in order.

    Args:
        sorted_sequence: growing along the last dimension.
        input: the values; a number, or a tensor with the same other dimensions.
        out_int32: int32 instead of int64.
        right: behind equal elements instead of before them.
        side: "left" or "right", another way to say `right`.
        sorter: the positions that put an unordered `sorted_sequence` in order.

    Example:
        >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4]))
        tensor([1, 2])
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    a = sorted_sequence._a.shape
    if not isinstance(input, Tensor):
        if len(a) != 1:
            raise RuntimeError(
                "torch.searchsorted(): input value can be a scalar only when boundaries tensor "
                f"dimension is 1, but we got boundaries tensor dim({len(a)}) and input value's "
                "dim(0) numel(1)"
            )
        input = sorted_sequence.new_full((), input, dtype=result_dtype(sorted_sequence, input))
    b = input._a.shape
    if len(a) != 1 and a[:-1] != b[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we got "
            f"boundaries tensor {list(a)} and input value tensor {list(b)}"
        )
    seq = sorted_sequence.detach()
    if sorter is not None:
        if sorter._a.shape != a:
            raise RuntimeError(
                "torch.searchsorted(): boundary and sorter must have the same size, but got "
                f"boundary tensor {list(a)} and got sorter tensor {list(sorter._a.shape)}"
            )
        seq = seq.gather(-1, sorter)
    found = _searchsorted(seq, input.detach(), right=right or side == "right", narrow=out_int32)
    return into_same(out, found)


@public()
def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False, out: Any = None
) -> Tensor:
    """The number of the bucket that each value falls into.

    Args:
        input: the values; a tensor or a number.
        boundaries: the borders between buckets, in growing order.
        out_int32: int32 instead of int64.
        right: a value that equals a border belongs to the bucket after it.

    Example:
        >>> torch.bucketize(torch.tensor([1.0, 5.0, 9.0]), torch.tensor([2.0, 6.0]))
        tensor([0, 1, 2])
    """
    if boundaries._a.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries._a.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


# -- unique -------------------------------------------------------------------------------------


def _no_gradient(name: str) -> Any:
    def derivative(g: Tensor) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return derivative


def _unique_body(xp: ArrayModule, x: Array, *, dim: Any) -> tuple:
    key = widen(xp, x)
    options: dict[str, Any] = {"return_inverse": True, "return_counts": True, "equal_nan": False}
    values, inverse, counts = xp.unique(key if dim is not None else key.reshape(-1), axis=dim, **options)
    shape = x.shape if dim is None else (-1,)
    values = xp.ascontiguousarray(values.astype(x.dtype, copy=False))
    return values, inverse.reshape(shape), counts


_unique = Op(_unique_body, "unique", grad_name="Unique2Backward0", facts=Facts(shape_by_values=True))
_unique.derivative(x=_no_gradient("_unique2"))


@public()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different elements in growing order; also where and how often they occur.

    Args:
        sorted: for PyTorch's signature; the result is always in order.
        return_inverse: also where each element of `input` is in the result.
        return_counts: also how often each one occurs.
        dim: compare whole slices of this dimension; elements if not given.

    Example:
        >>> torch.tensor([3, 1, 3]).unique(return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
    """
    at = None if dim is None else wrap_dim(dim, input._a.ndim)
    _check_slices(input, at)
    return _chosen(_unique(input, dim=at), return_inverse, return_counts)


def _check_slices(x: Tensor, dim: int | None) -> None:
    """Whether slices along a dim have elements that can be compared."""
    if dim is not None and 0 in x._a.shape[:dim] + x._a.shape[dim + 1 :]:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")


def _chosen(found: tuple, inverse: bool, counts: bool) -> Any:
    chosen = [found[0], *([found[1]] if inverse else []), *([found[2]] if counts else [])]
    return tuple(chosen) if len(chosen) > 1 else chosen[0]


def _unique_consecutive_body(xp: ArrayModule, x: Array, *, dim: int) -> tuple:
    n = x.shape[dim]
    fresh = xp.ones(n, bool)
    changed = x[along(dim, slice(1, None))] != x[along(dim, slice(None, -1))]
    others = tuple([d for d in range(x.ndim) if d != dim])
    fresh[1:] = changed.any(axis=others) if others else changed
    starts = xp.flatnonzero(fresh)
    counts = xp.diff(xp.concatenate([starts, xp.asarray([n])]))
    return xp.take(x, starts, axis=dim), xp.cumsum(fresh) - 1, counts


_unique_consecutive = Op(
    _unique_consecutive_body, "unique_consecutive", facts=Facts(shape_by_values=True, layout="columns")
)
_unique_consecutive.derivative(x=_no_gradient("unique_consecutive"))


@public()
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Runs of equal elements cut down to their first one.

    Args:
        return_inverse: also where each element of `input` is in the result.
        return_counts: also how long each run is.
        dim: compare whole slices of this dimension; elements if not given.

    Example:
        >>> torch.tensor([1, 1, 2, 1]).unique_consecutive()
        tensor([1, 2, 1])
    """
    shape = input._a.shape
    if dim is None:
        found = _unique_consecutive(reshape(input, (-1,)), dim=0)
        found = (found[0], reshape(found[1], shape), found[2])
    else:
        at = wrap_dim(dim, len(shape))
        _check_slices(input, at)
        found = _unique_consecutive(input, dim=at)
    return _chosen(found, return_inverse, return_counts)
