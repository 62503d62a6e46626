"""Prepared launches made in C and in Python on the emulated GPU, one beside the other; run by test_twins.py."""

from __future__ import annotations

import ctypes
from typing import Any

import cupy
import numpy as np

import rushlight as rl
from rushlight.runtime.cuda.code import launch
from rushlight.runtime.cuda.code.compile import kernel
from rushlight.runtime.cuda.code.launch import Result

# A kernel that writes down where it runs and everything it was given.
SOURCE = """
typedef long long i64;
struct Six { int v[6]; };
extern "C" __global__ void told(int mark, double *out, const float *x, float *y, i64 n, float a, Six six, double b) {
    if (threadIdx.x || threadIdx.y || blockIdx.x || blockIdx.y || blockIdx.z) return;
    double *o = out;
    *o++ = mark; *o++ = x ? x[1] : -1; *o++ = (double)n; *o++ = a; *o++ = b;
    for (int i = 0; i < 6; i++) *o++ = six.v[i];
    *o++ = gridDim.x; *o++ = gridDim.y; *o++ = gridDim.z; *o++ = blockDim.x; *o++ = blockDim.y;
    if (y) for (int i = 0; i < 4; i++) y[i] = 10 * (float)i + a;
}
"""
FORMATS = ("i", "P", "P", "P", "q", "f", "6i", "d")
GRID, BLOCK = (3, 2, 1), (4, 2, 1)
REST = (5_000_000_000, 1.5, 1, -2, 3, -4, 5, -6, 0.1)


def bytes_of(a: Any) -> bytes:
    return bytes((ctypes.c_char * a.nbytes).from_address(a.data.ptr))


def answers(in_c: bool) -> list[Any]:
    """What every kind of launch does."""
    launch._in_c = in_c
    told = kernel(SOURCE, "told", FORMATS)
    x = rl.tensor([1.0, 2.0, 3.0], device="cuda")._a
    out, y = cupy.zeros(16, np.float64), cupy.zeros((2, 2), np.float32)
    found: list[Any] = []
    # fixed: all pointers are given, as arrays, addresses or None
    plain = kernel(
        SOURCE.replace("int mark, ", "").replace("*o++ = mark; ", "*o++ = 7; "), "told", FORMATS[1:]
    )
    go = plain.fixed(GRID, BLOCK, 0, 3, *REST)
    for given in ((out, x, y), (out.data.ptr, x, None), (out, None, y.data.ptr)):
        go(*given)
        found += [bytes_of(out), bytes_of(y)]
    # prepared: it makes results of its own, in any order of memory
    results = (Result(0, (16,), np.float64), Result(2, (2, 2), np.float32, (4, 8)))
    call = told.prepared(GRID, BLOCK, 0, 3, results, *REST, front=(42,), aligned=(1,))
    for _ in range(3):
        a, b = call(x)
        found += [a.shape, a.dtype, a.strides, bytes_of(a)[:128], b.shape, b.strides, bytes_of(b)]
        del a, b
    found.append(call(x.data.ptr + 4) is NotImplemented)  # not at a multiple of 16 bytes
    one = told.prepared(GRID, BLOCK, 0, 3, (Result(0, (16,), np.float64),), *REST, front=(42,))
    a = one(x, None)
    return [*found, a.shape, bytes_of(a)[:128]]


assert launch._in_c, "launches go through C here"
ours, theirs = answers(True), answers(False)
assert len(ours) == len(theirs)
for i, (a, b) in enumerate(zip(ours, theirs)):
    assert a == b, (i, a, b)
assert np.frombuffer(ours[0], np.float64)[:5].tolist() == [7.0, 2.0, 5e9, 1.5, 0.1]
print("equal")
