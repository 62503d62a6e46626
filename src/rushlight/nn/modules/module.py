"""Module: the base class of every layer and model."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, Self, TypeVar

from ...base.config import settings
from ...core.changes import changes
from ...core.compiling import meeting
from ...core.op import native
from ...core.tensor import Tensor
from ..parameter import Buffer, Parameter
from . import _members
from ._convert import MapsTensors
from ._global_hooks import (  # noqa: F401 - their public home, as in PyTorch
    GLOBAL,
    on_registration,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from ._hooks import Hooks
from ._members import DEEPEST, children_first, typename
from ._state import State, _IncompatibleKeys  # noqa: F401

# PyTorch's names of the tables of hooks that every module calls; the same objects, so that they may be looked at.
_global_backward_pre_hooks, _global_backward_hooks = GLOBAL.backward_pre, GLOBAL.backward
_global_forward_pre_hooks, _global_forward_hooks = GLOBAL.forward_pre, GLOBAL.forward
_global_forward_hooks_always_called = GLOBAL.forward_always
_global_forward_hooks_with_kwargs = GLOBAL.forward_with_kwargs
_global_buffer_registration_hooks = GLOBAL.registration["buffer"]
_global_module_registration_hooks = GLOBAL.registration["module"]
_global_parameter_registration_hooks = GLOBAL.registration["parameter"]


class _WithTables(ModuleType):
    """A module in which such a table may be assigned: every call then looks at what was given."""

    def __setattr__(self, name: str, value: Any) -> None:
        table = vars(self).get(name)
        if not (name.startswith("_global_") and name.endswith("_hooks") and isinstance(table, dict)):
            super().__setattr__(name, value)
        elif table is not value:
            for key in table:
                GLOBAL.calls.pop(key, None)
            table.clear()
            table.update(value)
            if name.partition("_hooks")[0].endswith(("backward", "forward", "pre")):
                GLOBAL.calls.update(value)


sys.modules[__name__].__class__ = _WithTables

_TABLES = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)
_EXTRA_STATE_KEY_SUFFIX = "_extra_state"  # libraries that load modules themselves use it
if TYPE_CHECKING:
    _Given = ParamSpec("_Given")
    _Gives = TypeVar("_Gives", covariant=True)

    class _HasForward(Protocol[_Given, _Gives]):
        """What a call of a module takes and gives: what its `forward` does."""

        def forward(self, *args: _Given.args, **kwargs: _Given.kwargs) -> _Gives: ...


_DEVICE_MIX = "Expected all tensors to be on the same device"


def _forward_unimplemented(self: Any, *input: Any) -> None:
    """Compute the module's output; every subclass defines its own.

    Example:
        >>> class Double(nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> Double()(torch.tensor([1.0, 2.0]))
        tensor([2., 4.])
    """
    from difflib import get_close_matches

    others = [name for name in vars(type(self)) if name != "forward"]
    near = get_close_matches("forward", others, 1, 0.7)
    raise NotImplementedError(
        f'Module [{type(self).__name__}] is missing the required "forward" function'
        + (f"; it has one named {near[0]!r}" if near else "")
    )


class _CallSignature:
    """What `inspect.signature(net)` answers: calls of modules are in C, where inspect finds none."""

    def __get__(self, module: Module | None, kind: type[Module]) -> Any:
        if module is None or kind.__call__ is not Module.__call__:
            raise AttributeError("__signature__")  # of the class, or of a __call__ of its own
        import inspect

        return inspect.Signature(
            [
                inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
            ]
        )


class Module(MapsTensors, State, Hooks):
    """The base class of every layer and every model.

    A module holds parameters (trained), buffers (kept, not trained) and other modules. Assigning
    one of them to an attribute registers it under that name. A subclass calls `super().__init__()`
    first, makes its parts, and says in `forward` what it computes; the module is then called like
    a function.

    Attributes:
        training: True after `train()`, False after `eval()`. Layers such as dropout and batch norm
            read it.

    Example:
        >>> class Net(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.hidden = nn.Linear(4, 8)
        ...         self.out = nn.Linear(8, 2)
        ...     def forward(self, x):
        ...         return self.out(self.hidden(x).relu())
        >>> net = Net()
        >>> net(torch.zeros(3, 4)).shape
        torch.Size([3, 2])
        >>> [name for name, _ in net.named_parameters()]
        ['hidden.weight', 'hidden.bias', 'out.weight', 'out.bias']
        >>> net
        Net(
          (hidden): Linear(in_features=4, out_features=8, bias=True)
          (out): Linear(in_features=8, out_features=2, bias=True)
        )
    """

    dump_patches: bool = False
    call_super_init: bool = False
    training: bool
    _compiled_call_impl: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        own = self.__dict__  # straight into the dict: __setattr__ would look for parameters first
        own["training"] = True
        own["_parameters"] = {}
        own["_buffers"] = {}
        own["_non_persistent_buffers_set"] = set()
        own["_is_full_backward_hook"] = None
        for table in _TABLES:
            own[table] = OrderedDict()
        own["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    forward: Callable[..., Any] = _forward_unimplemented
    __signature__ = _CallSignature()

    # -- the call -------------------------------------------------------------------------------

    if TYPE_CHECKING:

        def __call__(self: _HasForward[_Given, _Gives], *args: _Given.args, **kwargs: _Given.kwargs) -> _Gives: ...
    else:

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            try:
                if not (
                    self._forward_hooks
                    or self._forward_pre_hooks
                    or self._backward_hooks
                    or self._backward_pre_hooks
                    or GLOBAL.calls
                    or self._compiled_call_impl
                ):
                    return self.forward(*args, **kwargs)
                return (self._compiled_call_impl or self._call_impl)(*args, **kwargs)
            except RuntimeError as e:
                _say_where(self, e)
                raise

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """Call `forward` and all hooks: this is what `compile` compiles."""
        return self._hooked_call(args, kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile this module: from now on its calls are recorded once and replayed.

        Takes the arguments of `torch.compile`. The module itself stays what it is, with the same
        parameters and the same names in `state_dict`.

        Example:
            >>> net = nn.Linear(2, 2, bias=False)
            >>> _ = nn.init.eye_(net.weight)
            >>> net.compile()
            >>> net(torch.ones(1, 2)).detach()
            tensor([[1., 1.]])
        """
        compiled = meeting.compile(self._call_impl, *args, **kwargs)
        object.__setattr__(self, "_compiled_call_impl", compiled)

    # -- attributes -----------------------------------------------------------------------------

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        for table in _TABLES:
            self.__dict__.setdefault(table, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def __getstate__(self) -> dict:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if "_modules" in own:  # made last in __init__, so the other tables are there, too
            table = own["_parameters"]
            if name in table:
                return table[name]
            table = own["_modules"]
            if name in table:
                return table[name]
            table = own["_buffers"]
            if name in table:
                return table[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        changes[0] += 1
        own = self.__dict__
        parameters = own.get("_parameters")
        is_tensor = isinstance(value, Tensor)  # first, because isinstance(value, Parameter) is slow
        if is_tensor and isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, own, self._buffers, self._modules)
            self.register_parameter(name, value)
        elif parameters is not None and name in parameters:
            if value is not None:
                raise _wrong_kind(value, "parameter", name, "nn.Parameter")
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            if own.get("_modules") is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, own, self._parameters, self._buffers)
            self._modules[name] = on_registration("module", self, name, value)
        elif name in own.get("_modules", ()):
            if value is not None:
                raise _wrong_kind(value, "child module", name, "nn.Module")
            self._modules[name] = on_registration("module", self, name, None)
        elif (is_tensor and isinstance(value, Buffer)) or name in own.get("_buffers", ()):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise _wrong_kind(value, "buffer", name, "nn.Buffer", f"{settings.module}.Tensor")
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        if isinstance(value, Buffer):
            self._forget(name, self.__dict__, self._parameters, self._modules)
            persistent = getattr(value, "persistent", True)  # subclasses may lack that argument
            self.register_buffer(name, value, *(() if persistent else (False,)))
        else:
            self._buffers[name] = on_registration("buffer", self, name, value)

    def _forget(self, name: str, *tables: dict) -> None:
        """Remove a name from other tables: a name has one meaning at a time."""
        for table in tables:
            table.pop(name, None)
        if name not in self._buffers:
            self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        changes[0] += 1
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted({n for n in names if not n[:1].isdigit()})

    # -- modes ----------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Set training mode for this module and every module in it, and return the module.

        Args:
            mode: True for training, False for evaluation.

        Raises:
            ValueError: if `mode` is not a bool.

        Example:
            >>> net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
            >>> net.train(False)[1].training
            False
            >>> net.train()[1].training
            True
        """
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module, own in children_first(self, "train", Module.train):
            if own:
                module.train(mode)
            else:
                module.training = mode
        return self

    def eval(self) -> Self:
        """Set evaluation mode, the same as `train(False)`, and return the module.

        Dropout passes its input on and batch norm uses its running statistics. Gradients are still
        recorded: `torch.no_grad()` turns those off.

        Example:
            >>> net = nn.Dropout(0.5).eval()
            >>> net(torch.ones(3))
            tensor([1., 1., 1.])
        """
        return self.train(False)

    # -- printing -------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return the text that is printed between the module's brackets; subclasses define their own.

        Example:
            >>> class Scale(nn.Module):
            ...     def __init__(self, by):
            ...         super().__init__()
            ...         self.by = by
            ...     def extra_repr(self):
            ...         return f"by={self.by}"
            >>> Scale(3)
            Scale(by=3)
        """
        return ""

    def __repr__(self) -> str:
        """The module and all modules in it as text, made without recursion."""
        out: list[str] = []
        # A stack of modules and closing brackets that are still to be printed.
        waiting: list[tuple[int, str, Any]] = [(0, "", self)]
        while waiting:
            depth, head, module = waiting.pop()
            pad = "  " * depth
            if isinstance(module, str):
                out.append(pad + module)
            elif module is not self and type(module).__repr__ is not Module.__repr__:
                out.append(pad + head + indent(repr(module), len(pad)))
            else:
                out += _opened(module, depth, head, waiting)
        return "\n".join(out)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from .html import module_html

        return module_html(self)

    def _replicate_for_data_parallel(self) -> Any:
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        replica._parameters = dict(self._parameters)
        replica._buffers = self._buffers.copy()
        replica._modules = self._modules.copy()
        return replica


# Annotations of its base classes name it, and typing.get_type_hints looks for it in their file.
_members.Module = Module  # type: ignore[misc]


def _opened(module: Module, depth: int, head: str, waiting: list) -> list[str]:
    """The first lines of a module's text; its children and the closing bracket go to `waiting`."""
    extra = module.extra_repr()
    lines = extra.split("\n") if extra else []
    pad = "  " * depth
    begin = f"{pad}{head}{module._get_name()}("
    if not module._modules and len(lines) < 2:
        return [begin + "".join(lines) + ")"]
    if depth > DEEPEST:
        raise RecursionError("modules are nested without end; one of them contains itself")
    waiting.append((depth, "", ")"))
    below = reversed(module._modules.items())
    waiting += [(depth + 1, f"({name}): ", child) for name, child in below]
    return [begin, *[f"{pad}  {line}" for line in lines]]


def indent(text: str, spaces: int) -> str:
    """Indent every line but the first.

    Args:
        text: the lines.
        spaces: by how much.

    Example:
        >>> nn.modules.module.indent("a b".replace(" ", chr(10)), 2).splitlines()
        ['a', '  b']
    """
    return text.replace("\n", "\n" + " " * spaces)


_addindent = indent


def _wrong_kind(value: object, kind: str, name: str, *expected: str) -> TypeError:
    first = f"{settings.module}.{expected[0]}"
    wanted = ", ".join([first, *expected[1:]])
    return TypeError(f"cannot assign '{typename(value)}' as {kind} '{name}' ({wanted} or None expected)")


def _say_where(module: Module, error: Any) -> None:
    """Add the path of the module that failed to an error about tensors on two devices."""
    if not (error.args and isinstance(error.args[0], str) and error.args[0].startswith(_DEVICE_MIX)):
        return
    if not hasattr(error, "at_module"):
        error.at_module, error.plain = module, error.args[0]
    culprit = error.at_module
    path = next((name for name, m in module.named_modules() if m is culprit), "")
    kind = type(culprit).__name__
    where = f"{path!r} ({kind}) of {type(module).__name__}" if path else kind
    error.args = (f"{error.plain} In module {where}.",)


if native is not None:
    # calls, and what modules hold, without a line of Python: core/native/modules.c
    Module.__call__ = native.know_modules(Module, GLOBAL, _say_where)  # type: ignore[method-assign]
