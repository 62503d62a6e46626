"""`torch._jit_internal`: marks for TorchScript's compiler, under the name older libraries use."""

from __future__ import annotations

from typing import Any, Final

from .jit import _overload, _overload_method, export, ignore, is_scripting, unused

__all__ = ["Final", "boolean_dispatch", "export", "ignore", "is_scripting", "unused"]


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Any, if_false: Any, module_name: str, func_name: str
) -> Any:
    """A function that is one of two, as the argument of a name says."""

    def fn(*args: Any, **kwargs: Any) -> Any:
        flag = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if flag else if_false)(*args, **kwargs)

    fn.__name__, fn.__module__ = func_name, module_name
    return fn


def _copy_to_script_wrapper(fn: Any) -> Any:
    """A mark for methods of modules that scripted ones have as well: all of them are."""
    return fn


def is_tracing() -> bool:
    """Whether `jit.trace` is recording."""
    from .jit import is_tracing as asked

    return asked()


_marks = (_overload, _overload_method)  # asked for under this path
