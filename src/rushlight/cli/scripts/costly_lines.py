"""`rushlight run --profile`: the lines of the user's files that a script spends its time in."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_EVERY = 0.002  # seconds between two looks
_SHOWN = 10
_OURS = str(Path(__file__).resolve().parents[2]) + os.sep
_NOT_THE_USERS = tuple(
    {os.path.join(p, "") for k, p in sysconfig.get_paths().items() if "lib" in k} | {_OURS, "<"}
)
Line = tuple[str, int]


class CostlyLines:
    """Seconds by line: a thread looks at the main one again and again, and notes where in the user's files it is."""

    def __init__(self) -> None:
        self.seconds: dict[Line | None, float] = defaultdict(float)
        self._watched = threading.get_ident()
        self._over = False
        self._looks = threading.Thread(target=self._look, name="rushlight profile", daemon=True)

    def start(self) -> None:
        """Begin to look at the thread that made this."""
        self._looks.start()

    def stop(self) -> None:
        """Look no more."""
        self._over = True
        self._looks.join()

    def _look(self) -> None:
        before = time.perf_counter()
        while not self._over:
            time.sleep(_EVERY)
            now = time.perf_counter()
            self.note(sys._current_frames().get(self._watched), now - before)
            before = now

    def note(self, frame: FrameType | None, seconds: float) -> None:
        """Count seconds for the innermost line of the user's that a frame is in."""
        while frame is not None and frame.f_code.co_filename.startswith(_NOT_THE_USERS):
            frame = frame.f_back
        self.seconds[None if frame is None else (frame.f_code.co_filename, frame.f_lineno)] += seconds  # fmt: skip

    def table(self) -> str:
        """The costliest lines, the worst first."""
        whole = sum(self.seconds.values())
        lines = [f"rushlight run: {whole:.2f} s; the lines that took most of them"]
        known = [(line, s) for line, s in self.seconds.items() if line is not None]
        known.sort(key=lambda pair: -pair[1])
        for (file, number), seconds in known[:_SHOWN]:
            where, text = f"{os.path.basename(file)}:{number}", linecache.getline(file, number)
            lines.append(f"{seconds:9.3f} s {seconds / whole:6.1%}  {where:<24} {text.strip()[:80]}")  # fmt: skip
        return "\n".join(lines)


@contextmanager
def costly_lines() -> Iterator[None]:
    """Say at the end of the block which lines it spent its time in.

    A GPU works behind the script's back: launches are waited for, so that a kernel's time stands at its own line.
    """
    os.environ.setdefault("CUDA_LAUNCH_BLOCKING", "1")  # the driver reads it when it starts
    found = CostlyLines()
    found.start()
    try:
        yield
    finally:
        found.stop()
        print(found.table(), file=sys.stderr)
