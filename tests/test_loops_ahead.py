"""The beginning of a traced loop's program runs before Python has come to its end, and nobody can tell."""

from __future__ import annotations

import pytest

import rushlight as rl
from cuda_on_host import needs_compiler, runs_on_the_emulated_gpu

KINDS = (
    "nothing", "another_way", "two_ways", "look_at_means", "use_means", "count_batches", "seed_again", "draw_between",
    "state_of_draws", "give_up", "write_weights", "other_thread", "keep_it", "forget_means",
)  # fmt: skip


@needs_compiler
def test_programs_started_ahead_on_the_emulated_gpu() -> None:
    runs_on_the_emulated_gpu("emulated_ahead.py")


@pytest.mark.skipif(not rl.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("kind", KINDS)
def test_programs_started_ahead_on_cuda(kind: str) -> None:
    from emulated_ahead import check

    check(kind)
