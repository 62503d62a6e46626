"""What `jit.script` returns: modules and functions that go on running as Python and know their program where it can be told."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
from collections.abc import Callable
from typing import Any

from ..base.errors import NotYet
from ..nn.modules.module import Module

_TOLD = ("graph", "inlined_graph", "code", "original_name")
_NO_PICKLE = (
    "ScriptModules cannot be deepcopied using copy.deepcopy or saved using torch.save. Mixed serialization of script and "
    "non-script modules is not supported. For purely script modules use my_script_module.save(<filename>) instead."
)


def program_of(scripted: Any, asked: str) -> Any:
    """The module of a graph that does what a scripted module or function does: read without an example."""
    from ..fx.graph_module import GraphModule
    from ..fx.proxy import TraceError

    if isinstance(scripted, GraphModule):
        return scripted
    name = scripted.original_name if isinstance(scripted, Module) else scripted.__name__
    called = scripted if isinstance(scripted, Module) else scripted.__wrapped__
    told = inspect.signature(called.forward if isinstance(called, Module) else called).parameters
    absent = {p: None for p, said in told.items() if said.default is None}
    if [*told][len(told) - len(absent) :] != [*absent]:
        raise NotYet(f"jit.script: {asked} of {name}: arguments stand behind one that may be None")
    try:
        # `x is None` is decided here, so the program takes none of these arguments.
        graph = _deep()().trace(called, absent)
        for node in [n for n in graph.nodes if n.op == "placeholder"][len(told) - len(absent) :]:
            graph.erase_node(node)
        return GraphModule(called if isinstance(called, Module) else Module(), graph, name)
    except (TraceError, TypeError, RuntimeError) as error:
        raise NotYet(
            f"jit.script: {asked} of {name}: its Python decides by values or sizes of tensors, and rushlight compiles no "
            "Python. Use jit.trace with an example, or save its state_dict()."
        ) from error


@functools.cache
def _deep() -> Callable[[], Any]:
    from ..fx import Tracer

    class Deep(Tracer):
        """Reads modules of the library as well: a file names functions only."""

        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return False

        def call_module(self, m: Module, forward: Callable, args: tuple, kwargs: dict) -> Any:
            own = m.__dict__  # of a module that `script` made, so nobody else's
            own["_check_input_dim"] = lambda input: None  # a program has no shapes to look at
            try:
                return super().call_module(m, forward, args, kwargs)
            finally:
                del own["_check_input_dim"]

    return Deep


def write(m: Any, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Write the program of a scripted or traced module to a file."""
    from ..io import save
    from ._files import packed

    extra = {k: v.encode() if isinstance(v, str) else v for k, v in (_extra_files or {}).items()}
    save({**packed(program_of(m, "jit.save")), "extra_files": extra}, f)


class ScriptModule(Module):
    """A module whose methods TorchScript would compile; here they go on running as Python.

    Example:
        >>> isinstance(torch.jit.ScriptModule(), nn.Module)
        True
    """

    def __getattr__(self, name: str) -> Any:
        if name == "original_name":
            return getattr(type(self), "_scripted", type(self)).__name__
        if name in _TOLD:
            found = program_of(self, name)
            return found.code if name == "code" else found.graph
        return super().__getattr__(name)

    def save(self, f: Any, **kwargs: Any) -> None:
        """Write the module's program to a file, which `jit.load` reads without the Python that made it.

        Args:
            f: the file.

        Example:
            >>> from io import BytesIO
            >>> file = BytesIO()
            >>> torch.jit.trace(nn.ReLU(), torch.ones(2)).save(file)
        """
        write(self, f, **kwargs)


class RecursiveScriptModule(ScriptModule):
    """What `script` returns for a module: it shares the parameters, and its parts are such modules as well.

    Example:
        >>> isinstance(nn.ReLU(), torch.jit.RecursiveScriptModule)
        False
    """

    def __deepcopy__(self, memo: dict) -> Any:
        made = memo[id(self)] = object.__new__(type(self))
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise pickle.PickleError(_NO_PICKLE)


class TopLevelTracedModule(ScriptModule):
    """What `trace` returns.

    Example:
        >>> isinstance(torch.jit.trace(nn.ReLU(), torch.ones(2)), torch.jit.TopLevelTracedModule)
        True
    """


class ScriptFunction:
    """What `script` returns for a function: it goes on running as Python.

    Args:
        fn: the function.

    Example:
        >>> isinstance(torch.relu, torch.jit.ScriptFunction)
        False
    """

    def __init__(self, fn: Callable) -> None:
        functools.update_wrapper(self, fn)
        self.name = self.qualified_name = fn.__name__
        self.__name__, self.__qualname__ = "ScriptFunction", "torch.jit.ScriptFunction"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)  # type: ignore[attr-defined]

    def __reduce__(self) -> str:
        return self.__wrapped__.__qualname__  # type: ignore[attr-defined]  # what a decorated function's name stands for

    @property
    def graph(self) -> Any:
        """The steps of the function."""
        return program_of(self, "graph").graph

    inlined_graph = graph

    @property
    def code(self) -> str:
        """The Python of these steps."""
        return program_of(self, "code").code

    save = ScriptModule.save


def _class_of(kind: type[Module]) -> type[Module]:
    names = {
        "_scripted": kind, "__module__": kind.__module__, "__doc__": kind.__doc__,
        "extra_repr": lambda self: f"original_name={kind.__name__}",
    }  # fmt: skip
    return type("RecursiveScriptModule", (kind, RecursiveScriptModule), names)


def scripted_module(module: Module, known: dict[int, Module] | None = None) -> Module:
    """A second module of the same parameters and buffers, whose parts are such modules as well."""
    known = {} if known is None else known
    if isinstance(module, ScriptModule):
        return module
    if id(module) not in known:
        made = known[id(module)] = object.__new__(_class_of(type(module)))
        own = {k: v for k, v in module.__dict__.items() if k != "_compiled_call_impl"}
        tables = {k: copy.copy(v) for k, v in own.items() if isinstance(v, (dict, set, list))}
        made.__dict__.update(own | tables)
        parts = made.__dict__["_modules"]
        for name, part in parts.items():
            if part is not None:
                parts[name] = scripted_module(part, known)
    return known[id(module)]
