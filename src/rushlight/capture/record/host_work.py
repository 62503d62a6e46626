"""What the host does before each replay of a program, and how it is taken back where the program failed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...runtime.door import ReplayHook


class HostWork:
    """The hooks of a recording: step counts that go up, numbers that are brought up to date."""

    __slots__ = ("hooks", "refreshes")

    def __init__(self, hooks: Iterable[ReplayHook]) -> None:
        self.hooks = list(hooks)
        self.refreshes = [h.refresh for h in self.hooks]

    def do(self) -> None:
        """All of it, or nothing."""
        done = 0
        try:
            for refresh in self.refreshes:
                refresh()
                done += 1
        except BaseException:
            _take_back(self.hooks[:done], ())
            raise

    def take_back(self, ran: Sequence[Any]) -> None:
        """The program failed: undo what belongs to kernels that did not run.

        `ran` are the arrays that kernels had read before it failed. A hook without arrays (the count of an
        optimiser's steps) goes with the one before it.
        """
        _take_back(self.hooks, ran)


def _take_back(hooks: Sequence[ReplayHook], ran: Sequence[Any]) -> None:
    read, undo, over = {id(a) for a in ran}, [], False
    for hook in hooks:
        if hook.arrays:
            over = any(id(a) in read for a in hook.arrays)
        if not over and hook.undo is not None:
            undo.append(hook.undo)
    for put_back in reversed(undo):
        put_back()
