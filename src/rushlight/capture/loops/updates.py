"""`optimizer.step()` as one comparison: groups, flags, parameters, gradients and states are as they were.

Only for rules that are one kernel for each group (`optim/stepping.py`), whose numbers (learning rate, counts) travel
in small arrays that they bring up to date themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base.spelling import home_of
from ...core.tensor import Tensor
from ..in_c import native
from ..record.host_work import HostWork
from ..record.recorder import same
from .described import Macro

_HOME = __name__.split(".")[0] + ".optim."
_DATA = ("lr", "initial_lr")  # options that only ever are numbers of the kernel


def is_rule(optimizer: Any) -> bool:
    """Whether an optimiser is one of ours, as it was written."""
    cls = type(optimizer)
    return home_of(cls).startswith(_HOME) and hasattr(cls, "_flags")


class Update(Macro):
    """A step of one optimiser."""

    rows: Any = None  # for C
    is_needed = True

    def __init__(self, recorder: Any, optimizer: Any) -> None:
        self.optimizer = optimizer
        self.why: str | None = None
        self.groups = [(g, dict(g), list(g["params"])) for g in optimizer.param_groups]
        params = [p for _, _, ps in self.groups for p in ps]
        self.live = [p for p in params if p._grad is not None]
        self.idle = [p for p in params if p._grad is None]
        self.states: list[tuple] = []
        self.arrays = [recorder.slot_of(p._a) for p in self.live]
        self.grads = [recorder.slot_of(p._grad._a) for p in self.live]
        self.versions = [(t, t._version) for p in self.live for t in self._beside(p)]
        if any(g.get("differentiable") for g in optimizer.param_groups):
            self.why = "a step with history"
        # A tensor would be read in the middle of a comparison, and a list can be changed unseen.
        if not all(_is_value(v) for g in optimizer.param_groups for k, v in g.items() if k != "params"):
            self.why = "an option that is no plain value"

    def _beside(self, p: Tensor) -> list[Tensor]:
        held = self.optimizer.state.get(p) or {}
        return [p, *[v for v in held.values() if isinstance(v, Tensor)]]

    def done(self, recorder: Any, hooks: Any) -> None:
        """The step is over: what it asked to be refreshed, and which versions it raised."""
        self.host_work = HostWork(hooks)
        if hooks.odd or hooks.after:
            self.why = "a step unlike others"
        self.fed = [a for hook in hooks for a in hook.arrays]
        # by counter: tensors that share one (views of a base) raise it together
        changed = [(t, t._version - v) for t, v in self.versions if t._version != v]
        # also of those that have no counter: a step raises the versions of states that have got one
        self.cells = [(t, t._ver) for t, _ in self.versions]
        self.bumps = list({id(t._ver): (t._ver, n) for t, n in changed}.values())
        if len(self.versions) != sum(len(self._beside(p)) for p in self.live):
            self.why = "the optimiser makes its state"
        for p in self.live:
            held = self.optimizer.state.get(p) or {}
            self.states.append((held, _tensors(held)))
        del self.versions

    def slots(self) -> list[Any]:
        return [*self.arrays, *self.grads]

    def agrees(self, other: Macro, same_slot: Callable[[Any, Any], bool]) -> bool:
        if not isinstance(other, Update) or self.optimizer is not other.optimizer:
            return False
        if len(self.live) != len(other.live) or len(self.bumps) != len(other.bumps):
            return False
        if any(a is not b for a, b in zip(self.live, other.live)):
            return False
        if any(c is not d or n != m for (c, n), (d, m) in zip(self.bumps, other.bumps)):
            return False
        return all(map(same_slot, self.slots(), other.slots()))

    def settle(self, operand: Callable[[Any], tuple[int, Any]]) -> None:
        self.arrays = [operand(s) for s in self.arrays]
        self.grads = [operand(s) for s in self.grads]

    def is_same(self, other: Macro) -> bool:
        """Always False: an update ends its stretch, so that no path continues behind it."""
        return False

    def matches(self, optimizer: Any, tracer: Any) -> bool:
        """Whether a step of an optimiser is this one."""
        if optimizer is not self.optimizer:
            return False
        if self.rows is None:
            parts = zip(self.live, self.arrays, self.grads, self.states)
            self.rows = [(p, a, g, *held) for p, a, g, held in parts]
        return native.stepped(
            tracer.cursor, optimizer.param_groups, optimizer.state, self._same_group,
            self.groups, self.idle, self.cells, self.rows,
        )  # fmt: skip

    def _same_group(self, g: dict[str, Any], options: dict[str, Any], params: list) -> bool:
        if len(g) != len(options) or len(g["params"]) != len(params):
            return False
        if any(p is not q for p, q in zip(g["params"], params)):
            return False
        for k, v in g.items():
            if k == "params" or (v is (old := options.get(k))):
                continue
            if k in _DATA and v.__class__ is float and old.__class__ is float:
                continue
            if not _is_value(v) or not _is_value(old):
                return False  # to compare tensors is to compute
            if not same(v, old) and not self._only_numbers(g, options, v, old):
                return False
        return True

    def _only_numbers(self, g: dict[str, Any], options: dict, v: Any, old: Any) -> bool:
        """Whether an option that changed is a number, and leaves the kernel, its flags and states."""
        numbers = (float, int)
        vs, olds = (x if x.__class__ is tuple else (x,) for x in (v, old))
        if len(vs) != len(olds) or not all(x.__class__ in numbers for x in (*vs, *olds)):
            return False
        rule = self.optimizer
        return same(rule._flags(dict(g)), rule._flags(dict(options))) and same(
            rule._states(dict(g)), rule._states(dict(options))
        )

    def carry_out(self) -> None:
        """Counts and numbers of the host, and versions."""
        self.host_work.do()
        for cell, n in self.bumps:
            cell[0] += n

    def take_back(self, ran: Sequence[Any]) -> None:
        """The program of this step failed: its counts and versions go back, where its kernels did not run."""
        self.host_work.take_back(ran)
        read = {id(a) for a in ran}
        if not any(id(a) in read for a in self.fed):
            for cell, n in self.bumps:
                cell[0] -= n


def _is_value(option: Any) -> bool:
    """Whether an option is of a kind that cannot change itself, and whose comparison computes nothing."""
    if option.__class__ is tuple:
        return all(map(_is_value, option))
    return option is None or option.__class__ in (bool, int, float, complex, str)


def _tensors(held: dict[str, Any]) -> list[tuple[str, Tensor, Any]]:
    return [(k, v, v._a) for k, v in held.items() if isinstance(v, Tensor)]
