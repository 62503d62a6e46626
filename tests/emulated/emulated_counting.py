"""Medians, modes, unique elements, bins and equality on the emulated GPU, beside NumPy."""

from __future__ import annotations

from typing import Any

import emulated_capture
import numpy as np
from emulated_capture import on_gpu

import rushlight as rl
from rushlight.runtime.cuda.bodies import counting
from rushlight.runtime.devices import overrides
from rushlight.runtime.door import KERNELS

random = np.random.default_rng(0)
KINDS = (np.float32, np.float64, np.int64, np.uint8)


def numbers(shape: tuple, kind: Any, nan: bool = False) -> np.ndarray:
    x = random.integers(0, 7, shape).astype(kind)
    if nan and np.dtype(kind).kind == "f":
        x.reshape(-1)[random.permutation(x.size)[: x.size // 4]] = np.nan
    return x


def same(name: str, x: np.ndarray, *more: Any, **attrs: Any) -> None:
    with np.errstate(all="ignore"):
        here = KERNELS[name].generic(np, x, *more, **attrs)
    there = overrides("cuda")[name](on_gpu(x), *[None if a is None else on_gpu(a) for a in more], **attrs)
    assert there is not NotImplemented
    pairs = zip(there, here) if isinstance(there, tuple) else [(there, here)]
    for a, b in pairs:
        b = np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape, (name, a.dtype, b.dtype, a.shape, b.shape)
        np.testing.assert_array_equal(emulated_capture.on_host(a), b, err_msg=f"{name} {attrs}")


def in_the_middle() -> None:
    for kind in KINDS:
        for nan in (False, True):
            x = numbers((3, 10, 4), kind, nan)
            for ignore in (False, True):
                same("median", x, ignore_nan=ignore)
                for dim in (0, 1, 2):
                    same("median_dim", x, dim=dim, keepdim=ignore, ignore_nan=ignore)
            for dim in (0, 1, 2):
                same("mode", x, dim=dim, keepdim=nan)
    same("mode", numbers((2, 300), np.float32), dim=1, keepdim=False)
    for ignore in (False, True):  # more than a block holds
        same("median", numbers((4200,), np.float32, True), ignore_nan=ignore)
    same("median_dim", np.full((2, 3), np.nan, np.float32), dim=1, keepdim=False, ignore_nan=True)


def different_ones() -> None:
    for kind in (*KINDS, np.bool_):
        for shape in ((1,), (5, 9), (3000,)):
            same("unique", numbers(shape, kind), dim=None)
    x = numbers((50,), np.float32, True)  # every NaN is one of its own, in whatever order
    found = overrides("cuda")["unique"](on_gpu(x), dim=None)
    values, inverse, counts = [emulated_capture.on_host(a) for a in found]
    np.testing.assert_array_equal(values, np.unique(x, equal_nan=False))
    np.testing.assert_array_equal(values[inverse], x)
    assert sorted(inverse[np.isnan(x)]) == sorted(set(inverse[np.isnan(x)])) and counts.sum() == 50
    same("unique", np.arange(40), dim=None)


def in_bins() -> None:
    for kind in (np.int64, np.uint8, np.int32):
        for least in (0, 3, 20):
            same("bincount", numbers((700,), kind), None, minlength=least)
    counting._HELD = 4  # fewer than there are bins
    same("bincount", numbers((700,), np.int64), None, minlength=0)
    counting._HELD = 8192
    for kind in (np.float32, np.float64):
        x = random.normal(size=(30, 21)).astype(kind)
        for low, high in ((0.0, 0.0), (-1.0, 1.0), (0.1, 0.7)):
            same("histc", x, bins=20, low=low, high=high)
        same("histc", np.full(5, 3, kind), bins=4, low=0.0, high=0.0)
    assert overrides("cuda")["bincount"](on_gpu(np.array([1, -1])), None, minlength=0) is NotImplemented


def among_others() -> None:
    for kind in (*KINDS, np.bool_):
        for count in (1, 3, 32):
            for invert in (False, True):
                same("isin", numbers((7, 90), kind, True)[:, ::2], numbers((count,), kind, True), invert=invert)


def equality() -> None:
    equal = overrides("cuda")["equal_everywhere"]
    for kind in KINDS:
        x = numbers((3000,), kind)
        y = x.copy()
        a, b = on_gpu(x), on_gpu(y)
        assert equal(a, b)
        assert equal(a, a)
        y[2999] += 1
        assert not equal(a, on_gpu(y))
    x[7] = 9
    a = on_gpu(np.array([1.0, np.nan], np.float32))
    assert not equal(a, a)
    assert equal(on_gpu(np.array([0.0])), on_gpu(np.array([-0.0])))
    g = on_gpu(np.arange(12.0).reshape(3, 4))
    assert equal(g.T, on_gpu(np.arange(12.0).reshape(3, 4).T.copy()))
    one, other = rl.arange(5).to("cuda"), rl.arange(5).to("cuda")
    assert rl.equal(one, other) is True


in_the_middle()
different_ones()
in_bins()
among_others()
equality()
print("equal")
