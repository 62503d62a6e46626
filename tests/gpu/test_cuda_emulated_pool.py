"""Pooling row by row and in channels_last order: its CUDA kernels, compiled for the host and run there."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np
import pytest

from cuda_on_host import kernels, needs_compiler
from rushlight.operators.layers.pool_kernels import pool_size
from rushlight.runtime.door import KERNELS

pytestmark = needs_compiler

NAMES = {0: ("max_pool", "avg_pool", "avg_pool_grad"),
         1: ("max_pool", "avg_pool", "avg_pool_grad", "max_pool_grad_last", "max_pool_grad_last_meeting")}  # fmt: skip
ADD = "#include <mutex>\ninline void atomicAdd(A* p, A v) { static std::mutex one; std::lock_guard<std::mutex> hold(one); *p += v; }\n"
TYPES = {"float": np.float32, "bf16_t": ml_dtypes.bfloat16, "double": np.float64}
FORMS = [("float", 4), ("bf16_t", 2), ("double", 1), ("float", 0), ("double", 0)]  # channels of a thread, 0: row by row
WINDOWS = [
    ((7, 6), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((7, 9), (3, 3), (2, 2), (1, 1), (1, 1), False),
    ((8, 7), (3, 2), (1, 3), (1, 0), (2, 1), True),
    ((3, 5, 4), (2, 3, 2), (1, 2, 2), (1, 1, 0), (1, 1, 1), True),
]


@pytest.fixture(scope="module", params=FORMS, ids=str)
def library(request, tmp_path_factory):
    name, vw = request.param
    macros = {"NT": name, "NA": "double" if name == "double" else "float", "LAST": int(vw > 0)}
    folder = tmp_path_factory.mktemp("pool")
    run = kernels(folder, "pool", NAMES[macros["LAST"]], ADD, VW=max(vw, 1), **macros)
    return run, np.dtype(TYPES[name]), max(vw, 1), last if vw else np.ascontiguousarray


def last(a):
    """A copy with its channels innermost."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1)


def three(values, fill):
    return (fill,) * (3 - len(values)) + tuple(values)


def numbers(size, out, kernel, stride, padding, dilation):
    groups = ((size, 1), (out, 1), (kernel, 1), (stride, 1), (padding, 0), (dilation, 1))
    return (ctypes.c_int * 18)(*[v for values, fill in groups for v in three(values, fill)])


def same(a, b, dtype):
    tol = 3e-2 if dtype.itemsize == 2 else 1e-5
    np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=tol, atol=tol)


@pytest.mark.parametrize("how", WINDOWS, ids=str)
def test_maxima(library, how):
    run, dtype, vw, laid = library
    size, kernel, stride, padding, dilation, ceil = how
    x = laid(np.random.default_rng(0).standard_normal((2, 4, *size)).astype(dtype))
    x[0, 0, 1, 1] = np.nan
    x[1, 1] = -np.inf
    attrs = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    with np.errstate(invalid="ignore"):
        y, index = KERNELS["max_pool"].generic(np, x, **attrs, ceil_mode=ceil)
    mine, places = laid(np.zeros_like(y)), laid(np.zeros_like(index))
    window = numbers(size, y.shape[2:], kernel, stride, padding, dilation)
    run("max_pool", (2,), 64, x, mine, places, y.size // vw, 4, window)
    np.testing.assert_array_equal(mine.astype(np.float64), y.astype(np.float64))
    np.testing.assert_array_equal(places, index)
    g = laid(np.random.default_rng(1).standard_normal(y.shape).astype(dtype))
    if laid is not last:
        return
    overlap = any(s < d * (k - 1) + 1 for s, d, k in zip(stride, dilation, kernel))
    expected = KERNELS["max_pool_grad"].generic(np, g.astype(np.float64), index, x_shape=x.shape, overlap=overlap)
    wide = np.float64 if dtype == np.float64 else np.float32
    gx = laid(np.zeros(x.shape, wide if overlap else dtype))
    name = "max_pool_grad_last_meeting" if overlap else "max_pool_grad_last"
    sizes = [int(np.prod(s)) for s in (size, y.shape[2:])]
    run(name, (2,), 64, g, places, gx, g.size, 4, *sizes)
    same(gx, expected, dtype)


@pytest.mark.parametrize("include, divisor", [(True, None), (False, None), (True, 3)])
@pytest.mark.parametrize("how", WINDOWS[:2] + WINDOWS[3:], ids=str)
def test_means(library, how, include, divisor):
    run, dtype, vw, laid = library
    size, kernel, stride, padding, dilation, ceil = how
    x = laid(np.random.default_rng(0).standard_normal((2, 4, *size)).astype(dtype))
    attrs = {"kernel": kernel, "stride": stride, "padding": padding, "ceil_mode": ceil,
             "include_pad": include, "divisor": divisor}  # fmt: skip
    out = pool_size(size, kernel, stride, padding, dilation, ceil)
    y = KERNELS["avg_pool"].generic(np, x.astype(np.float64), **attrs)
    window = numbers(size, out, kernel, stride, padding, dilation)
    mine = laid(np.zeros(y.shape, dtype))
    rest = (4, window, int(include), divisor or 0)
    run("avg_pool", (2,), 64, x, mine, y.size // vw, *rest)
    same(mine, y, dtype)
    g = laid(np.random.default_rng(1).standard_normal(y.shape).astype(dtype))
    expected = KERNELS["avg_pool_grad"].generic(np, g.astype(np.float64), x_shape=x.shape, **attrs)
    gx = laid(np.zeros(x.shape, dtype))
    run("avg_pool_grad", (2,), 64, g, gx, gx.size // vw, *rest)
    same(gx, expected, dtype)
