"""Optimizer: parameter groups, state, hooks and files; what every update rule shares."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any, TypeAlias

import numpy as np

from ..base import dtypes
from ..core.gradients.tape import RemovableHandle
from ..core.modes import enable_grad, set_grad_enabled
from ..core.overriding import asks
from ..core.tensor import Tensor, tensor_over
from ..operators.foreach import _foreach_zero_
from ..operators.pointwise.complex import view_as_real
from ..operators.shape.join import stack
from ..runtime.door import each_replay
from ..runtime.thread import here

TensorListList = list[list[Tensor | None]]
Indices = list[int]
_foreach_supported_types = [Tensor]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Where lists of tensors are worked on in few launches, so that optimisers choose that unasked."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Where a whole update is one kernel."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Columns of lists, gathered by device and dtype of the first list: (lists, places of the columns)."""
    if not tensorlistlist or not tensorlistlist[0]:
        return {}
    first = tensorlistlist[0]
    if any(rest and len(rest) != len(first) for rest in tensorlistlist):
        raise RuntimeError("Tensors of the same index must be on the same device and dtype")
    groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for place, t in enumerate(first):
        lists, places = groups.setdefault((t.device, t.dtype), ([[] for _ in tensorlistlist], []))
        for kept, given in zip(lists, tensorlistlist):
            if given:
                kept.append(given[place])
        if with_indices:
            places.append(place)
    return groups


def _device_has_foreach_support(device: Any) -> bool:
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: Sequence[Any], device: Any) -> bool:
    """Whether all of them can be given to `_foreach_*` functions: plain tensors, or None."""
    plain = all(t is None or type(t) in _foreach_supported_types for t in tensors)
    return plain and _device_has_foreach_support(device)


ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
Args: TypeAlias = tuple[Any, ...]
Kwargs: TypeAlias = dict[str, Any]
StateDict: TypeAlias = dict[str, Any]
DeviceDict = dict[Any, Tensor]
DeviceDtypeDict = dict[Any, Tensor]

_params_doc = "params: parameters, named parameters, or dicts that describe groups of them"
_foreach_doc = "foreach: whether updates run over whole lists of tensors; None lets the library choose"
_fused_doc = "fused: whether an update is one kernel; None lets the library choose"
_capturable_doc = "capturable: whether a step may be recorded in a CUDA graph (default: False)"
_differentiable_doc = "differentiable: whether steps are put on the tape (default: False)"
_maximize_doc = "maximize: climb instead of descend (default: False)"


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of `step`: on the tape if the optimiser is `differentiable`, else not."""

    @functools.wraps(func)
    def step(*args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(bool(args[0].defaults["differentiable"])):
            return func(*args, **kwargs)

    return step


def _get_value(x: Any) -> Any:
    """The number in a tensor; while a recorder listens the tensor itself, which a replay reads anew."""
    return x.item() if isinstance(x, Tensor) and here.recorder is None else x


def _stack_if_compiling(x: Any) -> Any:
    return x if here.recorder is None else stack(x)


def _dispatch_sqrt(x: Any) -> Any:
    return x.sqrt() if isinstance(x, Tensor) else x**0.5


def _disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[Callable], Callable]:
    """Decorator of update rules; every rule can be recorded here."""
    return lambda func: func


def _default_to_fused_or_foreach(
    params: Sequence[Any], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """What an optimiser does unasked: (fused, foreach), at most one of them true."""
    if differentiable:
        return False, False
    some = [p for p in params if p is not None]
    plain = all(isinstance(p, Tensor) and not asks(type(p)) for p in some)
    fusable = _get_fused_kernels_supported_devices()
    fused = use_fused and plain
    fused = fused and all(p.device.type in fusable and p.is_floating_point() for p in some)
    listable = _get_foreach_kernels_supported_devices()
    return fused, not fused and plain and all(p.device.type in listable for p in some)


def _device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    allowed = _get_fused_kernels_supported_devices()
    if cuda_unsupported:
        allowed.remove("cuda")
    if not (p.device.type in allowed and p.is_floating_point()):
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of supported devices: "
            f"{allowed} but {p.dtype} and {p.device.type}"
        )


def _view_as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Let complex tensors in these lists be seen as pairs of real numbers."""
    for i, p in enumerate(params):
        if p.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[i] = view_as_real(tensors[i])


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """The dtype of step counts."""
    double = dtypes.get_default_dtype() == dtypes.float64 and not is_fused
    return dtypes.float64 if double else dtypes.float32


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """Devices whose steps PyTorch can put into a graph."""
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


