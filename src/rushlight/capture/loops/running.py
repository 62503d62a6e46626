"""How a path is computed: by its program, or step by step where the program does not fit."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np

from ...runtime.door import KERNELS, run
from .calls.macros import Macro
from .calls.updates import Update
from .ear import is_host
from .piece import native
from .pool import Pool
from .steps import BIND, GIVEN, KNOWN, VIEW, Step


class Running:
    """What a path does at the end of a stretch."""

    low: Any  # the lowered program
    events: list[Step | Macro]
    inputs: dict[int, int]
    pools: dict[int, Pool]
    views: dict[int, list[int]]
    results: dict[int, tuple[int, Any]]
    returned: set[int]
    launches: int

    # -- run as a program -----------------------------------------------------------------------

    def is_settled(self, now: list[Any]) -> bool:
        """Whether nobody holds what the program does not hand out."""
        if native is not None:
            return native.settled(now, self.hidden)
        for k, _, _, views in self.hidden:
            # A view refers to the memory's owner, which need not be the array that it was taken from.
            ours = 1 + sum([now[v].base is now[k] for v in views])
            if self.pools[k].is_held(now[k], ours):
                return False
            if any(getrefcount(now[v]) != _ONLY_NOW for v in views):
                return False
        return True

    def busy(self, now: list[Any]) -> list[Any]:
        """Arrays that the program fills and that somebody holds since an earlier run."""
        if native is not None:
            return native.busy(now, self.lent)
        found = []
        for k, arrays, _ in self.lent:
            if arrays[0] is not now[k] and self.pools[k].is_held(arrays[0], 0):
                found.append(arrays[0])
        return found

    def _note_pools(self) -> None:
        """What is looked at after each stretch: arrays that nobody may hold, and the program's own."""
        self.hidden = tuple([
            (k, p.arrays, p.free, tuple(self.views.get(k, ())))
            for k, p in self.pools.items() if k not in self.results
        ])  # fmt: skip
        pools = [(k, self.pools[k], array) for k, (_, array) in self.results.items()]
        self.lent = tuple([
            (k, p.arrays, p.free) for k, p, a in pools if a is not None and p.lent is a
        ])  # fmt: skip

    def launch(self, now: list[Any], bound: dict[int, Any]) -> None:
        """Run the program, and bring results to the arrays that were handed out."""
        low = self.low
        for v, a in bound.items():
            if not is_host(a):
                low.fill(low.arguments[self.inputs[v]], a)
        kept = [(a, a.copy()) for a in self.busy(now)]
        low.ran.clear()
        try:
            made = low.run()
        except BaseException:
            for e in self.events:
                if isinstance(e, Update):
                    e.take_back(low.ran)
            raise
        for k, (i, _) in self.results.items():
            if now[k] is not made[i]:
                copy(now[k], made[i])
        for array, old in kept:
            copy(array, old)
        for k in self.returned:
            copy(bound[k], low.arguments[self.inputs[k]])
        self.launches += 1

    # -- run one by one -------------------------------------------------------------------------

    def run_steps(self, upto: int, now: list[Any]) -> int:
        """Compute the first events as an eager program would, into the arrays that were handed out."""
        ran = 0
        copies = list(now)
        for k, i in self.inputs.items():  # with the values that they had when a kernel read them
            if now[k] is not None and is_host(now[k]) and k not in self.returned:
                copies[k] = self.low.arguments[i]
        for e in self.events[:upto]:
            for step in [e] if isinstance(e, Step) else e.steps:  # type: ignore[attr-defined]
                seen = [copies[v] is now[v] for kind, v in step.operands if kind in (KNOWN, BIND)]
                if step.how == VIEW and now[step.outs[0]] is not None and all(seen):
                    continue  # was made when it was asked for
                ran += 1
                arrays = [copies[v] if kind in (KNOWN, BIND) else v for kind, v in step.operands]
                out = run(step.kernel, step.cls, arrays, step.attrs, alone=True)
                if step.how == GIVEN:
                    continue
                for k, o in zip(step.outs, out if step.several else (out,)):
                    if isinstance(o, np.generic):
                        o = np.asarray(o)
                    if now[k] is None or step.how == VIEW:
                        copies[k] = o
                    else:
                        copy(now[k], o)
        return ran


def copy(target: Any, source: Any) -> None:
    """The values of an array into another."""
    run(KERNELS["copy_into"], target.__class__, (target, source), {}, alone=True)


def _only_now() -> int:
    now = [object()]
    return getrefcount(now[0])


_ONLY_NOW = _only_now()  # references to what only a list holds
