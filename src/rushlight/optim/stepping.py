"""Rules that are one kernel: which parameters a step changes, and that it changes all of them or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ..core.columns import columns
from ..core.inplace import made_of_others
from ..core.tensor import Tensor
from ..operators import update
from ..operators.create.like import ones_like, zeros_like
from ..operators.pointwise.complex import view_as_real
from ..operators.pointwise.select import where
from ..runtime.cpu import scalars
from ..runtime.door import Kernel, run
from ..runtime.thread import GRAD, here
from ..runtime.wrapped import WrappedArray, answer
from .calls import Find, HostNumbers, Numbers, UpdateCall, are_sure, plain, raise_scalars
from .checks import check_differentiable
from .optimizer import Optimizer, scalar


class _Functions:
    """What the bodies of `operators/update.py` ask of `xp`."""

    where = staticmethod(where)
    ones_like = staticmethod(ones_like)
    zeros_like = staticmethod(zeros_like)

    @staticmethod
    def sqrt(x: Tensor) -> Tensor:
        return x.sqrt()

    @staticmethod
    def abs(x: Tensor) -> Tensor:
        return x.abs()

    @staticmethod
    def sign(x: Tensor) -> Tensor:
        return x.sign()

    @staticmethod
    def maximum(x: Tensor, y: Tensor, out: Tensor) -> Tensor:
        return out.copy_(x.maximum(y))

    @staticmethod
    def clip(x: Tensor, low: Any, high: Any, out: Tensor) -> Tensor:
        return out.copy_(x.clamp(low, high))


TENSORS = _Functions()


class KernelOptimizer(Optimizer):
    """An optimiser whose step is one kernel call for each group of parameters.

    A parameter has tensors beside it (`_states`) and scalars on the host (`scalars`: a step count, mostly).
    `_raised` says what the scalars are after a step; `_numbers` what the kernel needs, from the
    scalars before and after it.
    """

    kernel: Kernel
    scalars: tuple[str, ...] = ("step",)
    _host: tuple[str, ...] = ("step",)
    state_names: tuple[str, ...] = ()
    in_columns = True  # the usual step of a group is one call over all parameters with a gradient
    _waiting: list[UpdateCall]  # of the step that is being prepared
    _undo: list[tuple[Any, Callable[[], Any]]]  # what takes it back, and the parameter that it is about
    _rare: list[tuple[dict[str, Any], Tensor]]  # parameters whose gradients are sparse

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        check_differentiable(defaults.get("differentiable", False))
        super().__init__(params, defaults)

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
        before = here.state  # set without a call of `swap`: a step of few parameters is short
        if not self.defaults.get("differentiable"):
            here.state = before & ~GRAD
        try:
            loss = None if closure is None else self._closure(closure)
            self._waiting, self._undo, self._rare = [], [], []
            try:
                for group in self.param_groups:
                    if not (self.in_columns and not self._repeats and self._step_columns(group)):
                        self._step_unlike(group)
                self._go()
                for group, p in self._rare:
                    self._step_sparse(group, p)
            except BaseException:
                self._take_back()
                raise
            finally:
                del self._waiting, self._undo, self._rare
        finally:
            here.state = here.state & ~GRAD | before & GRAD
        return loss

    def _go(self) -> None:
        """Make all calls; where one may stop halfway, copies of what the step changes are made before the first."""
        calls = self._waiting
        sure = are_sure(calls)
        if not sure:
            self._keep_aside()
        done = 0
        try:
            for call in calls:
                run(call.kernel, call.cls, call.arrays, call.flags)
                done += 1
        except BaseException as error:
            if done and sure:  # nothing takes them back
                self._leave_done(done, error)
            raise
        for call in calls:  # not before the last has run: a step that is undone changed nothing
            call.raise_versions()

    def _keep_aside(self) -> None:
        for call in self._waiting:
            self._undo += [(None, partial(a.__setitem__, ..., a.copy())) for a in call.written()]

    def _leave_done(self, count: int, error: BaseException) -> None:
        """So many calls were made before one was refused: their parameters, states and counts stay together."""
        done, self._waiting = self._waiting[:count], self._waiting[count:]
        moved = {id(p) for call in done for p in call.changed[0]}
        self._undo = [u for u in self._undo if id(u[0]) not in moved]
        for call in done:
            call.raise_versions()
        error.add_note(
            f"{len(moved)} parameters had moved before this, with their states and step counts; the others have not"
        )

    def _take_back(self) -> None:
        """Arrays, states and counts as they were before a step that failed."""
        for _, put_back in reversed(self._undo):
            put_back()
        for call in reversed(self._waiting):
            call.numbers.put_back()

    # -- sparse gradients -----------------------------------------------------------------------

    def _is_sparse(self, p: Tensor) -> bool:
        """Whether a parameter's step is one of sparse tensors."""
        g: Any = p._grad
        return g.__class__ is not Tensor and g.is_sparse

    def _check_sparse(self, group: dict[str, Any], p: Tensor) -> None:
        """Raise, before anything changes, where a rule cannot make such a step: most cannot."""
        raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")

    def _step_sparse(self, group: dict[str, Any], p: Tensor) -> None:
        """Change the rows that have a gradient, when the dense parameters have moved."""
        raise NotImplementedError

    # -- the usual step -------------------------------------------------------------------------

    def _step_columns(self, group: dict[str, Any]) -> bool:
        """Prepare a group's step with one loop over its parameters; False when something is unusual."""
        found = columns(group, self.state, self._states(group), self.scalars)
        if found is None or group.get("differentiable"):
            return False
        params, arrays, kept, counts = found
        if answer.active and WrappedArray in map(type, arrays):
            return False
        self._enqueue(group, group, arrays, [params, kept], counts, self._flags(group))
        return True

    def _enqueue(
        self, group: dict[str, Any], options: dict[str, Any], arrays: list[Any], changed: list[list[Tensor]],
        counts: list[list[Any]], flags: dict[str, Any], kernel: Kernel | None = None, find: Find | None = None,
    ) -> None:  # fmt: skip
        """Let a call wait; `options` are the group's, without tensors."""
        flags["n"] = n = len(changed[0])
        numbers = HostNumbers(group, counts, n, self._raised, find or self._numbers)
        self._waiting.append(UpdateCall(kernel or self.kernel, arrays, flags, changed, numbers))
        arrays[0] = numbers.first(options)  # counts are raised: the call waits, so they can be put back

    # -- any other ------------------------------------------------------------------------------

    def _step_unlike(self, group: dict[str, Any]) -> None:
        """Make states and calls: what can run out of memory does so before any change."""
        live, alike = self._live(group)
        if not live:
            return
        if group.get("fused"):
            _check_fused(live)
        for each in _rounds(live) if self._repeats else [live]:
            for params in [each] if alike else _apart(each):
                self._step_group(group, params)

    def _live(self, group: dict[str, Any]) -> tuple[list[Tensor], bool]:
        """The parameters with a dense gradient, and whether all are of one device and dtype."""
        live = []
        for p in group["params"]:
            if p._grad is None:
                continue
            if not self._is_sparse(p):
                live.append(p)
                continue
            self._check_sparse(group, p)
            self._rare.append((group, p))
        kinds = {(p._a.__class__, p._a.dtype) for p in live}
        return live, len(kinds) < 2

    def _step_group(self, group: dict[str, Any], params: list[Tensor]) -> None:
        """Prepare one step of parameters of one device and dtype."""
        state, all_held = self.state, []
        for p in params:
            all_held.append(state.get(p) or self._started(p, group))
        states = [[held[name] for held in all_held] for name in self._states(group)]
        self._launch(group, params, states, all_held, self._flags(group))

    def _started(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """The new state of a parameter; it is removed again when the step fails."""
        held: dict[str, Any] = {}
        self._start(p, held, group)
        self.state[p] = held
        self._undo.append((p, partial(self.state.pop, p)))
        return held

    def _launch(
        self, group: dict[str, Any], params: list[Tensor], states: list[list[Tensor]],
        held: list[dict[str, Any]], flags: dict[str, Any], kernel: Kernel | None = None,
        grads: list[Any] | None = None, numbers: Find | None = None,
    ) -> None:  # fmt: skip
        """Prepare the rule's kernel, or another one, over parameters and their gradients, or other ones."""
        if grads is None:
            grads = [p._grad for p in params]
        if params[0]._a.dtype.kind == "c":  # each complex number as the two real ones it is made of
            views = [[view_as_real(t) for t in ts] for ts in (params, grads, *states)]
            seen, grads, states = views[0], views[1], views[2:]
        else:
            seen = params
        counts = [[h[name]._a for h in held] for name in self.scalars]
        if group.get("differentiable") or (answer.active and made_of_others(*seen, *grads)):
            self._step_with_history(group, seen, grads, states, counts, flags)
            return
        arrays = [None, *[t._a for tensors in (seen, grads, *states) for t in tensors]]
        kept = [s for tensors in states for s in tensors if s._ver is not None]
        self._enqueue(group, plain(group), arrays, [params, kept], counts, flags, kernel, numbers)

    def _step_with_history(
        self, group: dict[str, Any], params: list[Tensor], grads: list[Any], states: list[list[Tensor]],
        counts: list[list[Any]], flags: dict[str, Any],
    ) -> None:  # fmt: skip
        """The kernel's body over tensors: derivatives go through the step, as PyTorch's do."""
        if here.recorder is not None:  # the numbers are Python's, and counts go up beside kernels
            here.recorder.complain("makes a step that is part of the graph (differentiable=True)")
        body = update.BODIES[self.kernel.name]
        for i, (p, g) in enumerate(zip(params, grads)):
            own = [[column[i]] for column in counts]
            before: list[Any] = [scalars.read(c) for c in own]
            after = raise_scalars(self._raised, group, own, before)
            h = self._numbers(group, before, after)
            kept = [s[i] for s in states]
            fresh = [s.clone() for s in kept]  # what derivatives keep of them, no later step may change
            body(TENSORS, h, p, g, *fresh, **flags)
            for s, new in zip(kept, fresh):
                s.copy_(new)


def _rounds(params: list[Tensor]) -> list[list[Tensor]]:
    """Parameters in lists that name each once: the second mention of one goes on from the first."""
    found: list[dict[int, Tensor]] = []
    for p in params:
        free = next((each for each in found if id(p) not in each), None)
        if free is None:
            found.append(free := {})
        free[id(p)] = p
    return [list(each.values()) for each in found]


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
