"""`torch.utils.dlpack`: tensors to and from other libraries without a copy."""

from __future__ import annotations

from ..operators.memory.interop import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
