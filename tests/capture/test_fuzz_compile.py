"""Random programs, eager beside compiled and traced; tools/fuzz_compile.py runs as many as one likes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import fuzz_compile  # noqa: E402

from traced import as_if_alone  # noqa: E402

BLOCK = 20


@pytest.fixture(autouse=True)
def alone():
    """Threads of the test runner do not keep kernels from waiting."""
    with as_if_alone():
        yield


@pytest.mark.parametrize("first", range(0, 300, BLOCK))
def test_random_programs(first):
    for seed in range(first, first + BLOCK):
        case = fuzz_compile.Case(seed)
        assert fuzz_compile.check(case) is None, (
            f"python tools/fuzz_compile.py --seed {seed}\n{case}"
        )


def test_random_programs_with_more_words():
    """Hooks with state, aliases, classes, callers that write into results: tools/fuzz_more.py."""
    for seed in range(5_000_000, 5_000_000 + BLOCK):
        case = fuzz_compile.Case(seed)
        why = fuzz_compile.check(case, {"compiled": fuzz_compile.torch.compile})
        assert why is None, f"python tools/fuzz_compile.py --seed {seed}\n{case}"


@pytest.mark.parametrize("seed", [710704])  # words of errors: which node would fail first
def test_programs_that_once_differed(seed):
    case = fuzz_compile.Case(seed)
    assert fuzz_compile.check(case) is None, f"python tools/fuzz_compile.py --seed {seed}\n{case}"


def test_a_difference_is_found_and_made_smaller():
    """A side that forgets a number differs, and what is left of the program is what shows it."""
    case = fuzz_compile.Case(0)
    case.lines, case.made = ["t2 = x + 1", "t3 = t2 * w.scale", "t4 = t3.tanh()"], 5
    case.changes = [(4, "w.scale *= 1.5"), (5, "w.n += 1")]

    def stale(fn):
        results = []

        def call(x, y):
            results.append(fn(x, y))
            return results[min(len(results), 3) - 1]

        return call

    assert fuzz_compile.check(case, {"stale": stale}) is not None
    assert len(fuzz_compile.smaller(case, {"stale": stale}).lines) == 1
