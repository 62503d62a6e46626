"""DeZero's loops traced: everything that can be seen of them is as without tracing, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl
from attacks_on_loops.dezero_loops import LOOPS
from traced import compare, run_traced


def _from_the_same_seed(program: Any) -> Any:
    np.random.seed(0)
    with np.errstate(all="ignore"):
        return program()


@pytest.mark.parametrize("name", sorted(LOOPS))
def test_loop(name: str) -> None:
    program, replays = LOOPS[name]
    before = rl.tracing(False)
    expected = _from_the_same_seed(program)
    rl.tracing(before)
    found, seen = run_traced(_from_the_same_seed, program)
    compare(expected, found, exact=True)
    assert seen.replayed >= replays, (seen.replayed, seen.fallbacks, [vars(p) for p in seen.places.values()])  # fmt: skip
