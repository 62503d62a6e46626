"""The cursor: compares each kernel with the next step of a path, and hands out arrays instead of computing.

`core/native/match.c` is the same in C, and is used where it was built.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...runtime.door import Kernel, run
from ..record.recorder import same
from .path import FIXED, FRESH, KNOWN, VALUE, VIEW, Path, Step


class Cursor:
    """Where a thread is on a path; called in place of the door."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.path: Path | None = None
        self.at = 0
        self.now: list[Any] = []  # arrays by number

    def start(self, path: Path | None) -> None:
        """Stand at the beginning of a path, or nowhere."""
        self.path = path
        self.at = 0
        self.now = [] if path is None else [None] * len(path.layouts)

    def change(self, path: Path) -> None:
        """Go on, on a path that began in the same way."""
        self.path = path
        self.now += [None] * (len(path.layouts) - len(self.now))

    def __call__(
        self, kernel: Kernel, cls: type, arrays: Sequence[Any], attrs: dict[str, Any] | None
    ) -> Any:
        path = self.path
        if path is not None and self.at < len(path.events):
            e = path.events[self.at]
            if e.__class__ is Step and self.fits(e, kernel, arrays, attrs or {}):
                return self.hand_out(e, cls, arrays)
        return self.owner.differs(kernel, cls, arrays, attrs or {})

    def fits(self, e: Any, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any]) -> bool:
        """Whether a call is the one that a step expects."""
        if e.kernel is not kernel or len(arrays) != len(e.operands):
            return False
        if self.owner.shown and not self.owner.unchanged():
            return False
        if not same(attrs, e.attrs):
            return False
        now = self.now
        for (kind, v), a in zip(e.operands, arrays):
            if kind == KNOWN:
                if a is not now[v]:
                    return False
            elif kind == FIXED:
                if a is not v:
                    return False
            elif kind == VALUE:
                if a is not v and not same(a, v):
                    return False
            elif now[v] is not a and (now[v] is not None or not self.owner.bind(v, a)):
                return False
        return e.look is None or e.look[1](arrays, attrs)

    def hand_out(self, e: Any, cls: type, arrays: Sequence[Any]) -> Any:
        """Arrays for the results of a step that is yet to run."""
        path, now = self.path, self.now
        assert path is not None
        if e.how == FRESH:
            outs = [path.pools[k].take() for k in e.outs]
        elif e.how == VIEW:
            made = run(e.kernel, cls, arrays, e.attrs, alone=True)
            outs = list(made) if e.several else [made]
        else:
            self.at += 1
            outs = [arrays[k] for k in e.outs]
            return tuple(outs) if e.several else outs[0]
        for k, o in zip(e.outs, outs):
            now[k] = o
        self.at += 1
        return tuple(outs) if e.several else outs[0]
