"""`torch.backends`: switches of the libraries below, and whether they are here."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from ..base.config import settings
from . import cpu, cuda, cudnn, mkl, mkldnn, mps, nnpack, openmp, opt_einsum, quantized  # type: ignore[attr-defined]

__all__ = [
    "cpu", "cuda", "cudnn", "disable_global_flags", "flags_frozen", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum",
    "quantized",
]  # fmt: skip

fp32_precision = "none"  # each library's own switch decides


def disable_global_flags() -> None:
    """From here on a switch is set by a `flags()` block alone; setting it as an attribute raises."""
    settings.flags_frozen = True


def flags_frozen() -> bool:
    """Whether `disable_global_flags` was called."""
    return settings.flags_frozen


@contextmanager
def __allow_nonbracketed_mutation() -> Any:
    """A block in which switches may be set as attributes."""
    before, settings.flags_frozen = settings.flags_frozen, False
    try:
        yield
    finally:
        settings.flags_frozen = before
