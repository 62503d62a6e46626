"""GradScaler: float16 gradients kept above zero by a factor that adapts itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.arrays import ArrayModule
from ..core.inplace import SNAPSHOT, bump, overwrite
from ..core.modes import no_grad
from ..core.tensor import Tensor, wrap
from ..operators.create.filled import full, zeros
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

    def __call__(self, kernel: Kernel, arrays: Sequence[Any], attrs: dict, call: Callable[[], Any]) -> Any:
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
            id(v._a): v._a for v in held if isinstance(v, Tensor) and v._a.__class__ is np.ndarray and not v._a.ndim
        }
        self.arrays = list(found.values())

    def save(self) -> None:
        self.saved = [a.copy() for a in self.arrays]
        self.steps = self.optimizer._step_count

    def put_back(self) -> None:
        if _is_up(self.flag):
            for a, before in zip(self.arrays, self.saved):
                a[...] = before
            self.optimizer._step_count = self.steps


class OptState(Enum):
    """How far an optimiser is between two updates of the factor."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


_READY, _UNSCALED, _STEPPED = OptState


def _unscale(xp: ArrayModule, found: Any, inverse: Any, *grads: Any) -> tuple:
    """Multiply every gradient by `inverse` and raise the flag `found` if one is not finite."""
    for g in grads:
        wide = g.astype(xp.float32) if g.dtype.itemsize == 2 else g
        bad = ~xp.isfinite(wide).all()
        found[...] = xp.maximum(found, bad.astype(found.dtype))
        g[...] = (wide * inverse.astype(wide.dtype)).astype(g.dtype)
    return ()


def _update(
    xp: ArrayModule, scale: Any, tracker: Any, found: Any, *, growth: float, backoff: float, interval: int
) -> tuple:
    """The next factor: smaller after an overflow, larger after `interval` steps without one."""
    bad = found > 0
    due = tracker + 1 >= interval
    grown = scale * growth
    good = xp.where(due & xp.isfinite(grown), grown, scale)
    scale[...] = xp.where(bad, scale * backoff, good).astype(scale.dtype)
    tracker[...] = xp.where(bad | due, 0, tracker + 1).astype(tracker.dtype)
    return ()


UNSCALE = Kernel("amp_unscale", _unscale, mutates=lambda arrays, attrs: (0, *range(2, len(arrays))))
UPDATE = Kernel("amp_update", _update, mutates=(0, 1))


