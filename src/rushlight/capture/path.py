"""A path: a program that is trusted, and its runs; `compile` and hot loops both have them, and differ in what makes one run.

`compile`'s (`replay/replay.py`) has guards, and skips Python. A loop's (`loops/path.py`) is compared with what Python does,
kernel by kernel, and computes at a place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .program.instructions import Program


class Path:
    """A program, the inputs that it changes, and the results that it lends."""

    low: Any  # the program as code over memory of its own
    counted: Sequence[Any]  # what the host counts for a run, and takes back (`take_back`)

    def __init__(self, program: Program) -> None:
        self.program = program
        self.on_gpu = program.device != "cpu"
        self.runs = 0
        changed = {s.storage.number for ins in program.instructions for s in ins.writes}
        # Inputs that it changes: it has copies of them, which go back behind a run.
        self.written = [i for i, s in enumerate(program.arguments) if s.storage.number in changed]

    def lends(self, i: int) -> bool:
        """Whether result i is handed out over memory of the program's own, and it can be seen who holds it."""
        return not self.low.fresh[i] and self.low.owns(i)

    def run(self, low: Any, go: Callable[[], Any]) -> Any:
        """Run the program, or its first half; where that fails, what was counted for kernels that did not run is taken back."""
        low.ran.clear()
        try:
            return go()
        except BaseException:
            for work in self.counted:
                work.take_back(low.ran)
            raise
