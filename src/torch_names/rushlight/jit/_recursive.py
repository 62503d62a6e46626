"""`torch.jit._recursive`: how PyTorch's compiler walks modules; rushlight compiles none."""

from __future__ import annotations

from typing import Any

__all__ = ["infer_methods_to_compile", "wrap_cpp_module"]


def wrap_cpp_module(cpp_module: Any) -> Any:
    """The module itself."""
    return cpp_module


def infer_methods_to_compile(module: Any) -> list:
    """The methods that would be compiled: none."""
    return []
