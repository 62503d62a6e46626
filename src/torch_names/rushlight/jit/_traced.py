"""`jit.trace` and its files: what callers see of a recorded program."""

from __future__ import annotations

from typing import Any

from ..base.errors import NotYet
from ..fx.graph_module import GraphModule
from ..io import load as load_file
from ..nn.modules.module import Module
from ._files import unpacked
from ._scripted import RecursiveScriptModule, ScriptFunction, ScriptModule, TopLevelTracedModule, write
from ._trace import check, record

__all__ = ["load", "save", "trace", "trace_module"]


def trace(
    func: Any,
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: dict | None = None,
    _store_inputs: bool = True,
) -> Any:
    """A module (or function) that does what one run of `func` did, without its Python.

    Values that Python read from tensors are what they were; sizes are those of the inputs that come. The trace is run on other inputs of the same shapes and
    compared with `func`; `check_trace=False` leaves that out.
    """
    args = _as_args(example_inputs)
    kwargs = example_kwarg_inputs or {}
    module = func if isinstance(func, Module) else getattr(func, "__self__", None)
    module = module if isinstance(module, Module) else None
    name = type(func).__name__ if isinstance(func, Module) else getattr(func, "__name__", "Traced")
    called = func.forward if isinstance(func, Module) else func
    made = record(called, module, args, kwargs, name)
    if check_trace and not _draws(made):
        check(func, made, args, kwargs, max(check_tolerance, 1e-5))
    return _as(TopLevelTracedModule, made)


def _as_args(example: Any) -> tuple:
    if example is None:
        return ()
    return tuple(example) if isinstance(example, (tuple, list)) else (example,)


def _draws(module: GraphModule) -> bool:
    """Whether random numbers are drawn: two runs differ then, and nothing can be compared."""
    names = {getattr(n.target, "__name__", n.target) for n in module.graph.nodes}
    return any("rand" in n or "dropout" in n or n in _DRAWS for n in names)


_DRAWS = frozenset(("normal", "normal_", "uniform_", "bernoulli", "bernoulli_", "multinomial", "exponential_",
                    "poisson", "gumbel_softmax", "rrelu", "empty", "empty_like"))  # fmt: skip


def _as(kind: type[ScriptModule], module: GraphModule) -> Any:
    """The same object, known as a script module; its class is its own."""
    own = type(module)
    module.__class__ = type(kind.__name__, (own, kind), {"_scripted": own})
    return module


def trace_module(mod: Module, inputs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
    """As `trace`, for the methods named; a program has one, `forward`."""
    if set(inputs) != {"forward"}:
        raise NotYet(
            f"jit.trace_module: rushlight traces `forward` alone, not {sorted(set(inputs) - {'forward'})}. Trace a method "
            "with jit.trace(module.method, ...)."
        )
    return trace(mod, inputs["forward"], *args, **kwargs)


def save(m: Any, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Write a traced or scripted module to a file, which `load` reads without the Python that made it."""
    if not isinstance(m, (GraphModule, ScriptModule, ScriptFunction)):
        raise NotYet(
            f"jit.save: {type(m).__name__} was not traced, and rushlight compiles no Python. Use jit.trace with an "
            "example first, or save its state_dict()."
        )
    write(m, f, _extra_files)


def load(f: Any, map_location: Any = None, _extra_files: dict[str, Any] | None = None, **kwargs: Any) -> Any:
    """A module from a file of `save`; `_extra_files` gets what was saved under its names."""
    data = load_file(f, map_location=map_location, weights_only=True)
    made = _as(RecursiveScriptModule, unpacked(data))
    for name in _extra_files or {}:
        _extra_files[name] = data.get("extra_files", {}).get(name, b"")  # type: ignore[index]
    return made
