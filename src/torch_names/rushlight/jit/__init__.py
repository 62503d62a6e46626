"""`torch.jit` without a compiler: what ordinary code marks, asks and scripts goes on in Python."""

from __future__ import annotations

import builtins
import typing
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, NamedTuple

from ..base.config import settings
from ..base.refusal import refuser
from ..futures import Future
from ..nn.modules.module import Module
from ..nn.parameter import is_lazy
from ._scripted import RecursiveScriptModule, ScriptFunction, ScriptModule, TopLevelTracedModule, scripted_module
from .annotations import List as _List  # noqa: F401, UP035 - and `jit.annotations` is the module

_ADVICE = "Call the function as it is; to make it faster see rushlight.compile, to keep a model save its state_dict()."


class Error(RuntimeError):
    """What scripted code raises while it runs, in PyTorch; here it raises its own errors."""


class ScriptWarning(DeprecationWarning, UserWarning):
    """What is scripted runs as plain Python. PyTorch says at the same place that scripting is deprecated."""


_no_compiler = refuser("jit", "has no TorchScript", _ADVICE)
_get_trace_graph = _no_compiler("_get_trace_graph")
_told: set[str] = set()  # what has been said in this process

_TRACING = {"load": "_traced", "save": "_traced", "trace": "_traced", "trace_module": "_traced",
            "TracingCheckError": "_trace", "_recursive": "_recursive"}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Tracing, loaded when it is first asked for."""
    if name not in _TRACING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    from importlib import import_module

    home = import_module(f"{__name__}.{_TRACING[name]}")
    return home if name.startswith("_") else getattr(home, name)


class Attribute(NamedTuple):
    """A value with the type that a compiler should give it.

    Args:
        value, type: the two.

    Example:
        >>> torch.jit.Attribute(0.5, float).value
        0.5
    """

    value: Any
    type: Any


class TracerWarning(Warning):
    """What a tracer of PyTorch's would say; rushlight has none, so it is never raised."""


def is_scripting() -> bool:
    """Whether TorchScript is compiling this line: always False.

    Example:
        >>> torch.jit.is_scripting()
        False
    """
    return False


def is_tracing() -> bool:
    """Whether `trace` is recording this line.

    Example:
        >>> torch.jit.is_tracing()
        False
    """
    import sys

    tracer = sys.modules.get(f"{__name__}._trace")  # not loaded: nobody traces
    return tracer is not None and tracer.is_tracing()


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """A module or function that is known as scripted; Python goes on running it, and one warning says so.

    A module becomes a second one of the same parameters. A class, a list or a dict stays as it is.

    Args:
        obj: the function, class or module.
        args, kwargs: accepted and not needed.

    Raises:
        NotImplementedError: if the environment says `RUSHLIGHT_JIT=refuse`.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     net = torch.jit.script(nn.Linear(2, 1))
        >>> isinstance(net, torch.jit.ScriptModule), net.original_name
        (True, 'Linear')
    """
    if settings.jit == "refuse":
        _no_compiler("script")()
    if "script" not in _told:
        _told.add("script")
        warnings.warn(
            "jit.script: rushlight has no TorchScript; what is scripted runs as plain Python "
            "(RUSHLIGHT_JIT=refuse makes this an error)",
            ScriptWarning,
            stacklevel=2,
        )
    if builtins.isinstance(obj, Module):
        for kind, held in (("parameters", obj.named_parameters()), ("buffers", obj.named_buffers())):
            empty = [name for name, t in held if is_lazy(t)]
            if empty:
                raise RuntimeError(
                    f"'{type(obj).__name__}' has uninitialized {kind} {empty[0]}. Did you forget to run a forward pass?"
                )
        return scripted_module(obj)
    return ScriptFunction(obj) if builtins.isinstance(obj, FunctionType) else obj


def script_method(fn: Callable) -> Callable:
    """Return the method `fn` as it is: the module that has it is scripted.

    Example:
        >>> torch.jit.script_method(torch.relu) is torch.relu
        True
    """
    return fn


def script_if_tracing(fn: Callable) -> Callable:
    """Return the function `fn` as it is.

    Example:
        >>> torch.jit.script_if_tracing(torch.relu) is torch.relu
        True
    """
    return fn


_script_if_tracing = script_if_tracing  # torchvision asks for it


