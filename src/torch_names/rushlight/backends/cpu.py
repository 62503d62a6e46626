"""`torch.backends.cpu`: what the processor can do."""

from __future__ import annotations

from ..runtime.cpu.engine import capability as get_cpu_capability
from ..runtime.cpu.engine import engine_info

__all__ = ["engine_info", "get_cpu_capability"]
