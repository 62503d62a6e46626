"""Capture: record a training step by running it, replay it without Python."""

from __future__ import annotations

from .compiled import Compiled, compile
from .program.instructions import Instruction, Program
from .program.slots import Slot, Storage
from .record.recorder import CannotCapture, is_recording

__all__ = ["CannotCapture", "Compiled", "Instruction", "Program", "Slot", "Storage", "compile", "is_recording"]
