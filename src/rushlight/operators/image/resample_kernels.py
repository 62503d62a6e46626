"""One linear op that resamples an axis by a table of taps; its derivative is the table transposed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...base.arrays import Array, ArrayModule, Shaped
from ...core.op import Op
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.constants import table


class ResamplePlan(NamedTuple):
    """How one axis of length `size` becomes one of length `out`."""

    kind: str  # a key of _MAKERS
    size: int
    out: int
    step: float = 1.0  # input positions per output position
    align: bool = False
    shift: int = 0  # of padding: how many positions were added in front

    def table(self, flip: bool) -> tuple[np.ndarray, np.ndarray | None, bool]:
        """`taps` as the native engine reads them, and whether weights of 0 only fill the table."""
        return _narrow(self, flip)

    def exact(self, flip: bool) -> np.ndarray | None:
        """The weights of `table` in float64."""
        weight = taps(self, flip)[1]
        return None if weight is None else np.ascontiguousarray(weight, np.float64)


@lru_cache(maxsize=256)
def taps(plan: ResamplePlan, flip: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Input indices and weights, both (taps, length); no weights if elements are only copied."""
    index, weight = _MAKERS[plan.kind](plan)
    if not flip:
        return index, weight
    return _transposed(index, weight, plan.size)


@lru_cache(maxsize=256)
def _narrow(plan: ResamplePlan, flip: bool) -> tuple[np.ndarray, np.ndarray | None, bool]:
    index, weight = taps(plan, flip)
    narrow = None if weight is None else np.ascontiguousarray(weight, np.float32)
    return np.ascontiguousarray(index, np.int32), narrow, plan.kind not in _WEIGHED


def _transposed(index: np.ndarray, weight: np.ndarray | None, size: int) -> tuple[np.ndarray, np.ndarray]:
    """For every input position, the outputs that read it and with what weight."""
    if weight is None:
        weight = np.ones(index.shape)
    out = np.broadcast_to(np.arange(index.shape[1]), index.shape)
    used = weight.ravel() != 0
    source, target, value = index.ravel()[used], out.ravel()[used], weight.ravel()[used]
    order = np.argsort(source, kind="stable")
    source, target, value = source[order], target[order], value[order]
    counts = np.bincount(source, minlength=size)
    rank = np.arange(len(source)) - (np.cumsum(counts) - counts)[source]
    deep = max(1, int(counts.max(initial=0)))
    back = np.zeros((deep, size), np.int64)
    factor = np.zeros((deep, size))
    back[rank, source] = target
    factor[rank, source] = value
    # Unused entries repeat a used one, so that 0 * inf occurs only where inf is read anyway.
    spare = np.arange(deep)[:, None] >= counts
    back = np.where(spare, back[0], back)
    return back, factor


# -- tables -------------------------------------------------------------------------------------


def _nearest(p: ResamplePlan) -> tuple[np.ndarray, None]:
    # PyTorch computes the scale in float32, and the floor of a product can depend on it.
    at = np.arange(p.out, dtype=np.float32) * np.float32(p.step)
    return np.minimum(np.floor(at).astype(np.int64), p.size - 1)[None], None


def _nearest_exact(p: ResamplePlan) -> tuple[np.ndarray, None]:
    at = (np.arange(p.out, dtype=np.float32) + np.float32(0.5)) * np.float32(p.step)
    return np.minimum(np.floor(at).astype(np.int64), p.size - 1)[None], None


def _positions(p: ResamplePlan) -> np.ndarray:
    if p.align:
        return np.arange(p.out) * p.step
    return (np.arange(p.out) + 0.5) * p.step - 0.5


def _linear(p: ResamplePlan) -> tuple[np.ndarray, np.ndarray]:
    at = np.maximum(_positions(p), 0)
    low = np.minimum(np.floor(at).astype(np.int64), p.size - 1)
    high = np.minimum(low + 1, p.size - 1)
    part = np.clip(at - low, 0, 1)
    return np.stack([low, high]), np.stack([1 - part, part])