def _to_scalar(x: Any) -> Any:
    """A tensor of one element without its dims."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() else x


def group_tensors(
    tensorlistlist: Sequence[Sequence[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Lists by device and dtype; all in one group under a recorder, whose passes sort them themselves."""
    if here.recorder is not None:
        places = list(range(len(tensorlistlist[0])))
        return {(None, None): ([list(one) for one in tensorlistlist], places)}
    return _group_tensors_by_device_and_dtype(tensorlistlist, with_indices)


required = object()

_global_pre_hooks: dict = OrderedDict()
_global_post_hooks: dict = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before each step of every optimiser.

    Returns:
        A handle; its `remove()` ends the calls.

    Example:
        >>> from rushlight.optim.optimizer import register_optimizer_step_pre_hook
        >>> handle = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print("before"))
        >>> optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1).step()
        before
        >>> handle.remove()
    """
    return RemovableHandle(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of every optimiser.

    Returns:
        A handle; its `remove()` ends the calls.

    Example:
        >>> from rushlight.optim.optimizer import register_optimizer_step_post_hook
        >>> handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print("after"))
        >>> optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1).step()
        after
        >>> handle.remove()
    """
    return RemovableHandle(_global_post_hooks, hook)


class _Own:
    """Hooks of one optimiser, made when first asked for: wrappers often leave `Optimizer.__init__` out.

    Not `__getattr__`: with it every attribute that a step reads would take a longer way.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, optimizer: Any, owner: type | None = None) -> Any:
        if optimizer is None:
            raise AttributeError(self.name)  # of the class: there are none
        optimizer._make_hooks()
        return optimizer.__dict__[self.name]


class Optimizer:
    """Base of all optimisers: groups of parameters with options, and a state for each parameter.

    Derive from it, give the options' defaults to `__init__`, and write `step`.

    Args:
        params: tensors, `named_parameters()`, or dicts with `params` and options of their own (one dict a group).
        defaults: the options of groups that do not name them.

    Raises:
        TypeError: if `params` is one tensor and not an iterable of tensors.
        ValueError: if there are no parameters, or a parameter stands in two groups.

    Example:
        >>> class SignSGD(optim.Optimizer):
        ...     def __init__(self, params, lr):
        ...         super().__init__(params, {"lr": lr})
        ...     @torch.no_grad()
        ...     def step(self, closure=None):
        ...         for group in self.param_groups:
        ...             for p in group["params"]:
        ...                 p -= group["lr"] * p.grad.sign()
        >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = SignSGD([w], lr=0.1)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([ 0.9000, -1.9000])
    """

    _group_tensors_by_device_and_dtype = staticmethod(group_tensors)
    _step_count = 0
    _repeats = False  # a group names a parameter twice, which is changed twice in each step
    _pre_hooks: Any = _Own()
    _post_hooks: Any = _Own()
    _file_hooks: Any = _Own()
    _fills: dict[str, Any] = {}  # options that files of older versions lack
    _host: tuple[str, ...] = ()  # states that are tensors of one number on the host, whatever the device

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {params.type()}"
            )
        self.state: dict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError(
                "optimizer got an empty parameter list; layers in a plain list are not found, in an nn.ModuleList they are"
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    # -- groups ---------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own; the dict itself becomes the group.

        Example:
            >>> net = nn.Linear(2, 1)
            >>> optimizer = optim.SGD([net.weight], lr=0.1)
            >>> optimizer.add_param_group({"params": [net.bias], "lr": 0.2})
            >>> [group["lr"] for group in optimizer.param_groups]
            [0.1, 0.2]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering "
                "of tensors in sets will change between runs. Please use a list instead."
            )
        param_group["params"] = [params] if isinstance(params, Tensor) else list(params)
        _take_names(param_group)
        self._check_params(param_group["params"])
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        self._check_against_others(param_group)
        self.param_groups.append(param_group)

    def _check_params(self, params: list[Any]) -> None:
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(p).__name__}")
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        if len({id(p) for p in params}) != len(params):
            self._repeats = True
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will "
                "cause an error; see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=4,
            )

    def _check_against_others(self, group: dict[str, Any]) -> None:
        named = "param_names" in group
        for other in self.param_groups:
            if ("param_names" in other) != named:
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{'with' if named else 'without'} names to the optimizer"
                )
        seen = {id(p) for g in self.param_groups for p in g["params"]}
        if any(id(p) in seen for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients: None, or zeros in the same memory.

        Example:
            >>> w = torch.ones(2, requires_grad=True)
            >>> optimizer = optim.SGD([w], lr=0.1)
            >>> w.sum().backward()
            >>> optimizer.zero_grad()
            >>> w.grad is None
            True
        """
        if set_to_none:
            for group in self.param_groups:
                for p in group["params"]:
                    p._grad = None
            return
        grads = [p.grad for g in self.param_groups for p in g["params"] if p.grad is not None]
        for g in grads:
            if g.grad_fn is not None:
                g.detach_()
            else:
                g.requires_grad_(False)
        if grads:
            _foreach_zero_(grads)

    # -- stepping -------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once; `closure` recomputes the loss where a rule asks for it."""
        raise NotImplementedError

    def _count(self) -> None:
        self._step_count += 1  # schedulers look at it

    def _uncount(self) -> None:
        self._step_count -= 1

    def _closure(self, closure: Callable[[], Any] | None) -> Any:
        if closure is None:
            return None
        with enable_grad():
            return closure()

    # -- hooks ----------------------------------------------------------------------------------

    def _make_hooks(self) -> None:
        self._pre_hooks = OrderedDict()
        self._post_hooks = OrderedDict()
        self._file_hooks = {when: OrderedDict() for when in ("saving", "saved", "loading", "loaded")}

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step."""
        return RemovableHandle(self._pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return RemovableHandle(self._post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict` begins."""
        return self._register("saving", hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; what it returns takes its place."""
        return self._register("saved", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; what it returns is loaded instead."""
        return self._register("loading", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` when a state has been loaded."""
        return self._register("loaded", hook, prepend)

    def _register(self, when: str, hook: Callable, prepend: bool) -> RemovableHandle:
        hooks = self._file_hooks[when]
        handle = RemovableHandle(hooks, hook)
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    # -- files ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """State by parameter number, and the groups with numbers in place of parameters.

        Example:
            >>> optimizer = optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)
            >>> saved = optimizer.state_dict()
            >>> saved["state"], saved["param_groups"][0]["params"], saved["param_groups"][0]["lr"]
            ({}, [0], 0.1)
        """
        for hook in self._file_hooks["saving"].values():
            hook(self)
        number: dict[int, int] = {}
        groups, count = [], 0
        for group in self.param_groups:
            for i, p in enumerate(group["params"], count):
                number.setdefault(id(p), i)
            count += len(group["params"])
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [number[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {number[id(p)] if isinstance(p, Tensor) else p: s for p, s in self.state.items()}
        out = {"state": state, "param_groups": groups}
        for hook in self._file_hooks["saved"].values():
            replaced = hook(self, out)
            out = out if replaced is None else replaced
        return out

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the state saved by `state_dict`; tensors go to their parameter's device."""
        state_dict = state_dict.copy()
        for hook in self._file_hooks["loading"].values():
            replaced = hook(self, state_dict)
            state_dict = state_dict if replaced is None else replaced
        saved = deepcopy(state_dict["param_groups"])
        self._check_fits(saved)
        owner = {
            n: (p, theirs)
            for mine, theirs in zip(self.param_groups, saved)
            for n, p in zip(theirs["params"], mine["params"])
        }
        state: dict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in owner:
                p, group = owner[key]
                state[p] = self._fitted(p, value, bool(group.get("fused") or group.get("capturable")))
            else:
                state[key] = value
        for mine, theirs in zip(self.param_groups, saved):
            theirs["params"] = mine["params"]
            if "param_names" in mine:
                theirs.setdefault("param_names", mine["param_names"])
        before = {"state": self.state, "param_groups": self.param_groups}
        try:
            self.__setstate__({"state": state, "param_groups": saved})
        except BaseException:  # what cannot be a state: the optimiser goes on with its own
            self.__dict__.update(before)
            raise
        for hook in self._file_hooks["loaded"].values():
            hook(self)

    def _check_fits(self, saved: list[dict[str, Any]]) -> None:
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for mine, theirs in zip(self.param_groups, saved):
            if len(mine["params"]) != len(theirs["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
                )

    def _fitted(self, p: Tensor, value: Any, single: bool, key: str = "") -> Any:
        """A copy of a saved value beside `p`; `single`: a step count becomes float32, as when new."""
        if isinstance(value, Tensor):
            value = value.detach()
            if key == "step":
                return value.to("cpu", dtypes.float32 if single else value.dtype, copy=True)
            device = "cpu" if key in self._host else p.device
            return value.to(device, p.dtype if p.is_floating_point() else value.dtype, copy=True)
        if isinstance(value, dict):
            return {k: self._fitted(p, v, single, k) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self._fitted(p, v, single) for v in value)
        return value

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_pre_hooks" not in self.__dict__:
            self._make_hooks()
        self.defaults.setdefault("differentiable", False)
        for group in self.param_groups:
            for name, value in self._fills.items():
                group.setdefault(name, value)
            for p in group["params"]:
                held = self.state.get(p) or {}
                for name in self._host:
                    if name in held and not isinstance(held[name], Tensor):
                        held[name] = scalar(float(held[name]))

    def __repr__(self) -> str:
        lines = [type(self).__name__ + " ("]
        for i, group in enumerate(self.param_groups):
            lines.append(("\n" if i else "") + f"Parameter Group {i}")
            lines += [f"    {k}: {group[k]}" for k in sorted(group) if k != "params"]
        return "\n".join(lines) + "\n)"


def _take_names(group: dict[str, Any]) -> None:
    """Accept `model.named_parameters()` as well as `model.parameters()`."""
    names = [p[0] for p in group["params"] if isinstance(p, tuple)]
    if names and len(names) != len(group["params"]):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    if names:
        group["params"] = [p for _, p in group["params"]]
        group["param_names"] = names


def _counted(step: Callable, optimizer: Optimizer, args: tuple, kwargs: dict) -> Any:
    out = step(*args, **kwargs)
    optimizer._count()
    each_replay(optimizer._count, undo=optimizer._uncount)
    return out


def _with_hooks(step: Callable) -> Callable:
    """Wrap a subclass's step: hooks, and the count that schedulers look at."""
    if getattr(step, "hooked", False):
        return step

    @functools.wraps(step)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        self: Optimizer = args[0]
        if _global_pre_hooks or self._pre_hooks:
            for hook in (*_global_pre_hooks.values(), *self._pre_hooks.values()):
                replaced = hook(self, args, kwargs)
                if replaced is None:
                    continue
                if not (isinstance(replaced, tuple) and len(replaced) == 2):
                    raise RuntimeError(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), but got {replaced}."
                    )
                args, kwargs = replaced
        tracer = here.tracer
        if tracer is None:
            out = _counted(step, self, args, kwargs)
        else:
            out = tracer.step(_counted, step, self, args, kwargs)
        if _global_post_hooks or self._post_hooks:
            for hook in (*self._post_hooks.values(), *_global_post_hooks.values()):
                hook(self, args, kwargs)
        return out

    wrapped.hooked = True  # type: ignore[attr-defined]
    return wrapped


def scalar(value: float, fused: bool | None = None) -> Tensor:
    """A number of the host beside a parameter, as PyTorch keeps step counts: 0-d, on the CPU.

    It stays there with `capturable` and `fused`, too: a captured step raises it before each replay.
    """
    double = dtypes.get_default_dtype() is dtypes.float64 and not fused
    return tensor_over(np.array(value, np.float64 if double else np.float32), np.ndarray)