class GradScaler:
    """Scales a loss so that small gradients survive in float16, and unscales before the step.

    The factor grows after `growth_interval` good steps, and shrinks when a gradient overflows; that step is left out.

    Args:
        device: "cuda" or "cpu"; where it is missing, the scaler does nothing.
        init_scale: the first factor.
        growth_factor, backoff_factor: what the factor is multiplied by.
        growth_interval: good steps until it grows.
        enabled: False makes it do nothing.

    Raises:
        AssertionError: if `growth_factor` is not above 1, or `backoff_factor` not below 1.

    Example:
        >>> w = torch.ones(2, requires_grad=True)
        >>> optimizer = optim.SGD([w], lr=0.5)
        >>> scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        >>> scaler.scale(w.sum()).backward()
        >>> w.grad
        tensor([8., 8.])
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> w.detach()
        tensor([0.5000, 0.5000])
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = str(device)
        self._enabled = bool(enabled)
        if self._enabled and self._device.startswith("cuda"):
            from ..runtime.cuda import why_not

            if why_not() is not None:
                warnings.warn(
                    "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2
                )
                self._enabled = False
        if self._enabled:
            if growth_factor <= 1.0:
                raise AssertionError("The growth factor must be > 1.0.")
            if backoff_factor >= 1.0:
                raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._scale: Tensor | None = None
        self._growth_tracker: Tensor | None = None
        self._states: dict[int, dict[str, Any]] = {}
        self._flags: dict[int, Tensor] = {}  # per optimizer: whether a gradient overflowed

    # -- scaling ------------------------------------------------------------------------------

    def _begin(self, device: Any) -> None:
        """Put the factor on the device where the first loss lives."""
        self._scale = full((), float(self._init_scale), dtype=dtypes.float32, device=device)
        self._growth_tracker = full((), int(self._init_growth_tracker), dtype=dtypes.int32, device=device)

    def scale(self, outputs: Any) -> Any:
        """The loss, or losses, times the factor."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._begin(outputs.device)
            assert self._scale is not None
            return outputs * self._scale.to(outputs.device, non_blocking=True)
        if isinstance(outputs, (list, tuple)):
            scaled = [self.scale(o) for o in outputs]
            return type(outputs)(*scaled) if hasattr(outputs, "_fields") else type(outputs)(scaled)
        if hasattr(outputs, "__iter__"):
            return map(self.scale, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _state_of(self, optimizer: Any) -> dict[str, Any]:
        return self._states.setdefault(id(optimizer), {"stage": _READY, "found": None})

    def _flag_of(self, optimizer: Any, device: Any) -> Tensor:
        """The flag of one optimizer, lowered: always the same memory, so that a program can use it."""
        flag = self._flags.get(id(optimizer))
        if flag is None or flag.device != device:
            flag = self._flags[id(optimizer)] = zeros((), dtype=dtypes.float32, device=device)
        return flag.zero_()

    def _need_scale(self, name: str) -> Tensor:
        if self._scale is None:
            raise AssertionError(
                f"Attempted {name} but _scale is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )
        return self._scale

    @no_grad()
    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the factor, to clip them before `step`."""
        if not self._enabled:
            return
        scale = self._need_scale("unscale_")
        state = self._state_of(optimizer)
        if state["stage"] == _UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] == _STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(g.dtype is dtypes.float16 for g in grads):
            raise ValueError("Attempting to unscale FP16 gradients.")
        grads = [g._values() if g.is_sparse else g for g in grads]  # type: ignore[attr-defined]
        found = self._flag_of(optimizer, scale.device)
        inverse = scale.double().reciprocal().float()
        arrays = (found._a, inverse._a, *[g._a for g in grads])
        run(UNSCALE, found._a.__class__, arrays, {})
        for g in grads:
            bump(g)
        self._ask_other_ranks(found, grads)
        state.update(stage=_UNSCALED, found=found if grads else None)

    def _ask_other_ranks(self, found: Tensor, grads: list[Any]) -> None:
        """Where gradients are spread over ranks, an overflow of one is one of all."""
        meshes = {g.device_mesh for g in grads if hasattr(g, "device_mesh")}
        if meshes:
            from ..distributed.collectives import all_reduce
            from ..distributed.reduce_op import ReduceOp

            for mesh in meshes:
                for group in mesh.get_all_groups():
                    all_reduce(found, ReduceOp.MAX, group)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`optimizer.step()`, unless a gradient overflowed."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._need_scale("step")
        state = self._state_of(optimizer)
        if state["stage"] == _STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if state["stage"] == _READY:
            self.unscale_(optimizer)
        if state["found"] is None:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = None
        if replay_hooks() is not None:
            result = recorded_step(state["found"], optimizer, args, kwargs)
        elif not state["found"].item():
            result = optimizer.step(*args, **kwargs)
        state["stage"] = _STEPPED
        return result

    @no_grad()
    def update(self, new_scale: Any = None) -> None:
        """Adapt the factor to whether gradients overflowed, or set it."""
        if not self._enabled:
            return
        scale = self._need_scale("update")
        if new_scale is not None:
            scale.copy_(new_scale) if isinstance(new_scale, Tensor) else scale.fill_(new_scale)
        else:
            found = [s["found"] for s in self._states.values() if s["found"] is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            total = found[0].to(scale.device)
            for other in found[1:]:
                total = total + other.to(scale.device)
            assert self._growth_tracker is not None
            arrays = (scale._a, self._growth_tracker._a, total._a)
            run(UPDATE, scale._a.__class__, arrays, {
                "growth": self._growth_factor, "backoff": self._backoff_factor,
                "interval": self._growth_interval,
            })  # fmt: skip
        self._states.clear()

    # -- what it holds ------------------------------------------------------------------------

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def get_scale(self) -> float:
        """The factor; reading it waits for the GPU."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """What the factor is multiplied by after enough good steps."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the factor is multiplied by after enough good steps."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the factor is multiplied by after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the factor is multiplied by after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many good steps make the factor grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set how many good steps make the factor grow."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        if self._growth_tracker is None:
            return self._init_growth_tracker
        return int(self._growth_tracker.item())

    def state_dict(self) -> dict[str, Any]:
        """The factor and how it changes; empty when not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a `state_dict`."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None:
            self._begin(self._scale.device)
