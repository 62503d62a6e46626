"""Random scripts, eager beside traced, compiled and PyTorch; tools/fuzz.py runs as many as one likes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import fuzz  # noqa: E402
import fuzz_words  # noqa: E402

from traced import as_if_alone  # noqa: E402

BLOCK = 6


@pytest.fixture(autouse=True)
def alone():
    """Threads of the test runner do not keep kernels from waiting."""
    with as_if_alone():
        yield


def assert_same(script: str, name: str) -> None:
    pytest.importorskip("torch")
    found = fuzz.check(script)
    assert found is None, f"python tools/fuzz.py {name}\n{found}\n{script}"


@pytest.mark.parametrize("first", range(0, 20 * BLOCK, BLOCK))
def test_random_scripts(first: int) -> None:
    before = fuzz.REPLAYED[0]
    for seed in range(first, first + BLOCK):
        assert_same(fuzz_words.script(seed), f"--seed {seed}")
    assert fuzz.REPLAYED[0] > before  # otherwise nothing was compared


@pytest.mark.parametrize("path", sorted(fuzz.ONCE.glob("*.txt")), ids=lambda path: path.stem)
def test_scripts_that_once_differed(path: Path) -> None:
    assert_same(path.read_text(), f"--script {path.name}")


def test_a_difference_is_found_and_made_smaller() -> None:
    """A side that forgets a number differs, and what is left of the script is what shows it."""
    script = """w = World()
def step(x, y):
    t2 = x + 1
    t3 = t2 * w.scale
    return t3.tanh(), y
step = compiled(step)
for i in range(8):
    if i == 4:
        w.scale *= 1.5
    if i == 5:
        w.n += 1
    r = step(batch(i, 3, 4), batch(i, 3, 4))
    show(r[0])
"""

    def stale(fn: Any) -> Any:
        results: list[Any] = []

        def call(x: Any, y: Any) -> Any:
            results.append(fn(x, y))
            return results[min(len(results), 5) - 1]

        return call

    side, why = fuzz.check(script, wraps={"compiled": stale}) or ("", "")
    assert side == "compiled" and "values" in why
    small = fuzz.smaller(script, {"compiled": stale})
    assert "w.n" not in small and "tanh" not in small and len(small.split("\n")) < 12
