"""Batch norm's CUDA kernels, compiled for the host and run there: arithmetic without a GPU."""

from __future__ import annotations

from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest

import cuda_on_host
from cuda_on_host import needs_compiler
from rushlight.capture.joined import norms  # noqa: F401 - makes the joined kernels
from rushlight.runtime.door import KERNELS

pytestmark = needs_compiler

BLOCK, EACH, EPS, MOMENTUM = 512, 256, 1e-5, 0.3
NAMES = """statistics apply apply_relu apply_add_relu apply_eval apply_eval_add_relu
    grad_sums_plain grad_sums_relu grad_sums_add_relu slopes_plain slopes_relu""".split()


class Form(NamedTuple):
    """How the channels of one shape are walked, as batch_norm.py would choose or nearly so."""

    stored: str
    last: int
    vw: int
    across: int
    shape: tuple[int, ...]
    splits: int


FORMS = [
    Form("float", 1, 4, 1, (3, 8, 5, 5), 2),
    Form("float", 0, 1, 1, (3, 2, 5, 5), 2),
    Form("float", 0, 4, 1, (4, 3, 4, 6), 1),
    Form("bf16_t", 1, 8, 2, (4, 16, 5, 3), 2),
    Form("double", 1, 1, 4, (6, 3, 2, 2), 1),
]


@pytest.fixture(scope="module", params=FORMS, ids=lambda f: f"{f.stored}-{f.last}-{f.vw}")
def kernels(request, tmp_path_factory):
    """The form and run(kernel, grid, arrays, *numbers)."""
    form: Form = request.param
    wide = "double" if form.stored == "double" else "float"
    go = cuda_on_host.kernels(
        tmp_path_factory.mktemp("norm"), "batch_norm", NAMES,
        NT=form.stored, NA=wide, NW=wide, NS=wide, VW=form.vw, LAST=form.last, ACROSS=form.across, IX="unsigned",
    )  # fmt: skip
    inner = int(np.prod(form.shape[2:]))
    images = form.shape[0] * (inner if form.last else 1)

    def run(name, arrays, *numbers):
        columns = -(-form.shape[1] // (form.across * form.vw)) if form.last else form.shape[1]
        sums = name.startswith(("statistics", "grad_sums"))
        grid = (columns, form.splits) if sums or form.last else (2, 1)
        go(name, grid, BLOCK if sums else EACH, *arrays, form.shape[1], inner, images, *numbers)

    return form, run


class Data:
    """Arrays of a form; images lie in its order."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.dtype = {"float": np.float32, "double": np.float64, "bf16_t": ml_dtypes.bfloat16}[form.stored]
        self.wide = np.float64 if form.stored == "double" else np.float32
        self.rng = np.random.default_rng(1)
        self.c = form.shape[1]
        self.room = np.full(1 << 14, np.nan, self.wide)
        self.counters = np.zeros(64, np.uint32)
        self.tol = 4e-2 if form.stored == "bf16_t" else 2e-4 if self.wide is np.float32 else 1e-9

    def image(self, fill: float | None = None) -> np.ndarray:
        a = self.rng.standard_normal(self.form.shape) if fill is None else np.full(self.form.shape, fill)
        a = (a + (1 if fill is None else 0)).astype(self.dtype)
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1) if self.form.last else a

    def channels(self, fill: float | None = None) -> np.ndarray:
        a = self.rng.standard_normal(self.c) if fill is None else np.full(self.c, fill)
        return a.astype(self.wide)

    def near(self, mine, theirs) -> None:
        a, b = np.asarray(mine, np.float64), np.asarray(theirs, np.float64)
        np.testing.assert_allclose(a, b, rtol=self.tol, atol=self.tol * max(np.abs(b).max(), 1))


def generic(name, *arrays, **attrs):
    given = [None if a is None else np.asarray(a, np.float64) for a in arrays]
    return KERNELS[name].generic(np, *given, **attrs)


def statistics(run, d, x, learning=(None, None, None)):
    mean, invstd = d.channels(np.nan), d.channels(np.nan)
    n = x.size // d.c
    run("statistics", (x, d.room, d.counters, mean, invstd, *learning), n, EPS, MOMENTUM, n / (n - 1))
    assert not d.counters.any()
    return mean, invstd


def test_forward(kernels):
    form, run = kernels
    d = Data(form)
    x, other, w, b = d.image(), d.image(), d.channels(), d.channels()
    means, variances, batches = d.channels(), np.abs(d.channels()), np.full(1, 41, np.int64)
    learned = [means.copy(), variances.copy()]
    mean, invstd = statistics(run, d, x, (means, variances, batches))
    out, m, s = generic("batch_norm_train", x, w, b, eps=EPS)
    d.near(mean, m)
    d.near(invstd, s)
    kept = [a.astype(np.float64) for a in learned]
    KERNELS["running_statistics"].generic(np, *kept, m, s, momentum=MOMENTUM, eps=EPS, n=x.size // d.c)
    d.near(means, kept[0])
    d.near(variances, kept[1])
    assert batches[0] == 42
    for name, expected in (
        ("apply", out), ("apply_relu", np.maximum(out, 0)),
        ("apply_add_relu", np.maximum(out + np.asarray(other, np.float64), 0)),
    ):  # fmt: skip
        y = d.image(np.nan)
        run(name, (x, w, b, mean, invstd, other, y), EPS)
        d.near(y, expected)
    y, var = d.image(np.nan), np.abs(variances)
    run("apply_eval", (x, None, None, mean, var, None, y), EPS)
    d.near(y, generic("batch_norm_eval", x, None, None, mean, var, eps=EPS))
    run("apply_eval_add_relu", (x, w, b, mean, var, other, y), EPS)
    d.near(y, generic("batch_norm_eval_add_relu", x, w, b, mean, var, other, eps=EPS))


def test_backward(kernels):
    form, run = kernels
    d = Data(form)
    x, g, more, y, w, b = d.image(), d.image(), d.image(), d.image(), d.channels(), d.channels()
    mean, invstd = statistics(run, d, x)
    cases = (
        ("plain", "plain", generic("batch_norm_grad", g, x, w, mean, invstd, eps=EPS)),
        ("relu", "relu", generic("batch_norm_relu_grad", g, x, w, b, mean, invstd, eps=EPS)),
        ("add_relu", "plain", generic("batch_norm_add_relu_grad", g, more, y, x, w, mean, invstd, eps=EPS)),
    )
    for sums, slopes, expected in cases:
        kept = d.image(np.nan) if sums == "add_relu" else None
        totals, gw, gb = np.full((2, d.c), np.nan, d.wide), d.channels(np.nan), d.channels(np.nan)
        second = (more, y) if kept is not None else (None, None)
        run(f"grad_sums_{sums}", (g, *second, x, w, b, mean, invstd, kept, d.room, d.counters, totals, gw, gb))
        assert not d.counters.any()
        if kept is not None:
            d.near(kept, expected[0])
            expected = expected[1:]
        gx = d.image(np.nan)
        run(f"slopes_{slopes}", (g if kept is None else kept, x, w, b, mean, invstd, totals, gx), 1.0 / (x.size // d.c))
        d.near(gx, expected[0])
        d.near(gw, expected[1])
        d.near(gb, expected[2])
