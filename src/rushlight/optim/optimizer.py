"""Optimizer: parameter groups, state, hooks and files; what every update rule shares."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from ..core.modes import enable_grad, no_grad
from ..core.tape import RemovableHandle
from ..core.tensor import Tensor, tensor_over
from ..operators.create.like import zeros_like
from ..runtime.door import Kernel, each_replay, run

required = object()


class Optimizer:
    """Base of all optimisers; a subclass says its states and its numbers, see `_Bucket`."""

    _step_count = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {type(params).__name__}"
            )
        self.defaults = defaults
        self.state: dict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._pre_hooks: dict = OrderedDict()
        self._post_hooks: dict = OrderedDict()
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    # -- groups ---------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering "
                "of tensors in sets will change between runs. Please use a list instead."
            )
        group = {**param_group, "params": _named(list(params), param_group)}
        for p in group["params"]:
            if not isinstance(p, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}"
                )
            if not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}"
                )
            group.setdefault(name, default)
        seen = {id(p) for g in self.param_groups for p in g["params"]}
        if any(id(p) in seen for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients: None, or zeros in the same memory."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p._grad = None
                elif p.grad is not None:
                    p.grad.detach_()
                    p.grad.zero_()

    # -- stepping -------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once; `closure` recomputes the loss where a rule asks for it."""
        raise NotImplementedError

    def _count(self) -> None:
        self._step_count += 1  # schedulers look at it

    def _closure(self, closure: Callable[[], Any] | None) -> Any:
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def _live(self, group: dict[str, Any]) -> list[Tensor]:
        live = [p for p in group["params"] if p._grad is not None]
        for p in live:
            if p._grad.is_sparse:
                raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")
        return live

    def _apply(
        self,
        kernel: Kernel,
        params: list[Tensor],
        states: list[list[Tensor]],
        numbers: Callable[[], Sequence[float]],
        counts: Iterable[Tensor] = (),
        **flags: Any,
    ) -> None:
        """Run an update kernel over `params`.

        `counts` are step counters to raise first; `numbers()` then gives the group's numbers of this
        step. A captured step does both again before every replay.
        """
        if not params:
            return
        counters = list({id(c): c for c in counts}.values()) if counts else ()

        def today() -> Sequence[float]:
            for c in counters:
                c._a += 1
            return numbers()

        latest = today()
        hyper = np.array(latest, np.float64)

        def refresh() -> None:
            nonlocal latest
            now = today()
            if now != latest:
                latest = now
                hyper[:] = now

        each_replay(refresh, hyper)
        arrays = [hyper]
        arrays += [p._a for p in params]
        arrays += [p._grad._a for p in params]
        for tensors in states:
            arrays += [s._a for s in tensors]
        flags["n"] = len(params)
        run(kernel, params[0]._a.__class__, arrays, flags)
        for p in params:
            if p._ver is None:
                p._ver = [1]
            else:
                p._ver[0] += 1

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step."""
        return RemovableHandle(self._pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return RemovableHandle(self._post_hooks, hook)

    # -- files ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """State by parameter number, and the groups with numbers in place of parameters."""
        number: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                number.setdefault(id(p), len(number))
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [number[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {number[id(p)] if isinstance(p, Tensor) else p: s for p, s in self.state.items()}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the state saved by `state_dict`; tensors go to their parameter's device."""
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for mine, theirs in zip(self.param_groups, saved):
            if len(mine["params"]) != len(theirs["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    "optimizer's group"
                )
        by_number = {
            n: p
            for mine, theirs in zip(self.param_groups, saved)
            for n, p in zip(theirs["params"], mine["params"])
        }
        self.state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in by_number:
                self.state[by_number[key]] = _fitted(by_number[key], value)
            else:
                self.state[key] = value
        groups = []
        for mine, theirs in zip(self.param_groups, saved):
            groups.append(
                {
                    **deepcopy({k: v for k, v in theirs.items() if k != "params"}),
                    "params": mine["params"],
                }
            )
            groups[-1] = {**{k: v for k, v in mine.items() if k not in groups[-1]}, **groups[-1]}
        self.param_groups = groups

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._pre_hooks = OrderedDict()
        self._post_hooks = OrderedDict()

    def __repr__(self) -> str:
        lines = [type(self).__name__ + " ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {k}: {group[k]}" for k in sorted(group) if k != "params"]
        return "\n".join(lines) + "\n)"


def _named(params: list[Any], group: dict[str, Any]) -> list[Any]:
    """Accept `model.named_parameters()` as well as `model.parameters()`."""
    if params and all(isinstance(p, tuple) for p in params):
        group["param_names"] = [name for name, _ in params]
        return [p for _, p in params]
    return params


def _fitted(p: Tensor, value: Any, key: str = "") -> Any:
    if isinstance(value, Tensor):
        if key in ("step", "mu_product"):
            return value.clone()
        same = value.to(p.device, p.dtype) if p.is_floating_point() else value.to(p.device)
        return same.clone()
    if isinstance(value, dict):
        return {k: _fitted(p, v, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_fitted(p, v) for v in value)
    return value


def _with_hooks(step: Callable) -> Callable:
    """Wrap a subclass's step: no_grad, hooks, and the count that schedulers look at."""
    if getattr(step, "_hooked", False):
        return step

    @functools.wraps(step)
    def wrapped(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        for hook in list(self._pre_hooks.values()) if self._pre_hooks else ():
            replaced = hook(self, args, kwargs)
            if replaced is not None:
                args, kwargs = replaced
        with no_grad():
            out = step(self, *args, **kwargs)
        self._count()
        each_replay(self._count)
        for hook in list(self._post_hooks.values()) if self._post_hooks else ():
            hook(self, args, kwargs)
        return out

    wrapped._hooked = True  # type: ignore[attr-defined]
    return wrapped


def zeros_for(p: Tensor) -> Tensor:
    """A state of zeros beside a parameter, in its memory order: updates walk both together."""
    return zeros_like(p.detach())


def counter() -> Tensor:
    """A step count as PyTorch keeps it: a float32 scalar on the CPU."""
    return tensor_over(np.zeros((), np.float32), np.ndarray)


def by_step(params: Iterable[Tensor], state: dict[Any, dict[str, Any]]) -> list[list[Tensor]]:
    """Parameters grouped by how often they were stepped; usually one group."""
    groups: dict[float, list[Tensor]] = {}
    for p in params:
        groups.setdefault(float(state[p]["step"]._a), []).append(p)
    return list(groups.values())
