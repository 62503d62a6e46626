"""Unfold, fold, adaptive and fractional max pooling on the emulated GPU, beside NumPy."""

from __future__ import annotations

from typing import Any

import emulated_capture
import numpy as np

import rushlight as rl
from rushlight.runtime.devices import overrides
from rushlight.runtime.door import KERNELS

random = np.random.default_rng(0)


def same(name: str, *arrays: np.ndarray, **attrs: Any) -> None:
    here = KERNELS[name].generic(np, *arrays, **attrs)
    there = overrides("cuda")[name](*[rl.tensor(a).to("cuda")._a for a in arrays], **attrs)
    assert there is not NotImplemented
    for a, b in zip(there, here) if isinstance(there, tuple) else [(there, here)]:
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(emulated_capture.on_host(a), b, err_msg=f"{name} {attrs}")


rl.nn.functional.fold, rl.nn.functional.fractional_max_pool2d, rl.nn.functional.adaptive_max_pool2d
for kind in (np.float32, np.float64):
    x = random.normal(size=(2, 3, 9, 7)).astype(kind)
    for kernel, stride, padding, dilation in (
        ((3, 2), (1, 1), (1, 0), (1, 1)), ((2, 2), (2, 3), (0, 0), (1, 1)), ((2, 3), (1, 2), (2, 1), (2, 1)),
    ):  # fmt: skip
        how = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
        same("im2col", x, **how)
        columns = KERNELS["im2col"].generic(np, x, **how)
        same("col2im", random.normal(size=columns.shape).astype(kind), size=(9, 7), **how)
    x[0, 1, 2, 2] = x[0, 1, 2, 4] = x[1, 2, 8, 6] = np.nan
    x[0, 0, :2] = 5
    for size in ((4, 3), (9, 7), (1, 2), (11, 5)):
        same("adaptive_max_pool", x, size=size)
    same("adaptive_max_pool", x[:, :, 0], size=(3,))
    same("adaptive_max_pool", x.reshape(2, 3, 3, 3, 7), size=(2, 2, 4))
    drawn = random.random((2, 3, 2)).astype(kind)
    for size in ((4, 3), (1, 5), (7, 6)):
        same("fractional_max_pool", x, drawn, kernel=(2, 2), size=size)
    deep = random.random((2, 3, 3)).astype(kind)
    same("fractional_max_pool", x.reshape(2, 3, 3, 3, 7), deep, kernel=(2, 1, 2), size=(2, 2, 4))
print("equal")
