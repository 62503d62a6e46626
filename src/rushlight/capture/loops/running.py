"""The steps of a path, and how they are computed: by its program, or one by one where the program does not fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...core.memory import data_pointer, root_array
from ...runtime.door import KERNELS, Kernel, run
from ..owners import only_listed
from ..program.instructions import Program
from ..program.slots import Slot
from .ahead import Ahead
from .ahead_on_host import OnHost
from .arrivals import Arrivals
from .described import Macro
from .piece import native
from .pool import Pool
from .stretch import is_host
from .updates import Update

KNOWN, FIXED, VALUE, BIND = range(4)  # kinds of operands
FRESH, VIEW, GIVEN = range(3)  # kinds of results
NOT_MET = object()  # stands for an array that the stretch has not come to; an operand may be None


class Step(NamedTuple):
    """One kernel of a path; `outs` are numbers of arrays, or of operands where those are given back."""

    kernel: Kernel
    attrs: dict[str, Any]
    operands: tuple[tuple[int, Any], ...]
    how: int
    outs: tuple[int, ...]
    several: bool
    cls: type
    look: Any  # (operand, function): the check of values that is needed before the kernel may wait
    line: str


_PLANS = 16  # ways to copy results that are kept


class Running:
    """What a path does at the end of a stretch."""

    low: Any  # the lowered program
    events: list[Step | Macro]
    program: Program
    layouts: list[Slot]
    inputs: dict[int, int]
    pools: dict[int, Pool]
    views: dict[int, list[int]]
    results: dict[int, tuple[int, Any]]
    returned: set[int]
    ahead: Ahead | OnHost | None
    arrivals: Arrivals | None
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
            if not all(only_listed(now, v) for v in views):
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
        self.on_gpu = self.program.device != "cpu"
        # places of inputs that are copied when the program runs; dense ones by one launch, whatever their order
        self.there = {
            v: self.low.arguments[i]
            for v, i in self.inputs.items()
            if self.layouts[v].storage.device != "cpu"
        }
        self.dense = all(a._c_contiguous or a._f_contiguous for a in self.there.values())
        self.into: Any = None  # the launch that brings all of them there, if there is one
        if len(self.there) == len(self.inputs) > 1:
            self.into = self.low.copies_into(list(self.there.values()))
        self.handed = tuple([(k, i) for k, (i, _) in self.results.items()])
        # results whose arrays may have no memory yet
        self.bare = {k for k in self.results if k in self.pools and self.pools[k].is_bare()}
        self.plans: dict[tuple, tuple] = {}  # how results are copied, by which these are

    def launch(self, now: list[Any], bound: dict[int, Any]) -> None:
        """Run the program, and bring results to the arrays that were handed out."""
        low, ahead = self.low, self.ahead
        if ahead is None or not ahead.started:
            self.fill(bound)
        else:
            ahead.started = False
            self.fill({v: a for v, a in bound.items() if v not in ahead.taken})
        kept = self.busy(now)
        if kept:
            kept = [(a, a.copy()) for a in kept]
        low.ran.clear()
        try:
            made = low.run()
        except BaseException:
            for e in self.events:
                if isinstance(e, Update):
                    e.take_back(low.ran)
            raise
        if native is not None:
            others = native.others(now, made, self.handed)
        else:
            others = [(k, i) for k, i in self.handed if now[k] is not made[i]]
        if others:
            self._hand_over(others, now, made)
        for array, old in kept:
            copy(array, old)
        for k in self.returned:
            copy(bound[k], low.arguments[self.inputs[k]])
        self.launches += 1

    def fill(self, bound: dict[int, Any]) -> None:
        """Bring inputs that lie on a GPU to their places in the program."""
        there = self.there
        if self.into is not None and len(bound) == len(there):
            self.into(*[bound[v] for v in there])
            return
        given = [(there[v], a) for v, a in bound.items() if v in there]
        if len(given) > 1 and self.dense:
            self.low.copy_alike(given)
        else:
            for place, a in given:
                self.low.fill(place, a)

    def _hand_over(self, others: list[tuple[int, int]], now: list[Any], made: tuple) -> None:
        """Results to the arrays that were handed out in place of the program's own."""
        for k, _ in others:
            if k in self.bare:
                self.low.back(now[k])
        if not self.on_gpu or self.low.made is not made:
            for k, i in others:
                copy(now[k], made[i])
            return
        key = tuple(others)
        plan = self.plans.get(key)
        if plan is None:
            plan = self._plan(others, now, made)
            if len(self.plans) < _PLANS:
                self.plans[key] = plan
        launches, odd = plan
        for go, some, rest in launches:
            go(*[made[i] for _, i in some], *rest, *[now[k] for k, _ in some], *rest)
        for k, i in odd:
            copy(now[k], made[i])

    def _plan(self, others: list[tuple[int, int]], now: list[Any], made: tuple) -> tuple:
        """How some results of a graph, which always are the same arrays, are copied: by launches, and those that lie otherwise."""
        alike = [
            (k, i) for k, i in others
            if made[i].strides == now[k].strides and not (is_host(made[i]) or is_host(now[k]))
        ]  # fmt: skip
        odd = [pair for pair in others if pair not in alike]
        return self.low.copiers(alike, made), odd

    def copy_all(self, pairs: list[tuple[Any, Any]]) -> None:
        """Copy arrays to others (to, from) that are laid out alike, without gaps, by one launch where there are several."""
        if self.on_gpu and len(pairs) > 1:
            self.low.copy_alike(pairs)
        else:
            for target, source in pairs:
                run(KERNELS["copy_into"], target.__class__, (target, source), {}, alone=True)

    # -- run one by one -------------------------------------------------------------------------

    def run_steps(self, upto: int, now: list[Any]) -> int:
        """Compute the first events as an eager program would, into the arrays that were handed out."""
        if self.ahead is not None:
            self.ahead.take_back(self.low)
        ran = 0
        copies = list(now)
        for k, i in self.inputs.items():  # with the values that they had when a kernel read them
            if now[k] is not NOT_MET and is_host(now[k]) and k not in self.returned:
                copies[k] = self.low.arguments[i]
        for e in self.events[:upto]:
            for step in [e] if isinstance(e, Step) else e.steps:  # type: ignore[attr-defined]
                seen = [copies[v] is now[v] for kind, v in step.operands if kind in (KNOWN, BIND)]
                if step.how == VIEW and now[step.outs[0]] is not NOT_MET and all(seen):
                    continue  # was made when it was asked for
                ran += 1
                arrays = [copies[v] if kind in (KNOWN, BIND) else v for kind, v in step.operands]
                if step.kernel.name == "as_strided" and not all(seen):
                    out = strided_copy(arrays[0], step.attrs)
                else:
                    out = run(step.kernel, step.cls, arrays, step.attrs, alone=True)
                if step.how == GIVEN:
                    continue
                for k, o in zip(step.outs, out if step.several else (out,)):
                    if isinstance(o, np.generic):
                        o = np.asarray(o)
                    if now[k] is NOT_MET or step.how == VIEW:
                        copies[k] = o
                    else:
                        copy(now[k], o)
        return ran


def strided_copy(a: Any, attrs: dict[str, Any]) -> Any:
    """What `as_strided` shows of an input, in the copy of it: that has its elements, not the memory around them."""
    root, item = root_array(a), a.itemsize
    at = data_pointer(a) - data_pointer(root) + (attrs["offset"] - attrs["home"][2]) * item
    steps = tuple([s * item for s in attrs["stride"]])
    return np.ndarray(attrs["size"], a.dtype, root.data, at, steps)


def copy(target: Any, source: Any) -> None:
    """The values of an array into another, which may have no memory yet."""
    if not is_host(target):
        from ...runtime.cuda.memory.reserved import back

        back(target)
    run(KERNELS["copy_into"], target.__class__, (target, source), {}, alone=True)
