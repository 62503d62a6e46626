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
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

_EVERY = 0.002  # seconds between two looks
_SHOWN = 10
_OURS = str(Path(__file__).resolve().parents[2]) + os.sep
_NOT_THE_USERS = tuple({os.path.join(p, "") for k, p in sysconfig.get_paths().items() if "lib" in k} | {_OURS, "<"})
Line = tuple[str, int]


class CostlyLines:
    """Seconds by line: a thread looks at the main one again and again, and notes where in the user's files it is.

    `of_gpu` are the seconds that GPUs worked for a line, where CUPTI tells them.
    """

    def __init__(self) -> None:
        self.seconds: dict[Line | None, float] = defaultdict(float)
        self.of_gpu: dict[Line | None, float] = defaultdict(float)
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
            self.seconds[line_of(sys._current_frames().get(self._watched))] += now - before
            before = now

    def worked(self, line: Line | None, seconds: float) -> None:
        """A GPU did something that a line asked for."""
        self.of_gpu[line] += seconds

    def table(self) -> str:
        """The costliest lines, the worst first: by the host's time, or the GPU's where that is more."""
        whole, of_gpu = sum(self.seconds.values()), sum(self.of_gpu.values())
        known = {line for line in (*self.seconds, *self.of_gpu) if line is not None}
        ranks = sorted(known, key=lambda line: -max(self.seconds[line], self.of_gpu[line]))
        head = f", {of_gpu:.2f} s of the GPU" if of_gpu else ""
        rows = [f"rushlight run: {whole:.2f} s{head}; the lines that took most of them"]
        for file, number in ranks[:_SHOWN]:
            where, text = f"{os.path.basename(file)}:{number}", linecache.getline(file, number)
            row = ""
            for seconds, sum_ in ((self.seconds, whole), (self.of_gpu, of_gpu)):
                if sum_:
                    row += f"{seconds[file, number]:9.3f} s {seconds[file, number] / sum_:6.1%}  "
            rows.append(f"{row}{where:<24} {text.strip()[:80]}")
        return "\n".join(rows)


def line_of(frame: FrameType | None) -> Line | None:
    """The innermost line of the user's that a frame is in."""
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_THE_USERS):
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


@contextmanager
def costly_lines() -> Iterator[None]:
    """Say at the end of the block which lines it spent its time in.

    A GPU works behind the script's back. CUPTI tells which line asked for what; where it is missing, launches are
    waited for, so that a kernel's time stands at its own line.
    """
    from rushlight.runtime.cuda.activity import Refused, lines_of_work

    found = CostlyLines()
    with ExitStack() as gpu:
        try:
            gpu.enter_context(lines_of_work(line_of, found.worked))
        except Refused:
            os.environ.setdefault("CUDA_LAUNCH_BLOCKING", "1")  # the driver reads it when it starts
        found.start()
        try:
            yield
        finally:
            found.stop()
            gpu.close()
            print(found.table(), file=sys.stderr)