def unused(fn: Callable) -> Callable:
    """Mark a method `fn` that a TorchScript compiler should skip; it stays as it is.

    Example:
        >>> class Net(nn.Module):
        ...     @torch.jit.unused
        ...     def show(self):
        ...         return "shown"
        >>> Net().show()
        'shown'
    """
    return fn


def export(fn: Callable) -> Callable:
    """Mark a method `fn` that a TorchScript compiler should include; it stays as it is.

    Example:
        >>> class Net(nn.Module):
        ...     @torch.jit.export
        ...     def twice(self, x):
        ...         return 2 * x
        >>> Net().twice(3)
        6
    """
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Mark a method that TorchScript should leave to Python; it stays as it is.

    Args:
        drop: whether calls are left out of saved programs; or the method itself.

    Example:
        >>> class Net(nn.Module):
        ...     @torch.jit.ignore
        ...     def show(self):
        ...         return "shown"
        >>> Net().show()
        'shown'
    """
    return drop if callable(drop) else export


def interface(obj: type) -> type:
    """Mark a class `obj` that describes what others must have; it stays as it is.

    Raises:
        RuntimeError: if `obj` is not a class.

    Example:
        >>> @torch.jit.interface
        ... class Block:
        ...     pass
        >>> Block.__name__
        'Block'
    """
    if not builtins.isinstance(obj, type):
        raise RuntimeError("interface must be applied to a class")
    return obj


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value; the type is for a compiler.

    Args:
        the_type, the_value: the two.

    Example:
        >>> torch.jit.annotate(list[int], [])
        []
    """
    return the_value


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """The module itself, which must be in evaluation mode, as in PyTorch.

    Args:
        mod: the module.
        preserved_attrs, optimize_numerics: accepted and not needed.

    Raises:
        RuntimeError: if the module is in training mode.

    Example:
        >>> net = nn.Dropout().eval()
        >>> torch.jit.freeze(net) is net
        True
    """
    if getattr(mod, "training", False):
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode.")
    return mod


def fork(func: Callable, *args: Any, **kwargs: Any) -> Future:
    """What `func` returns, as a future: outside of TorchScript it is computed at once.

    Args:
        func: any function; and what it is called with.

    Example:
        >>> torch.jit.wait(torch.jit.fork(torch.add, torch.tensor(1), torch.tensor(2)))
        tensor(3)
    """
    made: Future = Future()
    made.set_result(func(*args, **kwargs))
    return made


def wait(future: Future) -> Any:
    """What a `fork` has computed.

    Args:
        future: what `fork` returned.

    Example:
        >>> torch.jit.wait(torch.jit.fork(len, [1, 2]))
        2
    """
    return future.wait()


def isinstance(obj: Any, target_type: Any) -> bool:  # noqa: A001 - PyTorch's name
    """Whether `obj` is of a type such as `List[int]` or `Dict[str, Tensor]`, members included.

    Args:
        obj: any value.
        target_type: a type, or a tuple of types.

    Example:
        >>> torch.jit.isinstance([1, 2], list[int]), torch.jit.isinstance([1, "a"], list[int])
        (True, False)
    """
    return _fits(obj, target_type)


def _fits(obj: Any, kind: Any) -> bool:
    if builtins.isinstance(kind, tuple):
        return any(_fits(obj, k) for k in kind)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is None:
        return kind is Any or builtins.isinstance(obj, type(None) if kind is None else kind)
    if origin is typing.Union or str(origin) == "<class 'types.UnionType'>":
        return any(_fits(obj, k) for k in inner)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is dict:
        return all(_fits(k, inner[0]) and _fits(v, inner[1]) for k, v in obj.items())
    if origin is tuple and Ellipsis not in inner:
        return len(obj) == len(inner) and all(map(_fits, obj, inner))
    return all(_fits(member, inner[0]) for member in obj)


def _overload(fn: Callable) -> Callable:
    return fn


def _overload_method(fn: Callable) -> Callable:
    return fn


__all__ = [
    "Attribute", "Final", "RecursiveScriptModule", "ScriptFunction", "ScriptModule", "TopLevelTracedModule", "TracerWarning",
    "annotate", "annotations", "export", "fork", "freeze", "ignore", "interface", "is_scripting",
    "is_tracing", "isinstance", "script", "script_if_tracing", "script_method", "unused", "wait",
]  # fmt: skip
