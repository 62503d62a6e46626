"""Every row of the op table with NaN, infinities, -0.0, denormals and extremes, against PyTorch."""

from __future__ import annotations

import ctypes
import functools
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import edges
import rows.activation
import rows.linalg
import rows.unary
import rushlight as rl
from cuda_on_host import COMPILER, needs_compiler
from edge_differences import ALLOWED, CRASHES
from edges import inf, nan
from optable import Row, all_rows
from rushlight.operators import load_all
from rushlight.runtime.cuda.code.expressions import expression_of
from rushlight.runtime.door import KERNELS

torch = pytest.importorskip("torch")
load_all()

TOLERANCE = {"float32": 1e-4, "float64": 1e-7}
# Values among the inputs, each with the gradient that comes in.
RUNS = {
    "float32": [
        ("nan", 1.0), ("inf", 1.0), ("-inf", 1.0), ("-0", 1.0), ("tiny", 1.0), ("max", 1.0),
        ("0", nan), ("0", inf),
    ],
    "float64": [("nan", 1.0), ("-least", 1.0), ("-max", 1.0)],
}  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def _from_left_to_right():
    """Where opt_einsum is installed PyTorch multiplies in another order, and other infinities meet."""
    before = torch.backends.opt_einsum.enabled
    torch.backends.opt_einsum.enabled = False
    yield
    torch.backends.opt_einsum.enabled = before


LONG = {id(r) for r in (*rows.activation.ROWS, *rows.unary.ROWS)}


@functools.cache
def edge_rows() -> dict[str, list[Row]]:
    """The rows that take floats and have one answer, by the op's name."""
    skipped = {id(r) for r in rows.linalg.ROWS}  # LAPACK's answers differ from one library to another
    found: dict[str, list[Row]] = {}
    for row in all_rows():
        if row.name in CRASHES or "grid_sample" in row.name:
            continue
        floats = any(s.dtype == "float" and np.prod(s.shape) for s in row.specs())
        if floats and not row.nondet and row.compare is None and id(row) not in skipped:
            found.setdefault(row.name, []).append(row)
    return found


def runs(row: Row) -> Iterator[tuple[str, str, float]]:
    """(dtype, the name of a value among the inputs, the incoming gradient)."""
    for dtype, names in RUNS.items():
        if dtype in row.dtypes:
            for name, coming in names:
                yield dtype, name, coming


def differences(row: Row) -> Iterator[tuple[str, str]]:
    """What differs from PyTorch, and in which run."""
    for dtype, name, coming in runs(row):
        arrays = edges.mixed(row, dtype, edges.edge_values(dtype)[name], 32 if id(row) in LONG else 1)
        tol = max(row.tol or 0.0, TOLERANCE[dtype])
        want = edges.results(torch, row, arrays, coming)
        got = edges.results(rl, row, arrays, coming)
        kind = _kind(name, coming)
        for what, mine, theirs in zip((kind, f"d:{kind}"), got, want):
            said = edges.difference(mine, theirs, tol)
            if said:
                where = "gradient of " if what is not kind else ""
                yield what, f"{where}{row!r} {dtype} {name} g={coming}: {said}"
                break


def _kind(name: str, coming: float) -> str:
    """What a run is about: nan, inf, zero, tiny, max, or the incoming gradient."""
    if coming != 1.0:
        return "g"
    return {"0": "zero", "least": "tiny"}.get(name.lstrip("-"), name.lstrip("-"))


NAMES = sorted(edge_rows())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_values_and_gradients_at_the_edges_are_pytorchs(name: str) -> None:
    found = [
        said
        for row in edge_rows()[name]
        for kind, said in differences(row)
        if (name, kind) not in ALLOWED and (name, kind.removeprefix("d:")) not in ALLOWED
    ]
    assert not found, "\n".join(found)


def test_every_allowed_op_is_in_the_table() -> None:
    """An entry for an op that is not there excuses nothing and would go unnoticed."""
    names = set(NAMES)
    strange = {op for op, _ in ALLOWED} - names
    assert not strange


