"""The beginning of a traced loop's program runs before Python has come to its end, and nobody can tell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rushlight as rl

KINDS = (
    "nothing", "another_way", "two_ways", "look_at_means", "use_means", "count_batches", "seed_again", "draw_between",
    "state_of_draws", "give_up", "write_earlier_weights", "other_thread", "keep", "forget_means",
)  # fmt: skip


@pytest.mark.skipif(not rl.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("kind", KINDS)
def test_programs_started_ahead_on_cuda(kind: str) -> None:
    from emulated_ahead import check

    check(kind)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_another_thread_begins_with_cpu_programs() -> None:
    """In a process of its own: loops are not traced beside the threads of a test runner."""
    pytest.importorskip("rushlight.runtime.cpu._native", reason="the native engine was not built")
    script = Path(__file__).with_name("host_ahead.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", str(script)],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip().endswith("equal")


# -- `.item()` of a traced loop waits for its own value, not for what the GPU does behind it


READS = ("plain", "twice", "written", "written_between", "now_and_then", "by_a_view", "other", "listed")


@pytest.mark.skipif(not rl.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("kind", READS)
def test_early_values_on_cuda(kind: str) -> None:
    from emulated_early import check

    check(kind)
