"""Chains and row groups of the CPU's engine have the bits of its single kernels: traced loops are eager to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.capture.joined.fused import FUSED, Step
from rushlight.capture.joined.row_group import ROW_GROUP
from rushlight.runtime.cpu import fused
from rushlight.runtime.cpu.joins import is_native
from rushlight.runtime.cpu.rows import packed_rows
from rushlight.runtime.door import KERNELS, run
from traced import both

pytestmark = pytest.mark.skipif(not is_native("fused"), reason="the engine was not built")

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1.0, -1.0]


def _numbers(n: int, seed: int) -> np.ndarray:
    """Bits of all kinds, beside numbers of everyday."""
    r = np.random.default_rng(seed)
    bits = r.integers(0, 2**32, n, dtype=np.uint32).view(np.float32)
    found = np.where(r.random(n) < 0.5, bits, r.standard_normal(n) * 10).astype(np.float32)
    found[: len(SPECIAL)] = SPECIAL[:n]
    return found


def _alone(name: str, arrays: Sequence[Any], attrs: dict[str, Any]) -> np.ndarray:
    return np.asarray(run(KERNELS[name], np.ndarray, arrays, attrs, alone=True))


def _same_bits(a: np.ndarray, b: np.ndarray, what: str) -> None:
    assert a.shape == b.shape and a.dtype == b.dtype == np.float32, what
    x, y = a.reshape(-1).view(np.uint32), b.reshape(-1).view(np.uint32)
    assert ((x == y) | (np.isnan(a) & np.isnan(b)).reshape(-1)).all(), what


def _steps() -> list[tuple[str, list[tuple[str, Any]], dict[str, Any]]]:
    found: list[tuple[str, list[tuple[str, Any]], dict[str, Any]]] = []
    for power in fused._POWERS:
        found.append(("pow", [("in", 0), ("number", float(power))], {}))
    for name in fused.CODES:
        if "number" in name or name == "cube":
            continue
        kernel, _, option = name.partition(" ")
        two = len(KERNELS[kernel].facts.point.inputs) == 2
        found.append((kernel, [("in", 0), ("in", 1)][: 1 + two], {"approximate": option} if option else {}))
        for number in (0.1, 3, -2.5, 0.0):
            if f"{name} number" in fused.CODES and name not in fused.ORDERED:
                found.append((name, [("in", 0), ("number", number)], {}))
                found.append((name, [("number", number), ("in", 0)], {}))
    return found


@pytest.mark.parametrize("n", [9, 17, 513, 4099])
def test_steps_of_chains_are_the_kernels_themselves(n: int) -> None:
    x, y = _numbers(n, 0), _numbers(n, 1)[::-1].copy()
    with np.errstate(all="ignore"):
        for kernel, operands, attrs in _steps():
            arrays = [x, y][: sum(kind == "in" for kind, _ in operands)]
            step = Step(kernel, tuple(operands), tuple(sorted(attrs.items())))
            given = [arrays[v] if kind == "in" else v for kind, v in operands]
            expected = _alone(kernel, given, attrs)
            options = {"steps": (step,), "dtype": "float32", "code": fused.pack([step])}
            found = np.asarray(run(FUSED, np.ndarray, arrays, options, alone=True))
            _same_bits(expected, found, f"{kernel} {operands} {attrs}")
            # a number's value does not depend on where it lies
            moved = [g[3:] if isinstance(g, np.ndarray) else g for g in given]
            _same_bits(expected[3:], _alone(kernel, moved, attrs), f"{kernel}, moved")


@pytest.mark.parametrize("order", [(1, 0), (2, 0, 1), (1, 2, 0), (0, 2, 3, 1), (3, 0, 2, 1)], ids=str)
def test_chains_of_any_order_of_memory(order: tuple[int, ...]) -> None:
    """Not only in C order, or with channels last: a kernel takes them, so the chain does."""
    shape = (5, 7, 3, 4)[: len(order)]
    back = np.argsort(order)
    x, y = (_numbers(int(np.prod(shape)), i).reshape(shape).transpose(back) for i in range(2))
    assert not x.flags.c_contiguous
    with np.errstate(all="ignore"):
        for kernel, operands, attrs in _steps():
            arrays = [x, y][: sum(kind == "in" for kind, _ in operands)]
            step = Step(kernel, tuple(operands), tuple(sorted(attrs.items())))
            given = [arrays[v] if kind == "in" else v for kind, v in operands]
            expected = _alone(kernel, given, attrs)
            if expected.strides != x.strides:
                continue  # one whose result is always in C order is no part of such a chain
            options = {"steps": (step,), "dtype": "float32", "code": fused.pack([step])}
            found = run(FUSED, np.ndarray, arrays, options, alone=True)
            assert found.strides == x.strides
            _same_bits(np.ascontiguousarray(expected), np.ascontiguousarray(found), kernel)


@pytest.mark.parametrize("threads", [1, 2])
def test_steps_of_row_groups_are_the_kernels_themselves(threads: int) -> None:
    before = rl.get_num_threads()
    rl.set_num_threads(threads)
    try:
        for rows in (1, 2, 7, 64, 700):
            for columns in (4, 5, 16, 17, 33, 100, 257, 1024):
                _rows(rows, columns)
    finally:
        rl.set_num_threads(before)


def _rows(rows: int, columns: int) -> None:
    r = np.random.default_rng(rows * columns)
    x = (r.standard_normal((rows, columns)) * 5).astype(np.float32)
    x[r.random(x.shape) < 0.1] = r.choice(SPECIAL[:5] if columns % 2 else SPECIAL[:2])
    g = r.standard_normal(x.shape).astype(np.float32)
    over: dict[str, Any] = {"dim": (1,), "keepdim": True}
    found = [(n, [x], over, "r") for n in ("sum", "mean", "amax", "amin", "logsumexp")]
    found.append(("sum_to_size", [x], {"shape": (rows, 1)}, "r"))
    with np.errstate(all="ignore"):
        for name in ("softmax", "log_softmax"):
            found.append((name, [x], {"dim": 1}, "f"))
            found.append((f"{name}_grad", [g, _alone(name, [x], {"dim": 1})], {"dim": 1}, "f"))
        for name, arrays, attrs, made in found:
            expected = _alone(name, arrays, attrs)
            operands = tuple([("in", i) for i in range(len(arrays))])
            options: dict[str, Any] = {
                "steps": (Step(name, operands, tuple(sorted(attrs.items()))),), "made": made,
                "kinds": "f" * len(arrays), "dtypes": ("float32",), "outs": (0,),
                "shapes": (expected.shape,), "turns": ((1, 1),) * len(arrays), "columns": columns,
            }  # fmt: skip
            options["code"] = packed_rows(options)
            (made_there,) = run(ROW_GROUP, np.ndarray, arrays, options, alone=True)
            _same_bits(expected, np.asarray(made_there), f"{name} of {rows} x {columns}")


def _random_program(seed: int) -> Any:
    """Pointwise steps, reductions along rows and their derivatives, with a read in every turn."""
    r = np.random.default_rng(seed)
    rows, columns = int(r.integers(1, 40)), int(r.choice([4, 7, 16, 33, 130]))
    w = rl.tensor(r.standard_normal((rows, columns)).astype("f4"), requires_grad=True)
    b = rl.tensor(r.standard_normal(columns).astype("f4"), requires_grad=True)
    plan = r.integers(0, 16, 8)
    log: list[Any] = []
    for turn in range(7):
        x = rl.full((rows, columns), 0.1 * turn) + w
        for k in plan:
            x = [
                lambda t: t * 1.5 + b, lambda t: t.tanh(), lambda t: rl.sigmoid(t) * t,
                lambda t: t - t.mean(-1, keepdim=True), lambda t: t.softmax(-1) * columns,
                lambda t: t / (t.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt(), lambda t: t.relu() - 0.1,
                lambda t: t - t.logsumexp(-1, keepdim=True), lambda t: rl.maximum(t, b * 0),
                lambda t: 1 - t.exp().clamp(max=5.0), lambda t: rl.nn.functional.gelu(t),
                lambda t: t.abs().log1p(), lambda t: t - t.amax(-1, keepdim=True).detach(),
                lambda t: rl.minimum(t, w), lambda t: -t * rl.rsqrt(t * t + 1),
                lambda t: rl.nn.functional.silu(t),
            ][k](x)  # fmt: skip
        loss = (x * x + b * 0.1).mean()
        w.grad = b.grad = None
        loss.backward()
        log += [loss.item(), x.detach().clone(), w.grad.clone(), b.grad.clone()]
    return log


def test_loops_over_transposed_batches_keep_every_bit() -> None:
    def program() -> Any:
        w, log = rl.ones(5, 3, requires_grad=True), []
        for x in [rl.linspace(-3, 3, 15).view(3, 5) + 0.1 * i for i in range(9)]:
            h = (x.t() * 2.5).tanh() * 1.7
            loss = ((h.exp() - 1).sigmoid() * w).sum()
            loss.backward()
            log += [loss.item(), h.detach().clone()]
        return log, w.grad

    both(program, exact=True)


@pytest.mark.parametrize("seed", range(12))
def test_programs_of_them_keep_every_bit(seed: int) -> None:
    seen = both(_random_program, seed, exact=True)
    assert any(row["instructions"] < row["kernels"] for row in seen.loops)
