"""`torch.utils._triton`: whether Triton is there for PyTorch's compiler: rushlight does not use it."""

from __future__ import annotations

__all__ = ["has_triton", "has_triton_package"]


def has_triton() -> bool:
    """Never: rushlight generates CUDA, not Triton."""
    return False


has_triton_package = has_triton
