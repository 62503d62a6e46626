"""Loops and traced functions through the CUDA backend, with its kernels compiled for the host."""

from __future__ import annotations

from cuda_on_host import needs_compiler, runs_on_the_emulated_gpu


@needs_compiler
def test_batches_arrive_where_arrays_stand_ready() -> None:
    """Kept, changed, of other kinds; and backward passes that are not the usual one."""
    runs_on_the_emulated_gpu("emulated_arrivals.py")


@needs_compiler
def test_what_loops_keep_and_update_on_the_emulated_gpu() -> None:
    """Kept views keep their values; states that lie in another way than their parameters are brought up to date."""
    runs_on_the_emulated_gpu("emulated_loops.py")
