"""Cross entropy's CUDA kernels, compiled for the host and compared with NumPy and with themselves."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import cuda_on_host
from cuda_on_host import needs_compiler
from rushlight.runtime.door import KERNELS

pytestmark = needs_compiler

TYPES = {"float": np.float32, "double": np.float64, "bf16_t": ml_dtypes.bfloat16}
MODES = {"none": 0, "mean": 1, "sum": 2}
NAMES = """cross_entropy_4 cross_entropy_32 cross_entropy_block cross_entropy_step_32
    cross_entropy_grad cross_entropy_grad_block""".split()


class Entropy:
    """The kernels for one stored type and one type of loss."""

    def __init__(self, folder, stored: str, wide: int) -> None:
        wider = "double" if stored == "double" else "float"
        self.go = cuda_on_host.kernels(folder, "cross_entropy", NAMES, NT=stored, NA=wider, WIDE=wide, LABEL="i64")
        self.dtype = np.dtype(TYPES[stored])
        self.computed = np.dtype(np.float64 if stored == "double" else np.float32)
        self.loss = self.computed if wide else self.dtype

    def run(self, name, blocks, threads, arrays, rows, n, ignore, reduction) -> None:
        self.go(name, (blocks,), threads, *arrays, rows, n, ignore, MODES[reduction])

    def forward(self, name, x, target, reduction, blocks=3, threads=64):
        out = np.full(len(x) if reduction == "none" else 1, 7, self.loss)
        stats = np.full((len(x), 2), 7, self.computed)
        room = np.zeros(2 * blocks, self.computed), np.zeros(4, np.uint32)
        arrays = (x, target, out, stats, *room)
        self.run(name, blocks, threads, arrays, *x.shape, -100, reduction)
        return (out if reduction == "none" else out[0]), stats

    def grad(self, name, gy, x, stats, target, reduction, seen=None):
        gx = np.full(x.shape, 7, self.dtype)
        arrays = (gy, x, stats, target, gx, seen)
        self.run(name, 3, 64, arrays, *x.shape, -100, reduction)
        return gx


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("entropy"), {}

    def get(stored: str, wide: int = 0) -> Entropy:
        if (stored, wide) not in made:
            made[stored, wide] = Entropy(folder, stored, wide)
        return made[stored, wide]

    return get


def numbers(rows, n, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((rows, n)) * 4).astype(dtype)
    target = rng.integers(0, n, rows)
    target[1] = -100
    return x, target, rng


def same(a, b, tol) -> None:
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol * 0.1)


@pytest.mark.parametrize("n", [13, 264, 1032])
@pytest.mark.parametrize("reduction", MODES)
@pytest.mark.parametrize(("stored", "wide"), [("float", 0), ("double", 0), ("bf16_t", 0), ("bf16_t", 1)])
def test_forward_and_backward(kernels, stored, wide, reduction, n):
    """Both kinds of kernels, aligned rows and others."""
    k = kernels(stored, wide)
    x, target, rng = numbers(5, n, k.dtype)
    gy = rng.standard_normal(5 if reduction == "none" else 1).astype(k.loss)
    how = {"ignore_index": -100, "reduction": reduction}
    want, kept = KERNELS["cross_entropy_fused"].generic(np, x, target, wide=bool(wide), **how)
    given = gy if reduction == "none" else gy.reshape(())
    slope = KERNELS["cross_entropy_grad"].generic(np, given, x, kept, target, **how)
    assert want.dtype == k.loss and slope.dtype == k.dtype
    exact = 1e-12 if stored == "double" else 2e-6
    tol = 1e-2 if stored == "bf16_t" else exact * 5
    for name, back in (("_32", ""), ("_block", "_block")):
        loss, stats = k.forward(f"cross_entropy{name}", x, target, reduction)
        same(stats, kept, exact)
        same(loss, want, exact if k.loss == k.computed else tol)
        same(k.grad(f"cross_entropy_grad{back}", gy, x, stats, target, reduction), slope, tol)
    seen = np.array([4], k.computed)
    same(k.grad("cross_entropy_grad_block", gy, x, kept, target, reduction, seen), slope, tol)


@pytest.mark.parametrize("n", [13, 264])
@pytest.mark.parametrize("name", ["_32", "_block"])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_half_precision_gives_the_bits_of_its_float32_copy(kernels, name, n, reduction):
    half, single = kernels("bf16_t", 1), kernels("float")
    x, target, rng = numbers(5, n, half.dtype, seed=3)
    gy = rng.standard_normal(5 if reduction == "none" else 1).astype(np.float32)
    back = "cross_entropy_grad" + ("_block" if name == "_block" else "")
    found = half.forward(f"cross_entropy{name}", x, target, reduction)
    wide = single.forward(f"cross_entropy{name}", x.astype(np.float32), target, reduction)
    np.testing.assert_array_equal(found[0], wide[0])
    np.testing.assert_array_equal(found[1], wide[1])
    gx = half.grad(back, gy, x, found[1], target, reduction)
    gw = single.grad(back, gy, x.astype(np.float32), wide[1], target, reduction)
    np.testing.assert_array_equal(gx.view(np.uint16), gw.astype(half.dtype).view(np.uint16))


def test_step_answers_as_wide_as_its_gradient_is(kernels):
    k = kernels("bf16_t", 1)
    x, target, rng = numbers(5, 40, k.dtype)
    gy = np.float32([1.5])
    loss, stats = k.forward("cross_entropy_32", x, target, "mean")
    out, gx = np.zeros(1, np.float32), np.zeros(x.shape, k.dtype)
    room = np.zeros(6, np.float32), np.zeros(4, np.uint32)
    k.run("cross_entropy_step_32", 1, 64, (x, target, gy, out, gx, *room), 5, 40, -100, "mean")
    same(out[0], loss, 1e-6)
    same(gx, k.grad("cross_entropy_grad", gy, x, stats, target, "mean"), 1e-2)


ODD = {
    "nan": [np.nan, 1, -np.inf],
    "inf": [np.inf, 1, 2],
    "two infs": [np.inf, np.inf, 2],
    "-inf": [-np.inf, -np.inf, 3],
    "large": [3e38, -3e38, 3e38],
}


@pytest.mark.parametrize("name", ["_32", "_block"])
def test_odd_numbers(kernels, name):
    """Rows of one pass: a maximum that is infinite, a NaN wherever it stands, nothing but -inf."""
    k = kernels("float")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2 * len(ODD) + 1, 1100)).astype(np.float32)
    for i, values in enumerate(ODD.values()):
        x[2 * i, :3] = values
        x[2 * i + 1, -3:] = values
    x[-1] = -np.inf
    x[2, 900:] = -np.inf
    target = np.arange(len(x)) % 3
    how = {"ignore_index": -100, "reduction": "none"}
    gy = np.ones(len(x), np.float32)
    with np.errstate(all="ignore"):
        want, kept = KERNELS["cross_entropy_fused"].generic(np, x, target, wide=False, **how)
        slope = KERNELS["cross_entropy_grad"].generic(np, gy, x, kept, target, **how)
    loss, stats = k.forward(f"cross_entropy{name}", x, target, "none")
    same(loss, want, 1e-5)
    back = "cross_entropy_grad" + ("_block" if name == "_block" else "")
    same(k.grad(back, gy, x, stats, target, "none"), slope, 1e-4)
