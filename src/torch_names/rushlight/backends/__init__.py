"""`torch.backends`: switches of the libraries below, and whether they are here."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from . import (  # type: ignore[attr-defined]
    cpu,
    cuda,
    cudnn,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
)

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum"]

fp32_precision = "none"  # each library's own switch decides


@contextmanager
def __allow_nonbracketed_mutation() -> Any:
    """A block in which switches may be set for good: here they always may."""
    yield
