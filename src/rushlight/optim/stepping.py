"""Rules that are one kernel: which parameters a call changes, the numbers of each, and replays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..core.inplace import bump_all
from ..core.tensor import Tensor
from ..operators import update
from ..operators.create.like import zeros_like
from ..operators.pointwise.complex import view_as_real
from ..runtime import devices
from ..runtime.cpu import scalars
from ..runtime.door import Kernel, each_replay, replay_hooks, run
from ..runtime.thread import GRAD, swap
from .differentiable import TENSORS
from .optimizer import Optimizer, scalar

Numbers = Sequence[float]


class Rule(Optimizer):
    """An optimiser whose step is one kernel call for each group of parameters.

    A parameter has tensors beside it (`_states`) and scalars on the host (`scalars`: a step count, mostly).
    `_raised` says what the scalars are after a step; `_numbers` what the kernel needs, from the
    scalars before and after it.
    """

    kernel: Kernel
    scalars: tuple[str, ...] = ("step",)
    state_names: tuple[str, ...] = ()
    _waiting: list[_Call]  # of the step that is being prepared
    _undo: list[Callable[[], Any]]  # what takes it back

    def _states(self, group: dict[str, Any]) -> tuple[str, ...]:
        """The tensors beside a parameter, in the kernel's order."""
        return self.state_names

    def _start(self, p: Tensor, held: dict[str, Any], group: dict[str, Any]) -> None:
        """Fill the empty state of a parameter."""
        held["step"] = scalar(0.0, group.get("fused"))
        for name in self._states(group):
            held[name] = zeros_for(p)

    def _raised(self, group: dict[str, Any], before: Numbers) -> Numbers:
        return (before[0] + 1,)

    def _numbers(self, group: dict[str, Any], before: Numbers, after: Numbers) -> list[Any]:
        raise NotImplementedError

    def _flags(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"maximize": group["maximize"]}

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once; `closure` recomputes the loss first."""
        before = swap(GRAD, GRAD if self.defaults.get("differentiable") else 0)
        try:
            loss = None if closure is None else self._closure(closure)
            self._waiting, self._undo = [], []
            try:
                self._prepare()
                self._go()
            except BaseException:
                for put_back in reversed(self._undo):
                    put_back()
                raise
            finally:
                del self._waiting, self._undo
        finally:
            swap(GRAD, before)
        return loss

    def _go(self) -> None:
        """Make all calls; where one may stop halfway, what the step changes is kept aside before the first."""
        calls = self._waiting
        several = len(calls) > 1
        if not all(call.is_sure(several) for call in calls):
            for a in [a for call in calls for a in call.written()]:
                self._undo.append(partial(a.__setitem__, ..., a.copy()))
        for call in calls:
            call.go()
        for (
            call
        ) in calls:  # not before the last one has run: a step that is undone has changed nothing
            call.raise_versions()

    def _prepare(self) -> None:
        """Make the states and launches of all groups: what can run out of memory does so before any change."""
        for group in self.param_groups:
            live, alike = self._live(group["params"])
            if not live:
                continue
            if group.get("fused"):
                _check_fused(live)
            if alike:
                self._step_group(group, live)
            else:
                for params in _apart(live):
                    self._step_group(group, params)

    def _live(self, params: list[Tensor]) -> tuple[list[Tensor], bool]:
        """The parameters that have a gradient, and whether all are of one device and dtype."""
        live = [p for p in params if p._grad is not None]
        arrays = [p._a for p in live]
        for p in live:
            g = p._grad
            if g.__class__ is not Tensor and g.is_sparse:
                raise RuntimeError(self._no_sparse())
        if not live:
            return live, True
        cls, kind = arrays[0].__class__, arrays[0].dtype
        for a in arrays:
            if a.dtype is not kind or a.__class__ is not cls:
                return live, False
        return live, True

    def _no_sparse(self) -> str:
        return f"{type(self).__name__} does not support sparse gradients"

    def _step_group(self, group: dict[str, Any], params: list[Tensor]) -> None:
        """Prepare one step of parameters of one device and dtype."""
        state, all_held = self.state, []
        for p in params:
            all_held.append(state.get(p) or self._started(p, group))
        states = [[held[name] for held in all_held] for name in self._states(group)]
        self._launch(group, params, states, all_held, self._flags(group))

    def _started(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """The new state of a parameter, which goes again when the step fails."""
        held: dict[str, Any] = {}
        self._start(p, held, group)
        self.state[p] = held
        self._undo.append(partial(self.state.pop, p))
        return held

    def _launch(
        self, group: dict[str, Any], params: list[Tensor], states: list[list[Tensor]],
        held: list[dict[str, Any]], flags: dict[str, Any], kernel: Kernel | None = None,
        grads: list[Any] | None = None, numbers: Callable[..., list[Any]] | None = None,
    ) -> None:  # fmt: skip
        """Prepare the rule's kernel, or another one, over parameters and their gradients, or other ones."""
        if grads is None:
            grads = [p._grad for p in params]
        if params[0]._a.dtype.kind == "c":  # each complex number as the two real ones it is made of
            views = [[view_as_real(t) for t in ts] for ts in (params, grads, *states)]
            seen, grads, states = views[0], views[1], views[2:]
        else:
            seen = params
        columns = [[h[name]._a for h in held] for name in self.scalars]
        if group.get("differentiable"):
            self._step_with_history(group, seen, grads, states, columns, flags)
            return
        launch = _Launch(self, group, columns, len(params), numbers or self._numbers)
        self._undo.append(launch.put_back)
        arrays = [launch.hyper(), *[p._a for p in seen], *[g._a for g in grads]]
        for tensors in states:
            arrays += [s._a for s in tensors]
        flags["n"] = len(params)
        self._waiting.append(_Call(kernel or self.kernel, arrays, flags, [params, *states]))

    def _step_with_history(
        self, group: dict[str, Any], params: list[Tensor], grads: list[Any], states: list[list[Tensor]],
        columns: list[list[Any]], flags: dict[str, Any],
    ) -> None:  # fmt: skip
        """The kernel's body over tensors: derivatives go through the step, as PyTorch's do."""
        body = update.BODIES[self.kernel.name]
        for i, (p, g) in enumerate(zip(params, grads)):
            own = [[column[i]] for column in columns]
            h = self._numbers(group, *raise_scalars(self._raised, group, own))
            kept = [s[i] for s in states]
            fresh = [
                s.clone() for s in kept
            ]  # what derivatives keep of them, no later step may change
            body(TENSORS, h, p, g, *fresh, **flags)
            for s, new in zip(kept, fresh):
                s.copy_(new)


