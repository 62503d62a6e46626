"""Random programs that once differed, eager beside traced and compiled."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import fuzz_compile  # noqa: E402
import fuzz_loops  # noqa: E402


@pytest.mark.parametrize("seed", [30706, 240214])
def test_loops_that_differed(seed: int) -> None:
    case = fuzz_loops.Case(seed)
    assert fuzz_loops.check(case) is None, f"python tools/fuzz_loops.py --seed {seed}\n{case}"


def test_loops_with_more_words() -> None:
    """Views of views, classes, tags and weights as arguments: tools/fuzz_more.py."""
    for seed in range(5_000_000, 5_000_015):
        case = fuzz_loops.Case(seed)
        assert fuzz_loops.check(case) is None, f"python tools/fuzz_loops.py --seed {seed}\n{case}"


@pytest.mark.parametrize("seed", [10150, 30357, 50037])
def test_programs_that_differed(seed: int) -> None:
    case = fuzz_compile.Case(seed)
    assert fuzz_compile.check(case) is None, f"python tools/fuzz_compile.py --seed {seed}\n{case}"