# What every path must agree on, engine by engine: the gradient of a kink at NaN and behind it.
KINKS = {
    "relu": lambda x: rl.relu(x), "relu6": lambda x: rl.nn.functional.relu6(x),
    "hardtanh": lambda x: rl.nn.functional.hardtanh(x), "hardswish": lambda x: rl.nn.functional.hardswish(x),
    "hardsigmoid": lambda x: rl.nn.functional.hardsigmoid(x), "elu": lambda x: rl.nn.functional.elu(x),
    "hardshrink": lambda x: rl.hardshrink(x), "softshrink": lambda x: rl.nn.functional.softshrink(x),
    "leaky_relu": lambda x: rl.nn.functional.leaky_relu(x), "softplus": lambda x: rl.nn.functional.softplus(x),
    "silu": lambda x: rl.nn.functional.silu(x), "mish": lambda x: rl.nn.functional.mish(x),
    "gelu": lambda x: rl.nn.functional.gelu(x), "tanh": lambda x: x.tanh(), "sigmoid": lambda x: x.sigmoid(),
    "exp": lambda x: x.exp(), "log": lambda x: x.log(), "sqrt": lambda x: x.sqrt(), "abs": lambda x: x.abs(),
}  # fmt: skip


def _stepped(fn: Any, x: np.ndarray, g: np.ndarray, compiled: bool) -> list[np.ndarray]:
    leaf, coming = rl.from_numpy(x.copy()).requires_grad_(), rl.from_numpy(g)

    def step() -> tuple:
        leaf.grad = None
        y = fn(leaf * 1.0)
        (y * coming).sum().backward()
        return y.detach() * 1.0, leaf.grad * 1.0

    run = rl.compile(step) if compiled else step
    for _ in range(3 if compiled else 1):  # run, record, replay
        out = run()
    return [t.numpy().copy() for t in out]


@pytest.mark.parametrize("name", KINKS)
@pytest.mark.filterwarnings("ignore")
def test_compiled_and_eager_agree_at_the_edges(name: str) -> None:
    values = [*edges.edge_values("float32").values(), -3.0, 3.0, 0.5, -0.5, 6.0, 88.8, -104.0]
    x = np.array(values * 5, np.float32)  # whole vectors and what is left of one
    g = np.where(np.arange(x.size) % 7 == 3, nan, 1.0).astype(np.float32)
    eager, compiled = _stepped(KINKS[name], x, g, False), _stepped(KINKS[name], x, g, True)
    assert edges.difference(compiled, eager, 1e-6) is None


# Derivatives whose CUDA text needs nothing but C: what it says at the edges is asked of a host compiler.
PLAIN_TEXT = {
    "relu_grad": {}, "leaky_relu_grad": {"slope": 0.01}, "hardtanh_grad": {"low": -1.0, "high": 1.0},
    "hardshrink_grad": {"lambd": 0.5}, "softshrink_grad": {"lambd": 0.5}, "hardsigmoid_grad": {},
    "hardswish_grad": {},
}  # fmt: skip


@needs_compiler
def test_cuda_text_agrees_with_the_bodies_at_the_edges(tmp_path: Path) -> None:
    values = np.array([*edges.edge_values("float32").values(), -3, 3, 1, -1, 0.5, 0.2], np.float32)
    x, g = (a.ravel().copy() for a in np.meshgrid(values, np.array([1.0, nan, inf], np.float32)))
    lines = ["#include <cmath>", "typedef float T;"]
    for name, attrs in PLAIN_TEXT.items():
        made = expression_of(name, attrs)
        assert made is not None
        constants = "".join(f"const T {k} = {v}f;" for k, v in attrs.items())
        first, second = made.inputs
        lines.append(
            f'extern "C" void {name}(const T* a, const T* b, T* out, int n) {{ {constants} for (int i = 0; '
            f"i < n; i++) {{ const T {first} = a[i], {second} = b[i]; out[i] = {made.text['f']}; }} }}"
        )
    source, made_to = tmp_path / "edges.cpp", tmp_path / "edges.so"
    source.write_text("\n".join(lines))
    subprocess.run([str(COMPILER), "-O1", "-shared", "-fPIC", "-o", made_to, source], check=True)
    library = ctypes.CDLL(str(made_to))
    for name, attrs in PLAIN_TEXT.items():
        out = np.empty_like(x)
        getattr(library, name)(*[ctypes.c_void_p(a.ctypes.data) for a in (g, x, out)], x.size)
        with np.errstate(all="ignore"):
            want = KERNELS[name].generic(np, g, x, **attrs)
        assert edges.difference([out], [want], 1e-6) is None, name


@pytest.mark.parametrize("value", [nan, inf, -inf])
@pytest.mark.parametrize("name", ["svd", "svdvals", "eigh", "eigvalsh", "eig", "pinv", "matrix_rank"])
def test_a_spectrum_of_infinity_is_refused_and_not_sought_for_ever(name: str, value: float) -> None:
    matrix = rl.eye(4)
    matrix[0, 1] = matrix[1, 0] = value
    with pytest.raises(RuntimeError, match=r"non-finite|infs or NaNs"):
        getattr(rl.linalg, name)(matrix)
