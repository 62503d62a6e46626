"""Convolutions on the GPU whose channels have a window each, row-major: forward, and the gradients of x and weight."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from .....base.arrays import DeviceArray
from ...code.launch import Result
from ...code.sources import blocks_for, computed, load
from ...processors import multiprocessors

_NAMES = ("K", "S", "P", "D")  # size, step, padding and dilation of windows
_MOST_TAPS, _MOST_LINE = 1024, 24  # of a window; numbers of a row that a thread holds
_PLACES = 1 << 30  # of a plane: 32 bits count them
_MOST_SUMS = 56  # that a thread holds
_THREADS, _FULL = 128, 8  # of the blocks that add up gradients; blocks for a multiprocessor


def takes(a: DeviceArray, b: DeviceArray, x_shape: tuple[int, ...], w_shape: tuple[int, ...], groups: int) -> bool:
    """Whether these kernels are for this convolution, of which `a` and `b` are given."""
    each = groups == x_shape[1] == w_shape[0] > 1 and w_shape[1] == 1
    dense = bool(a._c_contiguous and b._c_contiguous)
    planes = max(prod(shape[2:]) for shape in (x_shape, a.shape, b.shape))
    fits = prod(w_shape[1:]) <= _MOST_TAPS and planes < _PLACES and len(w_shape) <= 5
    return each and dense and fits


def _three(values: tuple[int, ...], missing: int) -> tuple[int, int, int]:
    a, b, c = (missing,) * (3 - len(values)) + tuple(values)
    return a, b, c


def _window(w_shape: tuple, how: dict[str, Any], width: int, back: bool = False) -> dict[str, int]:
    """The constants of a kernel whose results have rows of a width; `back` for the gradient of x by windows that do not step."""
    size, step, dilation = w_shape[2:], how["stride"], how["dilation"]
    padding = how["padding"]
    if back:
        padding = [d * (k - 1) - p for k, p, d in zip(size, padding, dilation)]
    sides = (_three(size, 1), _three(step, 1), _three(tuple(padding), 0), _three(dilation, 1))
    found = {f"{name}{dim}": n for name, three in zip(_NAMES, sides) for dim, n in zip("DHW", three)}
    row = next(r for r in (4, 2, 1) if r == 1 or (r <= width and _line(found, r) <= _MOST_LINE))
    return {**found, "ROW": row, "FLIP": int(back)}


def _line(window: dict[str, int], row: int) -> int:
    return (row - 1) * window["SW"] + (window["KW"] - 1) * window["DW"] + 1


def _items(shape: tuple, window: dict[str, int]) -> int:
    """What threads make of a plane of a shape (images, channels, ...)."""
    return prod(shape[2:-1]) * -(-shape[-1] // window["ROW"])


def forward(x: DeviceArray, w: DeviceArray, shape: tuple, how: dict[str, Any], biased: bool) -> Any:
    """The convolution as a function of (x, weight, bias)."""
    call = _sums(x, w, shape, _window(w.shape, how, shape[-1]), biased)
    return call if biased else lambda x, w, _: call(x, w)


def grad_input(gy: DeviceArray, w: DeviceArray, shape: tuple, how: dict[str, Any]) -> Any:
    """The gradient of x, which has a shape, as a function of (gy, weight)."""
    if set(how["stride"]) == {1}:
        return _sums(gy, w, shape, _window(w.shape, how, shape[-1], True), False)
    count = prod(shape)
    launch = load("depthwise.cu", "depthwise_back", gy.dtype.char, **_window(w.shape, how, 1))
    return launch.prepared(
        blocks_for(count), 256, (Result(2, shape, gy.dtype),), count, shape[1], *_three(shape[2:], 1), *_three(gy.shape[2:], 1)
    )  # fmt: skip


def _sums(a: DeviceArray, w: DeviceArray, shape: tuple, window: dict[str, int], biased: bool) -> Any:
    count = prod(shape[:2]) * _items(shape, window)
    launch = load("depthwise.cu", "depthwise", a.dtype.char, **window)
    return launch.prepared(
        blocks_for(count), 256, (Result(3, shape, a.dtype),), count, shape[1], *_three(a.shape[2:], 1), *_three(shape[2:], 1),
        absent=() if biased else (2,),
    )  # fmt: skip


def grad_weight(gy: DeviceArray, x: DeviceArray, shape: tuple, how: dict[str, Any]) -> Callable[..., Any]:
    """The gradient of the weight, which has a shape, as a function of (gy, x): always the same bits."""
    window, (images, channels) = _window(shape, how, gy.shape[-1]), x.shape[:2]
    lines, taps = window["KD"] * window["KH"], prod(shape[1:])
    at_once = max(1, min(lines, _MOST_SUMS // window["KW"]))
    places, cuts = images * _items(gy.shape, window), -(-lines // at_once)
    wanted = -(-_FULL * multiprocessors() // (channels * cuts))
    share = max(-(-places // wanted), _THREADS)
    splits = -(-places // share)
    both = (*_three(x.shape[2:], 1), *_three(gy.shape[2:], 1))
    made = Result(2, (splits, channels, taps), computed(x.dtype))
    first = load("depthwise.cu", "depthwise_weight", x.dtype.char, LINES=at_once, **window).prepared(
        (channels * splits, cuts, 1), _THREADS, (made,), images, channels, share, *both
    )
    n = channels * taps
    finish = load("depthwise.cu", "depthwise_finish", x.dtype.char, **window).prepared(
        -(-n // 256), 256, (Result(1, shape, x.dtype),), n, splits
    )
    return lambda gy, x: finish(first(gy, x))
