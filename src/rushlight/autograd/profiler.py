"""`torch.autograd.profiler`: the per-op profiler under its older name."""

from ..base.refusal import refuser
from ..profiler import EventList, FunctionEvent, FunctionEventAvg, profile, record_function

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "emit_nvtx", "load_nvprof", "profile", "record_function"]

_refuse = refuser("autograd.profiler", "writes no marks for NVIDIA's tools", "Use rushlight.profiler.profile.")
emit_nvtx = _refuse("emit_nvtx")
load_nvprof = _refuse("load_nvprof")
