"""`torch.distributed.pipelining`: a network cut into stages, each on its rank, and batches that run through them in pieces."""

from __future__ import annotations

from .chunks import TensorChunkSpec
from .cutting import Pipe, SplitPoint, build_stage, pipe_split, pipeline
from .schedules import (
    Schedule1F1B,
    ScheduleDualPipeV,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
    _ScheduleForwardOnly,
)
from .stages import PipelineStage

__all__ = [
    "Pipe", "PipelineStage", "Schedule1F1B", "ScheduleDualPipeV", "ScheduleGPipe", "ScheduleInterleaved1F1B",
    "ScheduleInterleavedZeroBubble", "ScheduleLoopedBFS", "ScheduleZBVZeroBubble", "SplitPoint",
    "TensorChunkSpec", "_ScheduleForwardOnly", "build_stage", "pipe_split", "pipeline",
]  # fmt: skip
