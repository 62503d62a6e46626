"""The emulator of CUDA's threads itself: barriers are kept, and a missing one shows."""

from __future__ import annotations

import numpy as np
import pytest

from cuda_on_host import compiled, needs_compiler

SOURCE = """
__global__ void turned(const float* x, float* y, int barrier) {
    __shared__ float s[256];
    s[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    if (barrier) __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
__global__ void summed(const float* x, float* y) {
    float v = x[blockIdx.x * blockDim.x + threadIdx.x];
    if (threadIdx.x >= 64) return;  // whole warps may leave before the others wait
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
extern "C" void turn(const float* x, float* y, int barrier) {
    launch(Dim{3, 1, 1}, Dim{96, 1, 1}, [=] { turned(x, y, barrier); });
}
extern "C" void sum(const float* x, float* y) {
    launch(Dim{3, 1, 1}, Dim{96, 1, 1}, [=] { summed(x, y); });
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("emulator"), "turns", SOURCE)


@needs_compiler
@pytest.mark.parametrize("barrier", [1, 0])
def test_a_missing_barrier_shows(library, barrier: int) -> None:
    x, y = np.arange(288, dtype=np.float32), np.zeros(288, np.float32)
    library.turn(x.ctypes, y.ctypes, barrier)
    right = x.reshape(3, 96)[:, ::-1]
    assert np.array_equal(y.reshape(3, 96), right) == bool(barrier)


@needs_compiler
def test_shuffles_within_warps_and_threads_that_leave(library) -> None:
    x, y = np.arange(288, dtype=np.float32), np.zeros(288, np.float32)
    library.sum(x.ctypes, y.ctypes)
    sums = x.reshape(3, 3, 32).sum(2, keepdims=True) * np.ones((1, 1, 32), np.float32)
    sums[:, 2] = 0  # these have left
    np.testing.assert_array_equal(y, sums.ravel())
