"""The dense layers' CUDA kernels, compiled for the host and run there: arithmetic without a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from cuda_on_host import kernels, needs_compiler

pytestmark = needs_compiler

NAMES = {
    "dense_few": ("linear_4", "linear_16", "linear_backward_4", "linear_backward_16"),
    "dense_tile": ("nn", "nt", "tn"),
    "dense_thin": ("head_32", "head_128", "head_input"),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Compile on first use; run(file, kernel, grid, threads, arrays, numbers)."""
    folder, loaded = tmp_path_factory.mktemp("emulated"), {}

    def call(file, kernel, grid, threads, arrays, numbers):
        if file not in loaded:
            loaded[file] = kernels(folder, file, NAMES[file])
        loaded[file](kernel, grid, threads, *arrays, *numbers)

    return call


def random(*shape, rng=np.random.default_rng(0)):
    return rng.standard_normal(shape).astype(np.float32)


def blank(*shape):
    return np.full(shape, np.nan, np.float32)


def near(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def relu(a):
    return np.maximum(a, 0)


@pytest.mark.parametrize(("m", "n", "k"), [(4, 6, 36), (3, 5, 7), (1, 9, 520), (16, 5, 132), (7, 3, 10)])
def test_few_rows(run, m, n, k):
    x, w, b, g, mask = random(m, k), random(n, k), random(n), random(m, n), random(m, k)
    size = 4 if m <= 4 else 16
    out = blank(m, n)
    run("dense_few", f"linear_{size}", (-(-n // 4), 1, 1), 128, (x, w, b, out), (m, n, k, 1))
    near(out, relu(x @ w.T + b))
    gx, gw, gb = blank(m, k), blank(n, k), blank(n)
    first = -(-k // 32)
    blocks = first + -(-n * (k // 4 if k % 4 == 0 else k) // 256)
    run("dense_few", f"linear_backward_{size}", (blocks, 1, 1), 256, (g, x, w, mask, gx, gw, gb), (m, n, k, first))
    near(gx, (g @ w) * (mask > 0))
    near(gw, g.T @ x)
    near(gb, g.sum(0))


@pytest.mark.parametrize(("m", "n", "k", "parts"), [(5, 7, 3, 1), (70, 40, 68, 1), (64, 33, 132, 3)])
@pytest.mark.parametrize("form", ["nn", "nt", "tn"])
def test_tiles(run, form, m, n, k, parts):
    a, b, bias, mask = random(m, k), random(k, n), random(n), random(m, n)
    x = np.ascontiguousarray(a.T) if form == "tn" else a
    y = np.ascontiguousarray(b.T) if form == "nt" else b
    depth = -(-k // (32 * parts)) * 32
    grid = (-(-n // 32), -(-m // 64), -(-k // depth))
    assert (grid[2] > 1) == (parts > 1)
    out, sums = blank(m, n), blank(m)
    room, counters = blank(grid[0] * grid[1] * grid[2] * (64 * 32 + 64)), np.zeros(8, np.uint32)
    for _ in range(2):  # the counters return to zero
        run("dense_tile", form, grid, 128, (x, y, bias, mask, out, sums, room, counters), (m, n, k, depth, 1))
        near(out, relu(a @ b + bias) * (mask > 0))
        near(sums, a.sum(1))
    assert not counters.any()


@pytest.mark.parametrize(("m", "n", "k"), [(9, 10, 84), (33, 16, 132), (3, 1, 4), (5, 10, 300)])
def test_few_classes(run, m, n, k):
    x, w, b, g, mask = random(m, k), random(n, k), random(n), random(m, n), random(m, k)
    for share in (32, 128):
        out = blank(m, n)
        grid = (-(-m // (256 // share)), 1, 1)
        run("dense_thin", f"head_{share}", grid, 256, (x, w, b, out), (m, n, k, 1))
        near(out, relu(x @ w.T + b))
    gx = blank(m, k)
    run("dense_thin", "head_input", (-(-k // 128), -(-m // 32), 1), 256, (g, w, mask, gx), (m, n, k))
    near(gx, (g @ w) * (mask > 0))
    run("dense_thin", "head_input", (-(-k // 128), -(-m // 32), 1), 256, (g, w, None, gx), (m, n, k))
    near(gx, g @ w)
