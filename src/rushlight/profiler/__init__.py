"""`torch.profiler`: which operators a program runs, how often and how long."""

from .events import EventList, FunctionEvent, FunctionEventAvg
from .profiler import (
    ProfilerAction,
    ProfilerActivity,
    kineto_available,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)
from .supported import supported_activities

__all__ = [
    "supported_activities",
    "EventList", "FunctionEvent", "FunctionEventAvg", "ProfilerAction", "ProfilerActivity", "kineto_available", "profile",
    "record_function", "schedule", "tensorboard_trace_handler",
]  # fmt: skip
