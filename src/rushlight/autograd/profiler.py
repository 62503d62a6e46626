"""`torch.autograd.profiler`: the per-op profiler under its older name."""

from typing import Any

from .._names.refusal import refuser
from ..profiler import profile, record_function

__all__ = ["EventList", "emit_nvtx", "load_nvprof", "profile", "record_function"]

_refuse = refuser("autograd.profiler", "writes no marks for NVIDIA's tools", "Use rushlight.profiler.profile.")  # fmt: skip
emit_nvtx = _refuse("emit_nvtx")
load_nvprof = _refuse("load_nvprof")


class EventList(list):
    """A list of events that knows the device they were measured on.

    Example:
        >>> torch.autograd.profiler.EventList([1, 2])
        [1, 2]
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args)
        self._use_device = kwargs.get("use_device")
        self._profile_memory = kwargs.get("profile_memory", False)
