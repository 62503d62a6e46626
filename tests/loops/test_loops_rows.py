"""Every row of the op table in a loop that is traced, its operands still waiting: what it answers is what eager answers.

    python tests/loops/test_loops_rows.py       all rows, forward and backward; the suite takes every eighth

A function that reads memory past the door, where the comparison stands, would see values that were not computed yet:
operands have other values in each iteration, so that those of the last one do not pass for them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from optable import Row, all_rows, call, flat
from rushlight.core.tensor import wrap
from rushlight.operators import load_all
from traced import both

load_all()

ROWS = [r for r in all_rows() if "empty" not in r.name]  # whose values nobody knows
N = 9


def _waiting(a: np.ndarray, i: int) -> Any:
    """A tensor that kernels of the stretch make, with values of iteration `i`."""
    if a.dtype.kind in "fc":
        return wrap(np.array(a * (1 - 0.03 * (i % 3)), a.dtype)) + 0
    turned = np.flip(a, 0) if i % 2 and a.ndim else a
    made = wrap(np.array(turned, np.float64)) + 0
    return made > 0.5 if a.dtype.kind == "b" else made.to(wrap(np.array(a)).dtype)


def _backward(outs: list[Any], ins: list[Any]) -> list[Any]:
    live = [o for o in outs if isinstance(o, rl.Tensor) and o.requires_grad]
    if live:
        sum([(o.real if o.is_complex() else o).sum() * 1.5 for o in live]).backward()
    return [t.grad for t in ins if t.is_leaf and t.grad is not None]


def program(row: Row, grad: bool) -> list[Any]:
    """A loop around a row; errors are answers, too."""
    told: list[Any] = []
    arrays, specs = row.arrays("float32"), row.specs()
    for i in range(N):
        try:
            ins = [_waiting(a, i) for a in arrays]
            if grad:
                wanted = [s.grad and t.is_floating_point() for s, t in zip(specs, ins)]
                ins = [t.detach().requires_grad_() if w else t for t, w in zip(ins, wanted)]
            outs = flat(call(rl, row, ins))
            told.append([o.detach().clone() if isinstance(o, rl.Tensor) else o for o in outs])
            if grad:
                told.append(_backward(outs, ins))
        except Exception as error:  # noqa: BLE001 - eager raises the same
            told.append(f"{type(error).__name__}: {str(error)[:80]}")
        told.append(((wrap(np.ones(3, np.float32)) + i) * 2).tanh().sum().item())
    return told


def check(row: Row) -> int:
    """How many stretches of a row's loops were replayed; raises where one differs."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        sides = (False, True) if row.grad else (False,)
        return sum([both(program, row, grad, replays=0).replayed for grad in sides])


@pytest.mark.parametrize("part", range(8))
def test_rows_in_a_loop(part: int) -> None:
    replayed = 0
    for row in ROWS[8 * part + 3 :: 64]:
        try:
            replayed += check(row) > 0
        except AssertionError as error:
            raise AssertionError(f"{row}: {error}") from error
    assert replayed > 10


if __name__ == "__main__":
    bad = 0
    for row in ROWS:
        try:
            check(row)
        except AssertionError as error:
            bad += 1
            print(row, str(error)[:300], flush=True)
    print(f"{len(ROWS)} rows, {bad} differ")
