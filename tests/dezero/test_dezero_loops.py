"""DeZero's loops traced: everything that can be seen of them is as without tracing, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl
from attacks_on_loops.dezero_graphs import GRAPHS
from attacks_on_loops.dezero_loops import LOOPS
from traced import compare, run_traced


def _from_the_same_seed(program: Any) -> Any:
    np.random.seed(0)
    with np.errstate(all="ignore"):
        return program()


@pytest.mark.parametrize("name", sorted({**LOOPS, **GRAPHS}))
def test_loop(name: str) -> None:
    program, replays = {**LOOPS, **GRAPHS}[name]
    before = rl.tracing(False)
    expected = _from_the_same_seed(program)
    rl.tracing(before)
    found, seen = run_traced(_from_the_same_seed, program)
    compare(expected, found, exact=True)
    assert seen.replayed >= replays, (seen.replayed, seen.fallbacks, [vars(p) for p in seen.places.values()])


def test_a_backward_pass_is_one_comparison() -> None:
    program, _ = GRAPHS["nothing_late"]
    _, seen = run_traced(_from_the_same_seed, program)
    (row,) = seen.loops
    # three layers, a loss, the pass and the update; the kernels of the pass are four times as many
    assert row["events"] < row["kernels"] - 3, row
