"""Order, CTC loss and resized axes through the CUDA backend, with its kernels compiled for the host."""

from __future__ import annotations

from cuda_on_host import needs_compiler, runs_on_the_emulated_gpu


@needs_compiler
def test_order_on_the_emulated_gpu_equals_the_cpus() -> None:
    """All dtypes, NaN, equal elements, any dim, rows of one block and of several."""
    runs_on_the_emulated_gpu("emulated_sorting.py")


@needs_compiler
def test_ctc_on_the_emulated_gpu_equals_the_cpus() -> None:
    """Lengths of all kinds, repeated labels, targets that are too long, several states for a thread."""
    runs_on_the_emulated_gpu("emulated_ctc.py")


@needs_compiler
def test_resized_axes_on_the_emulated_gpu_equal_the_cpus() -> None:
    """Every kind of table and its transposed one, one axis and two at once, channels last, any alignment."""
    runs_on_the_emulated_gpu("emulated_resample.py")


@needs_compiler
def test_they_are_parts_of_one_program_on_the_emulated_gpu() -> None:
    """Nothing is sent and nothing is asked while a graph is captured; maxima at places need no order."""
    runs_on_the_emulated_gpu("emulated_one_program.py")
