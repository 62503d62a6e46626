"""Replays that somebody looks at: a profile shows the program, its kernels, and how long they took."""

from __future__ import annotations

import time
from typing import Any

from ...runtime import devices
from ...runtime.thread import here


def looked_at(low: Any, name: str) -> Any:
    """A lowered program as it is, or where a profile is at work, one that tells it of each kernel."""
    watchers = [one for one in here.listeners if hasattr(one, "replayed")]
    return Shown(low, name, watchers) if watchers else low


class Shown:
    """A lowered program whose runs are timed; a CPU's kernel by kernel, a GPU's as a whole."""

    def __init__(self, low: Any, name: str, watchers: list[Any]) -> None:
        self.low, self.name, self.watchers = low.watched() if hasattr(low, "watched") else low, name, watchers  # fmt: skip
        self.left_traces, self.arguments = self.low.left_traces, self.low.arguments

    def run(self) -> Any:
        """All of it."""
        return self._timed(self.name, self.low.run)

    def forward(self) -> Any:
        """The first half of it."""
        return self._timed(self.name, self.low.forward)

    def backward(self, saved: tuple, gradients: list[Any]) -> Any:
        """The second half of it."""
        return self._timed(f"{self.name} backward", self.low.backward, saved, gradients)

    def _timed(self, name: str, call: Any, *given: Any) -> Any:
        ticks = getattr(self.low, "ticks", [])
        ticks.clear()
        begin = time.perf_counter()
        out = call(*given)
        first = next((a for a in _flat(out) if devices.is_array(a)), None)
        on_device = False
        if first is not None:
            backend = devices.backend_of_type(first.__class__)
            backend.synchronize(backend.device_of(first))
            on_device = backend.type == "cuda"
        took, last, parts = time.perf_counter() - begin, begin, []
        for at, now in ticks:
            parts.append((self.low.program.instructions[at], last, now - last))
            last = now
        for one in self.watchers:
            one.replayed(name, begin, took, parts, on_device)
        return out


def _flat(out: Any) -> list[Any]:
    """The arrays among what a half gives."""
    found: list[Any] = []
    for part in out:
        found.extend(part if isinstance(part, (tuple, list)) else [part])
    return found