def cubic_weight(x: np.ndarray, a: float) -> np.ndarray:
    """Keys' cubic convolution kernel."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def _lanczos_weight(x: np.ndarray) -> np.ndarray:
    """A sine wave that fades, over three periods to each side."""
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0.0)


def _cubic(p: ResamplePlan) -> tuple[np.ndarray, np.ndarray]:
    at = _positions(p)
    low = np.floor(at).astype(np.int64)
    index = np.stack([low + k for k in (-1, 0, 1, 2)])
    return np.clip(index, 0, p.size - 1), cubic_weight(at - index, -0.75)


def _mean(p: ResamplePlan) -> tuple[np.ndarray, np.ndarray]:
    """Windows from floor(i n / m) to ceil((i + 1) n / m), averaged."""
    i = np.arange(p.out)
    start = i * p.size // max(p.out, 1)
    end = -(-(i + 1) * p.size // max(p.out, 1))
    deep = int((end - start).max(initial=1))
    steps = np.arange(deep)[:, None]
    index = np.minimum(start + steps, np.maximum(end - 1, 0))
    return index, np.where(start + steps < end, 1.0 / np.maximum(end - start, 1), 0.0)


def _smooth(p: ResamplePlan, reach: float, weigh: Any) -> tuple[np.ndarray, np.ndarray]:
    """Taps with antialiasing: while shrinking, the kernel is as many times wider as the step."""
    scale = max(p.step, 1.0)
    support = reach * scale
    center = (np.arange(p.out) + 0.5) * p.step
    low = np.maximum((center - support + 0.5).astype(np.int64), 0)
    high = np.minimum((center + support + 0.5).astype(np.int64), p.size)
    deep = max(1, int((high - low).max(initial=1)))
    steps = np.arange(deep)[:, None]
    weight = weigh((low + steps - center + 0.5) / scale)
    weight = np.where(low + steps < high, weight, 0.0)
    return np.minimum(low + steps, high - 1), weight / weight.sum(0)


def _reflect(p: ResamplePlan) -> tuple[np.ndarray, None]:
    at = np.abs(np.arange(p.out) - p.shift)
    return np.where(at >= p.size, 2 * (p.size - 1) - at, at)[None], None


def _replicate(p: ResamplePlan) -> tuple[np.ndarray, None]:
    return np.clip(np.arange(p.out) - p.shift, 0, p.size - 1)[None], None


def _circular(p: ResamplePlan) -> tuple[np.ndarray, None]:
    """Circular padding; what a negative width cuts off is not repeated."""
    after = p.out - p.size - p.shift
    start = max(-p.shift, 0)
    kept = p.size - start - max(-after, 0)
    return (start + (np.arange(p.out) - max(p.shift, 0)) % kept)[None], None


_MAKERS = {
    "reflect": _reflect,
    "replicate": _replicate,
    "circular": _circular,
    "nearest": _nearest,
    "nearest-exact": _nearest_exact,
    "linear": _linear,
    "cubic": _cubic,
    "mean": _mean,
    "smooth-linear": lambda p: _smooth(p, 1.0, lambda x: np.maximum(1 - np.abs(x), 0)),
    "smooth-cubic": lambda p: _smooth(p, 2.0, lambda x: cubic_weight(x, -0.5)),
    "smooth-lanczos": lambda p: _smooth(p, 3.0, _lanczos_weight),
}


# Kinds in which a weight of 0 belongs to an element that is read; in others it only fills the table.
_WEIGHED = ("linear", "cubic", "smooth-linear", "smooth-cubic", "smooth-lanczos")


# -- the op -------------------------------------------------------------------------------------


def _resample_axis(xp: ArrayModule, x: Array, *, axis: int, plan: ResamplePlan, flip: bool) -> Any:
    """Every output position is a weighted sum of a few input positions along `axis`."""
    index, weight = taps(plan, flip)
    if weight is None:
        return x.take(table(xp, index[0]), axis=axis)
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    shape = (-1,) + (1,) * (x.ndim - 1 - axis)
    total: Any = None
    for row, factor in zip(index, weight):
        factors = table(xp, factor.astype(wide.real.dtype)).reshape(shape)
        term = wide.take(table(xp, row), axis=axis)
        term *= factors
        if plan.kind not in _WEIGHED and (factor == 0).any():  # a filler: its 0 * inf would be NaN
            fillers = table(xp, np.flatnonzero(factor == 0))
            term[(slice(None),) * axis + (fillers,)] = 0
        if total is None:
            total = term
        else:
            total += term
    return total.astype(x.dtype, copy=False)


def _meta(x: Shaped, *, axis: int, plan: ResamplePlan, flip: bool) -> tuple:
    n = plan.size if flip else plan.out
    return (*x.shape[:axis], n, *x.shape[axis + 1 :]), x.dtype


_NODE_NAMES = {
    "nearest": "UpsampleNearest2DBackward0",
    "nearest-exact": "UpsampleNearestExact2DBackward0",
    "linear": "UpsampleBilinear2DBackward0",
    "cubic": "UpsampleBicubic2DBackward0",
    "mean": "AdaptiveAvgPool2DBackward0",
    "reflect": "ReflectionPad2DBackward0",
    "replicate": "ReplicationPad2DBackward0",
    "circular": "CircularPadBackward0",
    "smooth-linear": "UpsampleBilinear2DAaBackward0",
    "smooth-cubic": "UpsampleBicubic2DAaBackward0",
    "smooth-lanczos": "UpsampleLanczos2DAaBackward0",
}

resample_axis = Op(
    _resample_axis,
    "resample_axis",
    grad_name=lambda attrs: _NODE_NAMES[attrs["plan"].kind],
    meta=_meta,
    facts=Facts(vmap="more_rows", layout="image", onnx="resample"),
)
resample_axis.derivative(x=lambda g, axis, plan, flip: resample_axis(g, axis=axis, plan=plan, flip=not flip))


def _resample_plane(xp: ArrayModule, x: Array, *, plans: tuple[ResamplePlan, ResamplePlan], flip: bool) -> Any:
    """The last two axes, each by its plan."""
    rows, columns = plans
    made = _resample_axis(xp, x, axis=x.ndim - 2, plan=rows, flip=flip)
    return _resample_axis(xp, made, axis=x.ndim - 1, plan=columns, flip=flip)


def _plane_meta(x: Shaped, *, plans: tuple[ResamplePlan, ResamplePlan], flip: bool) -> tuple:
    return (*x.shape[:-2], *[p.size if flip else p.out for p in plans]), x.dtype


# Used only if the device has a body of its own.
resample_plane = Op(
    _resample_plane,
    "resample_plane",
    grad_name=lambda attrs: _NODE_NAMES[attrs["plans"][1].kind],
    meta=_plane_meta,
    facts=Facts(vmap="more_rows", layout="image", onnx="resample_plane"),
)
resample_plane.derivative(x=lambda g, plans, flip: resample_plane(g, plans=plans, flip=not flip))


def along_axes(x: Tensor, steps: list[tuple[int, ResamplePlan]]) -> Tensor:
    """Axes by their plans, the last two at once where the device knows how; a copy where there are none."""
    result, last = x, [axis for axis, _ in steps[-2:]]
    if last == [x.ndim - 2, x.ndim - 1] and resample_plane.is_whole(x):
        result = resample_plane(x, plans=(steps[-2][1], steps[-1][1]), flip=False)
        steps = steps[:-2]
    for axis, plan in steps:
        result = resample_axis(result, axis=axis, plan=plan, flip=False)
    return result.clone() if result is x else result


# -- bytes --------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _whole_taps(plan: ResamplePlan) -> tuple[np.ndarray, np.ndarray, int]:
    """Indices, 16-bit weights, and how many bits of a weight are behind the point."""
    index, weight = taps(plan, False)
    assert weight is not None
    weight = weight.copy()
    for k in range(len(index) - 1, 0, -1):  # an edge that is read several times is read once
        again = index[k] == index[k - 1]
        weight[k - 1] += np.where(again, weight[k], 0)
        weight[k][again] = 0
    bits = 0
    while bits < 22 and int(0.5 + weight.max() * (1 << (bits + 1))) < 1 << 15:
        bits += 1
    scaled = weight * (1 << bits)
    return index, np.trunc(scaled + np.copysign(0.5, scaled)).astype(np.int32), bits


def _resample_bytes(xp: ArrayModule, x: Array, *, axis: int, plan: ResamplePlan, flip: bool) -> Any:
    """As `resample_axis`, in whole numbers, rounded to bytes after every axis: PyTorch's and Pillow's arithmetic."""
    index, weight, bits = _whole_taps(plan)
    shape = (-1,) + (1,) * (x.ndim - 1 - axis)
    total = xp.full((), 1 << (bits - 1), np.int32)
    for row, factor in zip(index, weight):
        term = x.take(row, axis=axis).astype(np.int32)
        term *= factor.reshape(shape)
        total = total + term
    return xp.clip(total >> bits, 0, 255).astype(np.uint8)


resample_bytes = Op(
    _resample_bytes,
    "resample_bytes",
    meta=_meta,
    facts=Facts(vmap="more_rows", layout="image", one_kernel={"cpu": True, "batched": False}),
)


def mean_windows(x: Tensor, axis: int, out: int) -> Tensor:
    """The adaptive mean along one axis."""
    n = x._a.shape[axis]
    if n == out:
        return x
    return resample_axis(x, axis=axis, plan=ResamplePlan("mean", n, out), flip=False)
