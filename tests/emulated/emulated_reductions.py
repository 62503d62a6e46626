"""Reductions on the emulated GPU beside NumPy: every kind, in one step and in parts, of rows, columns and both results."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import emulated_capture
import numpy as np
from emulated_capture import on_gpu

from rushlight.runtime.cuda.bodies import reduce as reductions
from rushlight.runtime.cuda.bodies.reduce import reduce, reducing
from rushlight.runtime.cuda.code import keyed

random = np.random.default_rng(0)
NORMS = (0, 2, 3, -1, -2.5, -np.inf)


def equal(there: Any, here: Any, most: float = 1e-5) -> None:
    there = emulated_capture.on_host(there)
    assert there.shape == np.shape(here)
    np.testing.assert_allclose(there, here, most)


def of(x: np.ndarray, dim: Any) -> None:
    g, wide = on_gpu(x), x.astype(np.float64)
    for correction in (0.0, 1.0):
        n = x.size if dim is None else x.shape[dim]
        if n > correction:
            off = wide - wide.mean(dim, keepdims=True)
            want = (off * off).sum(dim) / (n - correction)
            equal(reduce(f"variance {correction!r}", g, dim, False), want)
            equal(reduce(f"deviation {correction!r}", g, dim, False), np.sqrt(want))
    size = np.abs(wide)
    for p in NORMS:
        kind = reductions._NORMS.get(p) or f"normp {float(p)!r}"
        if p in (0, np.inf, -np.inf):
            want = (size != 0).sum(dim) if p == 0 else (size.max if p > 0 else size.min)(dim)
        else:
            want = (size**p).sum(dim) ** (1 / p)
        equal(reduce(kind, g, dim, False), want)
    low, high = reduce("aminmax", g, dim, True, None, True)
    equal(low, x.min(dim, keepdims=True))
    equal(high, x.max(dim, keepdims=True))
    equal(reduce("sum", g, dim, False), wide.sum(dim), 1e-4)
    equal(reduce("argmax", g, dim, False), x.argmax(dim))
    values, places = reduce("argmin", g, dim, False, None, True)
    equal(values, x.min(dim))
    equal(places, x.argmin(dim))


def beyond_numbers() -> None:
    """NaN, infinities, whole numbers and booleans; a mean far from 0."""
    x = np.array([1.0, np.nan, -np.inf, 3.0], np.float32)
    assert np.isnan(emulated_capture.on_host(reduce("variance 1.0", on_gpu(x), None, False)))
    spread = np.arange(20, dtype=np.float32).reshape(4, 5).copy()
    spread[range(4), range(4)] = np.inf
    assert np.isnan(emulated_capture.on_host(reduce("variance 1.0", on_gpu(spread), 1, False))).all()
    assert np.isnan(emulated_capture.on_host(reduce("variance 1.0", on_gpu(spread[:, :2]), 1, False)))[:2].all()
    low, high = reduce("aminmax", on_gpu(x), None, False, None, True)
    assert np.isnan(emulated_capture.on_host(low)) and np.isnan(emulated_capture.on_host(high))
    far = (1e4 + random.normal(size=5000)).astype(np.float32)
    equal(reduce("variance 1.0", on_gpu(far), None, False), far.astype(np.float64).var(ddof=1), 1e-3)
    for x in (np.array([5, -7, 9], np.int64), np.array([True, False]), np.array([3, 200], np.uint8)):
        low, high = reduce("aminmax", on_gpu(x), None, False, None, True)
        equal(low, x.min())
        equal(high, x.max())


def several_gpus() -> None:
    """A launch is prepared once for each of several GPUs, since it belongs to the one it was prepared on."""
    asked: list[int] = []
    now, own = SimpleNamespace(index=0), keyed.runtime
    keyed.runtime = SimpleNamespace(getDeviceCount=lambda: 2, getDevice=lambda: now.index)

    def prepare(x: Any) -> Any:
        asked.append(now.index)
        return reducing("sum", x, None, False)

    call, x = keyed.alone(prepare), random.normal(size=(3, 70)).astype(np.float32)
    for now.index in (0, 1, 0, 1):
        equal(call(on_gpu(x)), x.sum(), 1e-4)
    assert asked == [0, 1]
    keyed.runtime = own


several_gpus()
for dim in (None, 0, 1):
    of(random.normal(size=(3, 70)).astype(np.float32), dim)
reductions._SPLIT_FROM = 64  # so that a few thousand numbers are added in parts
for shape, dim in (((2, 5000), 1), ((1200, 20), 0)):
    of(random.normal(size=shape).astype(np.float32), dim)
of(random.normal(size=(40, 31)), 1)
of(random.normal(size=(1, 9001)).astype(np.float32)[:, 1:], 1)  # at an address of no vector
beyond_numbers()
print("equal")
