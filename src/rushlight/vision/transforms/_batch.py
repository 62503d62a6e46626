"""How transforms work on a whole batch of images at once, bit for bit as on each image alone.

A transform takes part by a method

    def __batched__(self, stage: Stage) -> PlannedTransform | None: ...

that says, for images as `stage` describes them, what it does to an array (N, C, H, W) of them, what
they look like afterwards, and how many 32-bit words of the random stream each image takes. `None`
means "not for such images", and the images go one by one. A subclass that changes `forward`,
`__call__`, `get_params` or another method of `_PLAIN` but not `__batched__` goes one by one by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base import dtypes
from ...base.arrays import Array
from ...base.bounded import Bounded
from ...data.batching import speaks_for
from ...runtime.devices import backend_of_type, device_of

# From an array of images and the random words (N, words) to an array of images. The array that
# comes in belongs to the step, which may write into it.
Run = Callable[[Any, np.ndarray], Any]


# Methods that say what happens to a single image.
_PLAIN = ("forward", "__call__", "get_params", "make_params", "transform", "check_inputs", "_call_kernel")


class Stage(NamedTuple):
    """What the images of a batch are between two transforms."""

    shape: tuple[int, int, int]  # (channels, height, width), whatever the order in memory
    dtype: np.dtype
    pil: bool  # whether a single image would be a PIL image here, not a tensor


class PlannedTransform(NamedTuple):
    """One transform, planned for a stage.

    `pointwise` says that each number becomes another by itself, in a way that depends on its channel
    only and on nothing that changes until the plan is dropped, but for the numbers in the arrays `reads`.
    A chain names its links in `parts`.
    """

    run: Run
    after: Stage
    words: int = 0
    pointwise: bool = False
    reads: tuple[np.ndarray, ...] = ()
    parts: tuple[PlannedTransform, ...] = ()


def plan(transform: Any, stage: Stage) -> PlannedTransform | None:
    """The step of any transform, or None when it has no batched form."""
    if not speaks_for(type(transform), "__batched__", _PLAIN):
        return None
    step = transform.__batched__(stage)
    if step is not None and step.words and dtypes.get_default_dtype() is not dtypes.float32:
        return None  # `rand` would take two words a number
    return step


def chain(transforms: Iterable[Any], stage: Stage) -> PlannedTransform | None:
    """One step for several transforms in a row."""
    steps = []
    for transform in transforms:
        step = plan(transform, stage)
        if step is None:
            return None
        steps.append(step)
        stage = step.after
    if len(steps) == 1:
        return steps[0]

    def run(x: Array, words: np.ndarray) -> Any:
        start = 0
        for step in steps:
            x = step.run(x, words[:, start : start + step.words])
            start += step.words
        return x

    links = tuple([link for step in steps for link in step.parts or (step,)])
    return PlannedTransform(run, stage, sum(step.words for step in steps), parts=links)


def xp_of(x: Array) -> Any:
    """The array module of an array."""
    return np if x.__class__ is np.ndarray else backend_of_type(x.__class__).xp


_copies: dict[tuple, Any] = Bounded(64)  # (shape, dtype, bytes, device) -> the constants there


def beside(x: Array, constants: np.ndarray) -> Any:
    """A transform's few constants on x's device, where they are copied once."""
    if x.__class__ is np.ndarray:
        return constants
    key = (constants.shape, constants.dtype.str, constants.tobytes(), device_of(x))
    if key not in _copies:
        _copies[key] = xp_of(x).asarray(constants)
    return _copies[key]


def same(stage: Stage) -> PlannedTransform:
    """The step that leaves images as they are."""
    return PlannedTransform(lambda x, words: x, stage, pointwise=True)


def cast(stage: Stage, kind: np.dtype) -> PlannedTransform:
    """The step to another dtype, with the numbers as they are."""
    return PlannedTransform(lambda x, words: x.astype(kind), stage._replace(dtype=kind), pointwise=True)


def chosen(words: np.ndarray, p: float) -> np.ndarray:
    """The places where `rand(1) < p` for a word each."""
    numbers = (words & np.uint32(0xFFFFFF)).astype(np.float32) * np.float32(2.0**-24)
    return np.flatnonzero(numbers < np.float32(p))


def flip_some(axis: int, p: float) -> Run:
    """Mirror each image along `axis` with probability p, one word each."""
    mirror = (..., slice(None, None, -1)) if axis == -1 else (..., slice(None, None, -1), slice(None))

    def run(x: Array, words: np.ndarray) -> Any:
        which = chosen(words[:, 0], p)
        if which.size:
            places = xp_of(x).asarray(which)
            x[places] = x[places][mirror]
        return x

    return run


def rim(stage: Stage, padding: Any, fill: float | Sequence[float] | None, mode: str) -> PlannedTransform | None:
    """Padding by (left, top, right, bottom)."""
    left, top, right, bottom = padding
    c, h, w = stage.shape
    if min(padding) < 0 or isinstance(fill, str):
        return None
    after = stage._replace(shape=(c, h + top + bottom, w + left + right))
    if not any(padding):
        return same(stage)
    if mode != "constant":
        if mode == "reflect" and (max(left, right) >= w or max(top, bottom) >= h):
            return None
        if mode == "symmetric" and (max(left, right) > w or max(top, bottom) > h):
            return None
        rims = ((0, 0), (0, 0), (top, bottom), (left, right))
        return PlannedTransform(lambda x, words: xp_of(x).pad(x, rims, mode=mode), after)
    value = _fill_of(stage, fill)
    if value is None:
        return None

    def run(x: Array, words: np.ndarray) -> Any:
        xp = xp_of(x)
        out = xp.empty((len(x), *after.shape), x.dtype)
        out[...] = beside(x, value)
        out[:, :, top : top + h, left : left + w] = x
        return out

    return PlannedTransform(run, after)


def _fill_of(stage: Stage, fill: Any) -> np.ndarray | None:
    """The colour of a constant rim as an array (1 or C, 1, 1), or None when it is unusual."""
    values = [0 if fill is None else fill] if not isinstance(fill, (tuple, list)) else list(fill)
    if len(values) not in ((1, stage.shape[0]) if stage.pil else (1,)):
        return None
    if stage.dtype.kind != "f":
        values = [int(v) for v in values]
        if not all(0 <= v <= np.iinfo(stage.dtype).max for v in values):
            return None
    return np.array(values, stage.dtype).reshape(-1, 1, 1)


def window(stage: Stage, top: int, left: int, height: int, width: int) -> PlannedTransform:
    """The same window of every image."""
    after = stage._replace(shape=(stage.shape[0], height, width))
    return PlannedTransform(lambda x, words: x[:, :, top : top + height, left : left + width], after)


def random_windows(stage: Stage, height: int, width: int) -> PlannedTransform:
    """A window of every image, at a place drawn from two words: its top, then its left."""
    c, h, w = stage.shape
    after = stage._replace(shape=(c, height, width))

    def run(x: Array, words: np.ndarray) -> Any:
        xp = xp_of(x)
        top = xp.asarray((words[:, 0] % np.uint32(h - height + 1)).astype(np.int64))
        left = xp.asarray((words[:, 1] % np.uint32(w - width + 1)).astype(np.int64))
        n, s = len(x), x.strides
        # Every window there is, as a view; then one of them for each image.
        shape = (n, c, h - height + 1, w - width + 1, height, width)
        views = xp.lib.stride_tricks.as_strided(x, shape, (*s, s[2], s[3]))
        return views[xp.arange(n), :, top, left]

    return PlannedTransform(run, after, 2)
