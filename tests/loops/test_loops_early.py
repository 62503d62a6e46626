"""`.item()` of a traced loop waits for its own value, not for what the GPU does behind it."""

from __future__ import annotations

import pytest

import rushlight as rl
from cuda_on_host import needs_compiler, runs_on_the_emulated_gpu

KINDS = (
    "plain", "twice", "written", "written_between", "now_and_then", "by_a_view", "other", "listed"
)  # fmt: skip


@needs_compiler
def test_early_values_on_the_emulated_gpu() -> None:
    runs_on_the_emulated_gpu("emulated_early.py")


@pytest.mark.skipif(not rl.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("kind", KINDS)
def test_early_values_on_cuda(kind: str) -> None:
    from emulated_early import check

    check(kind)
