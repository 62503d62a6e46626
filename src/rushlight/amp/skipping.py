"""An optimizer's step inside a recorded program: whether it counts is data, not a decision of Python.

Every array that the step changes is copied first, and put back on the device when the flag is up. Step
counts are the host's: they are put back after the run, for which the host has to look at the flag, as
an eager `scaler.step` does. A rule without counts (SGD) needs no look on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.inplace import SNAPSHOT, overwrite
from ..core.modes import no_grad
from ..core.tensor import Tensor, wrap
from ..operators.pointwise.select import where
from ..runtime import devices
from ..runtime.door import Kernel, ReplayHook, listening, replay_hooks, run
from ..runtime.thread import settle


class _Keeper:
    """Listens at the door during a step, and remembers what is about to be changed."""

    def __init__(self, found: Any) -> None:
        self.found = found
        self.before: dict[int, tuple[Any, Any]] = {}
        self.busy = False

    def __call__(
        self, kernel: Kernel, arrays: Sequence[Any], attrs: dict, call: Callable[[], Any]
    ) -> Any:
        if not self.busy:
            places = kernel.mutates
            for i in places(arrays, attrs) if callable(places) else places:
                self._remember(arrays[i])
        return call()

    def _remember(self, a: Any) -> None:
        if id(a) not in self.before:
            self.busy = True
            self.before[id(a)] = (a, run(SNAPSHOT, a.__class__, (a,), {}))
            self.busy = False

    def settle(self) -> None:
        """Put everything back if the flag is up."""
        with no_grad():
            up = wrap(self.found) > 0
            for a, before in self.before.values():
                overwrite(wrap(a), where(up, wrap(before), wrap(a))._a)


def recorded_step(found: Tensor, optimizer: Any, args: tuple, kwargs: dict) -> Any:
    """`optimizer.step()` as part of a program; a call that overflows now is not worth recording."""
    hooks = replay_hooks()
    assert hooks is not None
    flag = found._a
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if any(p._a.__class__ is not flag.__class__ for p in params):
        return None if found.item() else optimizer.step(*args, **kwargs)
    if _is_up(flag):
        hooks.odd = True
        return None
    counts = _Counts(optimizer, flag)
    hooks.append(ReplayHook(counts.save))
    keeper = _Keeper(flag)
    with listening(keeper):
        result = optimizer.step(*args, **kwargs)
    keeper.settle()
    counts.find()
    if counts.arrays or flag.__class__ is np.ndarray:
        hooks.after.append(counts.put_back)
    return result


def _is_up(flag: Any) -> bool:
    """The flag's value, read past the door: no program depends on it."""
    settle()
    return bool(devices.backend_of_type(flag.__class__).to_host(flag))


class _Counts:
    """What the host counts in a step: put back when the step did not count."""

    def __init__(self, optimizer: Any, flag: Any) -> None:
        self.optimizer, self.flag = optimizer, flag
        self.arrays: list[np.ndarray] = []
        self.saved: list[np.ndarray] = []
        self.steps = 0

    def find(self) -> None:
        held = [v for state in self.optimizer.state.values() for v in state.values()]
        found = {
            id(v._a): v._a for v in held
            if isinstance(v, Tensor) and v._a.__class__ is np.ndarray and not v._a.ndim
        }  # fmt: skip
        self.arrays = list(found.values())

    def save(self) -> None:
        self.saved = [a.copy() for a in self.arrays]
        self.steps = self.optimizer._step_count

    def put_back(self) -> None:
        if _is_up(self.flag):
            for a, before in zip(self.arrays, self.saved):
                a[...] = before
            self.optimizer._step_count = self.steps
