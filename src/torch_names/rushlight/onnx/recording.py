"""What a call of a model computes, as a program without writes in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..capture.program.functional import Functional, Unclear
from ..capture.program.slots import STATE
from ..capture.record.recorder import CannotCapture, Recorder, RecorderRule, at_once, strange_use
from ..core.memory import copy_as_it_lies
from ..core.values import HOST_READ
from ..operators.made_of.checks import CHECK
from ..runtime.devices import nothing_reused
from ..runtime.door import Kernel, listening
from .errors import OnnxExporterError, UnsupportedOperatorError


class RuleOfExports(RecorderRule):
    """A graph has no Python and draws no numbers; memory from outside is a constant, as it was before the call."""

    def __init__(self) -> None:
        self.depending: set[int] = set()  # storages that hold what depends on an input
        self.at = 0  # instructions that were looked at for that

    def meets(
        self, recorder: Recorder, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any]
    ) -> Callable[[Callable[[], Any]], Any] | None:
        if kernel is HOST_READ:
            self._read(recorder, arrays[0])
            return at_once
        if kernel is CHECK:  # refuses what eager calls refuse; nothing that a graph could hold
            return at_once
        if kernel.random:
            raise UnsupportedOperatorError(f"{kernel.name} draws random numbers: call model.eval(), or leave it out")
        stranger = strange_use(arrays)
        if stranger is not None:
            raise UnsupportedOperatorError(f"{kernel.name} {stranger}, which no ONNX graph holds")
        places = kernel.mutates(arrays, attrs) if callable(kernel.mutates) else kernel.mutates
        if places:
            inputs = recorder.inputs_of(arrays)
            for storage in [inputs[i].storage for i in places]:
                if storage.kind == STATE and storage.number not in recorder.first_values:
                    recorder.first_values[storage.number] = copy_as_it_lies(storage.array)
        return None

    def _read(self, recorder: Recorder, a: Any) -> None:
        self.depending.update([s.storage.number for s in recorder.arguments])
        for ins in recorder.instructions[self.at :]:
            if any(s.storage.number in self.depending for s in ins.reads):
                self.depending.update([s.storage.number for s in (*ins.outputs, *ins.writes)])
        self.at = len(recorder.instructions)
        if recorder.slot_of(a).storage.number in self.depending:
            raise OnnxExporterError(
                "the model reads a value that depends on its input (item(), numpy(), if, len of a mask); an "
                "ONNX graph has no Python: compute it with tensors, for example with where()"
            )


def record(
    function: Callable[[], Any], inputs: Sequence[Any], arrays_of: Callable[[Any], list[Any]]
) -> tuple[Functional, Any]:
    """Call `function` and hear what it computes of the arrays `inputs`; `arrays_of` finds those of its result."""
    recorder = Recorder(RuleOfExports(), inputs)
    try:
        with listening(recorder), nothing_reused():
            result = function()
        found = [recorder.slot_of(a) for a in arrays_of(result)]
        if recorder.why is not None:
            raise OnnxExporterError(recorder.why)
        return Functional(recorder.program(found), recorder.first_values), result
    except (CannotCapture, Unclear) as error:
        raise OnnxExporterError(str(error)) from error


def same_content(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal to the last bit, also NaNs."""
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
