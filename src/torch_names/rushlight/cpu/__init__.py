"""`torch.cpu`: the CPU, asked as one asks a GPU."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from functools import cache
from types import MappingProxyType
from typing import Any

__all__ = [
    "Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count", "get_capabilities", "is_available",
    "is_initialized", "set_device", "stream", "synchronize",
]  # fmt: skip


class Stream:
    """The only order of work there is on the CPU: one call after the other."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for: every call is finished when it returns."""


class Event:
    """A point in the only order of work there is: always reached."""

    def query(self) -> bool:
        """Every call is finished when it returns."""
        return True

    def record(self, stream: Any = None) -> None:
        """Nothing to note."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def wait(self, stream: Any = None) -> None:
        """Nothing to wait for."""


class StreamContext(nullcontext):
    """A block in the only stream."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self.stream = stream


_only = Stream()
# Instructions as `get_capabilities` names them; Linux writes them without underscores, and some by another name.
_INSTRUCTIONS = """aes amx_bf16 amx_fp16 amx_int8 amx_tile avx avx2 avx512_4fmaps avx512_4vnniw avx512_bf16 avx512_bitalg avx512_bw avx512_cd
avx512_dq avx512_f avx512_fp16 avx512_ifma avx512_vbmi avx512_vbmi2 avx512_vl avx512_vnni avx512_vp2intersect avx512_vpopcntdq avx_vnni bmi
bmi2 clflush clflushopt clwb f16c fma3 fma4 lzcnt popcnt sha sse sse2 sse3 sse4_1 sse4_2 sse4a ssse3"""
_ON_LINUX = {"bmi": "bmi1", "fma3": "fma", "lzcnt": "abm", "sha": "shani", "sse3": "pni"}


@cache
def get_capabilities() -> Mapping[str, Any]:
    """By name, whether this processor has an instruction set, as far as Linux tells; and its `architecture`."""
    told: dict[str, Any] = {"architecture": platform.machine()}
    with suppress(OSError), open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        flags = next((line for line in file if line.startswith("flags")), "").replace("_", "").split()
        told |= {k: _ON_LINUX.get(k, k.replace("_", "")) in flags for k in _INSTRUCTIONS.split()}
    return MappingProxyType(told)


def is_available() -> bool:
    """There always is a CPU."""
    return True


def is_initialized() -> bool:
    """Nothing has to be initialised."""
    return True


def device_count() -> int:
    """The CPU counts as one device."""
    return 1


def current_device() -> str:
    """`cpu`."""
    return "cpu"


def set_device(device: Any) -> None:
    """The CPU is the CPU's only device."""


def synchronize(device: Any = None) -> None:
    """Every call is finished when it returns."""


def current_stream(device: Any = None) -> Stream:
    """The only stream."""
    return _only


def stream(stream: Any) -> Any:
    """A block in the only stream."""
    return StreamContext(stream)


def __getattr__(name: str) -> Any:
    """Looked up late: `rushlight.amp` is loaded only by those who use it."""
    if name == "amp":
        from importlib import import_module

        return import_module(f"{__name__}.amp")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