class _Call:
    """A kernel call that waits until those of all groups are prepared."""

    __slots__ = ("arrays", "changed", "cls", "flags", "kernel")

    def __init__(
        self, kernel: Kernel, arrays: list[Any], flags: dict[str, Any], changed: list[list[Tensor]]
    ) -> None:
        self.kernel, self.arrays, self.flags, self.changed = kernel, arrays, flags, changed
        self.cls = arrays[1].__class__

    def is_sure(self, several: bool) -> bool:
        """Whether it changes all or nothing, and needs no more memory when others went before it."""
        ready = devices.preparers.get(self.cls)
        return ready is None or ready(self.kernel.name, self.arrays, self.flags, several)

    def written(self) -> list[Any]:
        """The arrays that the call changes."""
        return [self.arrays[i] for i in update.written(self.arrays, self.flags)]

    def go(self) -> None:
        """Change parameters and states."""
        run(self.kernel, self.cls, self.arrays, self.flags)

    def raise_versions(self) -> None:
        """Tell those who saved parameters or states that they are others now."""
        params, *states = self.changed
        bump_all(params)
        for tensors in states:
            bump_all([s for s in tensors if s._ver is not None])  # kept for a derivative


class _Launch:
    """The numbers of one kernel call, found anew before each replay of a captured step."""

    before: Sequence[Any] = ()  # the scalars of the host, as they were

    def __init__(
        self, rule: Rule, group: dict[str, Any], columns: list[list[Any]], n: int, numbers: Callable
    ) -> None:
        self.raised, self.numbers = rule._raised, numbers
        self.group, self.columns, self.n = group, columns, n

    def put_back(self) -> None:
        """Scalars as they were before a step that failed."""
        for column, values in zip(self.columns, self.before):
            scalars.write(column, values)

    def hyper(self) -> np.ndarray:
        """One row of numbers, or a row for each parameter: where they differ, or may at a replay."""
        self.latest = self._today()
        if replay_hooks() is None:
            return np.array(self.latest, np.float64)
        alike = self.latest.__class__ is tuple
        rows = [self.latest] * self.n if alike else self.latest
        self.rows = np.array(rows, np.float64)
        each_replay(self.refresh, self.rows)
        return self.rows

    def refresh(self) -> None:
        """Count a step, and bring the numbers up to date."""
        now = self._today()
        if now != self.latest:
            self.latest = now
            self.rows[...] = now

    def _today(self) -> Any:
        """Raise the scalars; the numbers as a tuple, or a list of tuples where parameters differ."""
        group = _plain(self.group)
        before, after = raise_scalars(self.raised, group, self.columns)
        self.before = before
        if list not in [v.__class__ for v in (*before, *after)]:
            return tuple(self.numbers(group, before, after))
        known: dict[tuple, tuple] = {}
        rows = []
        for was, now in zip(self._spread(before), self._spread(after)):
            if (was, now) not in known:
                known[was, now] = tuple(self.numbers(group, was, now))
            rows.append(known[was, now])
        return rows

    def _spread(self, values: list[Any]) -> list[tuple]:
        """Scalar by scalar to parameter by parameter."""
        return list(zip(*[v if v.__class__ is list else [v] * self.n for v in values]))


