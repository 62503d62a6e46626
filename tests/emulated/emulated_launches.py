"""Prepared launches made in C and in Python on the emulated GPU, one beside the other.

Grid, block and every parameter, as the kernel itself sees them on the emulated GPU.
"""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import cupy
import numpy as np

import rushlight as rl
from rushlight.runtime.cuda.code import keyed, launch
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
GRID, BLOCK = (3, 2, 1), (4, 2, 1)
REST = (5_000_000_000, 1.5, 1, -2, 3, -4, 5, -6, 0.1)


def bytes_of(a: Any) -> bytes:
    return bytes((ctypes.c_char * a.nbytes).from_address(a.data.ptr))


def answers(in_c: bool) -> list[Any]:
    """What every kind of launch does."""
    launch._in_c = in_c
    told = kernel(SOURCE, "told")
    x = rl.tensor([1.0, 2.0, 3.0], device="cuda")._a
    out, y = cupy.zeros(16, np.float64), cupy.zeros((2, 2), np.float32)
    found: list[Any] = []
    # fixed: all pointers are given, as arrays, addresses or None
    plain = kernel(SOURCE.replace("int mark, ", "").replace("*o++ = mark; ", "*o++ = 7; "), "told")
    go = plain.fixed(GRID, BLOCK, *REST)
    for given in ((out, x, y), (out.data.ptr, x, None), (out, None, y.data.ptr)):
        go(*given)
        found += [bytes_of(out), bytes_of(y)]
    # prepared: it makes results of its own, in any order of memory
    results = (Result(0, (16,), np.float64), Result(2, (2, 2), np.float32, (4, 8)))
    call = told.prepared(GRID, BLOCK, results, *REST, front=(42,), aligned=(1,))
    for _ in range(3):
        a, b = call(x)
        found += [a.shape, a.dtype, a.strides, bytes_of(a)[:128], b.shape, b.strides, bytes_of(b)]
        del a, b
    found.append(call(x.data.ptr + 4) is NotImplemented)  # not at a multiple of 16 bytes
    one = told.prepared(GRID, BLOCK, (Result(0, (16,), np.float64),), *REST, front=(42,))
    a = one(x, None)
    return [*found, a.shape, bytes_of(a)[:128]]


def kinds(native: Any) -> list[Any]:
    """What is prepared, and what goes to the body: by arrays that may be missing, numbers' values, what is watched."""
    keyed._native = native
    owner, told = SimpleNamespace(how="a"), []

    def prepare(x: Any, y: Any, *, eps: float) -> Any:
        told.append((x.shape, x.strides, None if y is None else y.shape, eps, owner.how))
        return None if eps == 3.0 else lambda x, y: NotImplemented if x.shape == (1,) else eps

    call = keyed.keyed(lambda x, y, *, eps: "body", prepare, None, ((owner, "how"),))
    a, b, one = [cupy.ndarray(s, np.float32) for s in ((2, 3), (3,), (1,))]
    found = [call(a, b, eps=0.5), call(a, None, eps=0.5), call(a, b, eps=float("0.5"))]
    found += [call(a.T, b, eps=0.5), call(a, b, eps=0.25), call(a, b, eps=3.0), call(one, b, eps=0.5)]
    owner.how = "b"
    return [*found, call(a, b, eps=0.5), call(a, b, eps=0.5), *told]


def lists() -> list[list[Any]]:
    a, b = cupy.ndarray((4, 6), np.float32), cupy.ndarray((2, 3, 5), np.float32)
    return [
        [a, b, a.T, b.transpose(2, 0, 1)],
        [a[:, ::2]],
        [a, a[1:3]],
        [b[:, 1:]],
        [a, a.view(np.int32)],
        [cupy.ndarray((0, 3), np.float32), a],
        [cupy.ndarray((), np.float32)],
        [b[:, :1, 0]],
    ]


SEVERAL = lists()  # once: what is gathered has their addresses


def gathers(of: Any) -> list[Any]:
    return [of(arrays) for arrays in SEVERAL]


assert launch._in_c, "launches go through C here"
ours, theirs = answers(True), answers(False)
native = launch._native
known = (kinds(native), gathers(native.gathered))
assert native.learn_header(launch._probes()), "how arrays lie is known for this CuPy"
native.learn_header(None)  # as with another CuPy: attributes are asked
asked = answers(True)
assert known == (kinds(native), gathers(native.gathered))
native.learn_header(launch._probes())
assert known == (kinds(None), gathers(launch._gathered)), (known, kinds(None))
keyed._native = native
assert len(ours) == len(theirs) == len(asked)
for i, (a, b, c) in enumerate(zip(ours, theirs, asked)):
    assert a == b == c, (i, a, b, c)
assert np.frombuffer(ours[0], np.float64)[:5].tolist() == [7.0, 2.0, 5e9, 1.5, 0.1]
print("equal")
