"""When the garbage collector waits: what it finalises runs in the middle of anybody's statements, in any thread."""

from __future__ import annotations

import gc

from .locks import new_lock


class _Waiting:
    """The collector is off from the first `begin` to the last `end`, in whatever order and threads these come."""

    def __init__(self) -> None:
        self.lock = new_lock()
        self.count = 0
        self.collects = False

    def begin(self) -> None:
        with self.lock:
            self.count += 1
            if self.count == 1:
                self.collects = gc.isenabled()
                gc.disable()

    def end(self) -> None:
        with self.lock:
            self.count -= 1
            if not self.count and self.collects:
                gc.enable()


collector_waits = _Waiting()
