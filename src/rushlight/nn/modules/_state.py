"""A module's state as a dictionary: making it, loading it, and the errors if it does not fit."""

from __future__ import annotations

import itertools
import warnings
import weakref
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import Any

from ...base.config import settings
from ...base.shapes import Size
from ...core.gradients.tape import RemovableHandle
from ...core.modes import no_grad
from ...core.swap import swap_tensors
from ...core.tensor import Tensor
from ..parameter import Parameter, is_lazy
from ._global_hooks import HookHandle
from ._members import Members

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` returns."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class _WrappedHook:
    """A load hook; if it wants the module, that is its first argument."""

    def __init__(self, hook: Callable, module: Any = None) -> None:
        self.hook = hook
        # Weak: the module holds the hook, and is to end when nobody else holds it.
        self.module = None if module is None else weakref.ref(module)

    def __call__(self, *args: Any) -> Any:
        if self.module is None:
            return self.hook(*args)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args)

    def __reduce__(self) -> Any:
        return _WrappedHook, (self.hook, None if self.module is None else self.module())


class State(Members):
    """The part of Module that can be saved and restored."""

    _version: int = 1
    _state_dict_hooks: OrderedDict[int, Callable]
    _state_dict_pre_hooks: OrderedDict[int, Callable]
    _load_state_dict_pre_hooks: OrderedDict[int, Callable]
    _load_state_dict_post_hooks: OrderedDict[int, Callable]

    # -- hooks ----------------------------------------------------------------------------------

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        return HookHandle(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict`; it may change it.

        Returns:
            A handle; its `remove()` takes the hook away.

        Example:
            >>> net = nn.Linear(1, 1)
            >>> def drop_bias(module, state, prefix, metadata):
            ...     del state[prefix + "bias"]
            >>> handle = net.register_state_dict_post_hook(drop_bias)
            >>> list(net.state_dict())
            ['weight']
        """
        hook._from_public_api = True  # type: ignore[attr-defined]
        return HookHandle(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict`.

        Returns:
            A handle; its `remove()` takes the hook away.

        Example:
            >>> net = nn.Linear(1, 1)
            >>> handle = net.register_state_dict_pre_hook(lambda module, prefix, keep: print("saving"))
            >>> _ = net.state_dict()
            saving
        """
        return HookHandle(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook: Callable, with_module: bool = False) -> RemovableHandle:
        wrapped = _WrappedHook(hook, self if with_module else None)
        return HookHandle(self._load_state_dict_pre_hooks, wrapped)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call a hook before a module's own tensors are loaded; it may rename keys of the state dict.

        The hook gets `(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`.

        Returns:
            A handle; its `remove()` takes the hook away.

        Example:
            >>> net = nn.Linear(1, 1, bias=False)
            >>> def rename(module, state, prefix, *rest):
            ...     state[prefix + "weight"] = state.pop(prefix + "w")
            >>> handle = net.register_load_state_dict_pre_hook(rename)
            >>> net.load_state_dict({"w": torch.ones(1, 1)})
            <All keys matched successfully>
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may empty the lists of keys.

        Returns:
            A handle; its `remove()` takes the hook away.

        Example:
            >>> net = nn.Linear(1, 1)
            >>> handle = net.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
            >>> net.load_state_dict({"weight": torch.ones(1, 1)})
            <All keys matched successfully>
        """
        return HookHandle(self._load_state_dict_post_hooks, hook)

    # -- extra state ----------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """Return what `state_dict` keeps beside tensors; define it together with `set_extra_state`.

        Example:
            >>> class Counter(nn.Module):
            ...     n = 0
            ...     def get_extra_state(self):
            ...         return {"n": self.n}
            ...     def set_extra_state(self, state):
            ...         self.n = state["n"]
            >>> a, b = Counter(), Counter()
            >>> a.n = 5
            >>> _ = b.load_state_dict(a.state_dict())
            >>> b.n
            5
        """
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` returned; `load_state_dict` calls it.

        Args:
            state: the value found in the state dict.
        """
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    # -- writing --------------------------------------------------------------------------------

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        """Put this module's own tensors into `destination`."""
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = param if keep_vars else _detached(param)
        for name, buf in self._buffers.items():
            if buf is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buf if keep_vars else _detached(buf)
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Return all parameters and persistent buffers by dotted path, in order.

        The tensors share memory with the module: copy them (`v.clone()`) to keep a snapshot while
        training goes on.

        Args:
            destination: a dict to fill, instead of a new one.
            prefix: put before every path.
            keep_vars: True gives the parameters themselves, False detached tensors.

        Example:
            >>> net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
            >>> for name, value in net.state_dict().items():
            ...     print(name, tuple(value.shape))
            0.weight (3, 2)
            0.bias (3,)
            1.weight (3,)
            1.bias (3,)
            1.running_mean (3,)
            1.running_var (3,)
            1.num_batches_tracked ()
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module."
                "state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            given = (*args, None, "", False)[: max(len(args), 3)]
            destination = args[0] if destination is None else destination
            prefix = given[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = given[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        stack = [(self, prefix, *self._state_begun(destination, prefix, keep_vars))]
        while True:
            module, above, local_metadata, children = stack[-1]
            for name, child in children:
                if child is None:
                    continue
                below = above + name + "."
                if getattr(child.state_dict, "__func__", None) is not State.state_dict:
                    child.state_dict(destination=destination, prefix=below, keep_vars=keep_vars)
                    continue
                stack.append((child, below, *child._state_begun(destination, below, keep_vars)))
                break
            else:
                stack.pop()
                result = module._state_ended(destination, above, local_metadata)
                if not stack:
                    return result

    def _state_begun(self, destination: Any, prefix: str, keep_vars: bool) -> tuple[dict, Any]:
        """Save this module's own tensors; return its metadata and the children still to be saved."""
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        return local_metadata, iter(self._modules.items())

    def _state_ended(self, destination: Any, prefix: str, local_metadata: dict) -> Any:
        """Run the hooks that come after a module and its children were saved."""
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if not getattr(hook, "_from_public_api", False):
                destination = destination if result is None else result
            elif result is not None:
                raise RuntimeError("state_dict post-hook must return None")
        return destination

    # -- reading --------------------------------------------------------------------------------

    def _load_from_state_dict(
        self,
        state_dict: dict,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list,
        unexpected_keys: list,
        error_msgs: list,
    ) -> None:
        """Copy this module's own tensors from `state_dict`; children are not visited."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        persistent = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        local = {k: v for k, v in itertools.chain(self._parameters.items(), persistent.items()) if v is not None}
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, param in local.items():
            key = prefix + name
            if key in state_dict:
                self._load_one(name, key, param, state_dict[key], assign, error_msgs)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix, strict, missing_keys, unexpected_keys)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != prefix + _EXTRA_STATE_KEY_SUFFIX:
                    first, _, rest = key[len(prefix) :].partition(".")
                    if first not in (self._modules if rest else local):
                        unexpected_keys.append(key)

    def _load_extra_state(self, state_dict: dict, prefix: str, strict: bool, missing: list, unexpected: list) -> None:
        key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not State.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing.append(key)
        elif strict and key in state_dict:
            unexpected.append(key)

    def _load_one(self, name: str, key: str, param: Any, value: Any, assign: bool, errors: list) -> None:
        """Copy or assign one tensor; add a message to `errors` if it does not fit."""
        if not isinstance(value, Tensor):
            errors.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like '
                f"object from checkpoint but received {type(value)}"
            )
            return
        lazy = is_lazy(param)
        if not lazy and param.dim() == 0 and value.dim() == 1 and len(value) == 1:
            value = value[0]  # files older than PyTorch 0.4 hold scalars with one dimension
        if not lazy and value.shape != param.shape:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {value.shape} from "
                f"checkpoint, the shape in current model is {param.shape}."
            )
            return
        if not lazy and param.is_meta and not value.is_meta and not assign:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta "
                "parameter in the current model, which is a no-op. (Did you mean to pass "
                "`assign=True` to assign items in the state dictionary to their corresponding key "
                "in the module instead of copying them in place?)",
                stacklevel=2,
            )
        try:
            self._put(name, param, value, assign)
        except Exception as e:  # noqa: BLE001 - collected into one report
            errors.append(
                f'While {"swapping" if settings.swap_module_params else "copying"} the parameter named "{key}", whose dimensions in the model are '
                f"{'unknown' if lazy else param.size()} and whose dimensions in the checkpoint are "
                f"{Size(value.shape)}, an exception occurred : {e.args}."
            )

    def _put(self, name: str, param: Any, value: Tensor, assign: bool) -> None:
        with no_grad():
            if settings.swap_module_params:
                given, value = value, param.module_load(value, assign=assign)
                if value is given or value is param:
                    raise RuntimeError(
                        "module_load returned one of self or other, please .detach() the result if returning "
                        "one of the inputs in module_load"
                    )
            elif not assign:
                if not param.is_meta:
                    param.copy_(value)
                return
            if isinstance(param, Parameter):
                if isinstance(value, Parameter):
                    value.requires_grad_(param.requires_grad)
                else:
                    value = Parameter(value, requires_grad=param.requires_grad)
            if settings.swap_module_params:
                swap_tensors(param, value)
            else:
                setattr(self, name, value)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy parameters and buffers from a dictionary that `state_dict` made.

        Args:
            state_dict: tensors by dotted path.
            strict: False allows missing and unexpected paths; they are in the result.
            assign: True takes the tensors themselves instead of copying their values.

        Returns:
            A named tuple with the lists `missing_keys` and `unexpected_keys`.

        Raises:
            RuntimeError: if a shape does not fit, or a path is missing or unexpected and `strict` is
                True. The message lists all of them.

        Example:
            >>> a, b = nn.Linear(2, 3), nn.Linear(2, 3)
            >>> b.load_state_dict(a.state_dict())
            <All keys matched successfully>
            >>> bool((a.weight == b.weight).all())
            True
            >>> b.load_state_dict({"weight": torch.zeros(3, 2)}, strict=False).missing_keys
            ['bias']
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata  # type: ignore[attr-defined]
        found = _IncompatibleKeys([], [])
        errors: list[str] = []
        _load(self, state, "", metadata, assign, found, errors)
        if strict:
            if found.unexpected_keys:
                errors.insert(0, _listing("Unexpected", found.unexpected_keys))
            if found.missing_keys:
                errors.insert(0, _listing("Missing", found.missing_keys))
        if errors:
            lines = "\n\t".join(errors)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{lines}")
        return found


def _detached(t: Tensor) -> Tensor:
    return t if is_lazy(t) else t.detach()


def _listing(kind: str, keys: list[str]) -> str:
    quoted = ", ".join(f'"{k}"' for k in keys)
    return f"{kind} key(s) in state_dict: {quoted}. "


def _load(
    module: Any, state: dict, prefix: str, metadata: Any, assign: bool, found: _IncompatibleKeys, errors: list[str]
) -> None:
    """Load one module, then its children, then run its post hooks."""
    stack: list[tuple] = []
    _load_own(stack, module, state, prefix, metadata, assign, found, errors)
    while stack:
        module, state, prefix, children = stack[-1]
        for name, child in children:
            if child is not None:
                below = prefix + name + "."
                part = {k: v for k, v in state.items() if k.startswith(below)}
                _load_own(stack, child, part, below, metadata, assign, found, errors)
                break
        else:
            stack.pop()
            _loaded(module, found)


def _load_own(
    stack: list[tuple],
    module: Any,
    state: dict,
    prefix: str,
    metadata: Any,
    assign: bool,
    found: _IncompatibleKeys,
    errors: list[str],
) -> None:
    """Load one module's own tensors, and put it on the stack for its children."""
    local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local_metadata["assign_to_params_buffers"] = assign
    missing, unexpected = found
    module._load_from_state_dict(state, prefix, local_metadata, True, missing, unexpected, errors)
    stack.append((module, state, prefix, iter(module._modules.items())))


def _loaded(module: Any, found: _IncompatibleKeys) -> None:
    """Run the hooks that come after a module and its children were loaded."""
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, found) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                "return new values, if incompatible_keys need to be modified, it should be done "
                "inplace."
            )
