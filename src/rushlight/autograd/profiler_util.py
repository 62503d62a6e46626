"""`torch.autograd.profiler_util`: where PyTorch keeps the events of a profile."""

from ..profiler.events import EventList, FunctionEvent, FunctionEventAvg

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg"]
