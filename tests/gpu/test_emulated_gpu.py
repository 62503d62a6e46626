"""Whole training steps through the CUDA backend, with its kernels compiled for the host."""

from __future__ import annotations

from cuda_on_host import needs_compiler, runs_on_the_emulated_gpu


@needs_compiler
def test_a_step_on_the_emulated_gpu_equals_the_cpus() -> None:
    runs_on_the_emulated_gpu("emulated_step.py")


@needs_compiler
def test_optimisers_and_lists_on_the_emulated_gpu_equal_the_cpus() -> None:
    runs_on_the_emulated_gpu("emulated_optim.py")


@needs_compiler
def test_dropout_on_the_emulated_gpu_draws_the_same_again() -> None:
    runs_on_the_emulated_gpu("emulated_dropout.py")


@needs_compiler
def test_layers_on_the_emulated_gpu_equal_the_cpus() -> None:
    """Attention by products (masks, groups of heads, dropout drawn again on the way back), addmm, group norm."""
    runs_on_the_emulated_gpu("emulated_layers.py")


@needs_compiler
def test_attention_by_one_kernel_equals_products() -> None:
    """Exact products and those of tensor cores: tiles, groups of heads, causal, bias, and dropout that draws the same."""
    runs_on_the_emulated_gpu("emulated_flash.py")


@needs_compiler
def test_linear_layers_over_any_dims_equal_the_cpus() -> None:
    """How cuBLASLt is told where operands lie: steps between rows, copies of what it cannot read, bias and its sums."""
    runs_on_the_emulated_gpu("emulated_linear.py")


@needs_compiler
def test_arrays_that_begin_anywhere_are_read_and_written_as_they_lie() -> None:
    """A window of something need not begin at a multiple of 16 bytes; a kernel that assumes it loses the GPU."""
    runs_on_the_emulated_gpu("emulated_unaligned.py")