def raise_scalars(
    raised: Callable, group: dict[str, Any], columns: list[list[Any]]
) -> tuple[list[Any], list[Any]]:
    """Each scalar of all parameters before and after a step: a number, or a list where they differ."""
    if not columns:
        return [], []
    before = [scalars.read(c) for c in columns]
    if list not in [b.__class__ for b in before]:
        now: Any = raised(group, before)
    else:
        each = list(zip(*[b if b.__class__ is list else [b] * len(columns[0]) for b in before]))
        known = {values: raised(group, values) for values in set(each)}
        now = [[known[values][j] for values in each] for j in range(len(columns))]
    for column, values in zip(columns, now):
        scalars.write(column, values)
    return before, [scalars.read(c) for c in columns]  # as rounded by being stored


def _plain(group: dict[str, Any]) -> dict[str, Any]:
    """The options with numbers in place of tensors, read past the door: no program depends on them."""
    found: dict[str, Any] = {}
    for k, v in group.items():
        if isinstance(v, Tensor):
            found[k] = number(v)
        elif v.__class__ is tuple and any(isinstance(x, Tensor) for x in v):
            found[k] = tuple([number(x) if isinstance(x, Tensor) else x for x in v])
    return {**group, **found} if found else group


def number(t: Tensor) -> float:
    """A tensor of one element as a number of the host."""
    return float(devices.backend_of_type(t._a.__class__).to_host(t._a).reshape(()))


def _apart(params: list[Tensor]) -> list[list[Tensor]]:
    """Parameters by device and dtype."""
    found: dict[Any, list[Tensor]] = {}
    for p in params:
        found.setdefault((p._a.__class__, p._a.dtype), []).append(p)
    return list(found.values())


def _check_fused(params: list[Tensor]) -> None:
    for p in params:
        if not p.is_floating_point():
            raise RuntimeError(
                "`fused=True` requires all the params to be floating point Tensors of supported devices: "
                f"['cpu', 'cuda'] but {p.dtype} and {p.device.type}"
            )


def zeros_for(p: Tensor) -> Tensor:
    """A state of zeros beside a parameter, in its memory order: updates walk both together."""
    return zeros_like(p.detach())
