"""`torch.library.Library`, `define` and `impl`: operators that are named first and implemented later, device by device."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

from ._library_ops import CustomOpDef, _defined

__all__ = ["Library", "define", "impl"]

# PyTorch's names of dispatch keys: the device whose tensors a function is for, None for all that have no other.
_KEYS = {"default": None, "CompositeExplicitAutograd": None, "Meta": "meta", "CPU": "cpu", "CUDA": "cuda"}
_IMPLICIT = "CompositeImplicitAutograd"  # computed by operators that have derivatives of their own
_SCHEMA = re.compile(r"\s*([\w.]*)\s*\((.*)\)\s*->\s*(.*)\s*", re.DOTALL)


def signature_of(schema: str) -> tuple[inspect.Signature, frozenset]:
    """What `(Tensor x, Tensor(a!) y, int n=3, *, float s=1.0) -> Tensor` takes, and the names of what it writes into."""
    parameters, written = [], []
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for argument in filter(None, (part.strip() for part in re.split(r",(?![^\[]*\])", schema))):
        if argument == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        declared, _, default = argument.partition("=")
        annotation, _, name = declared.strip().rpartition(" ")
        value = _default(default.strip()) if default else inspect.Parameter.empty
        parameters.append(inspect.Parameter(name, kind, default=value, annotation=annotation))
        if "!" in annotation:
            written.append(name)
    return inspect.Signature(parameters), frozenset(written)


def _default(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):  # a dtype, a layout or a memory format
        return getattr(importlib.import_module(__package__), text, None)


class Library:
    """Operators of one namespace: defined by schemas, implemented by functions.

    Args:
        ns: the namespace.
        kind: "DEF" for a new one, "FRAGMENT" for more of one, "IMPL" for functions only.
        dispatch_key: what `impl` is for if it does not say.

    Raises:
        ValueError: for another kind.

    Example:
        >>> lib = torch.library.Library("docs_f", "DEF")
        >>> _ = lib.define("twice(Tensor x) -> Tensor")
        >>> lib.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
        >>> torch.ops.docs_f.twice(torch.ones(2))
        tensor([2., 2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"Unsupported kind: {kind}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Name an operator by its schema, `name(Tensor x) -> Tensor`; returns the name."""
        found = _SCHEMA.fullmatch(schema)
        if found is None or not found[1]:
            raise RuntimeError(f"expected a schema of the form name(arguments) -> results, got {schema!r}")
        op = _op(f"{self.ns}::{found[1].partition('.')[0]}")
        if op._signature is not None:
            raise RuntimeError(
                f"Tried to register an operator ({self.ns}::{schema}) with the same name and overload name multiple times."
            )
        op._schema = f"{self.ns}::{schema}"
        op._define(*signature_of(found[2]))
        return found[1]

    def impl(self, op_name: Any, fn: Callable, dispatch_key: str = "", **options: Any) -> None:
        """Let a function compute an operator for a dispatch key, such as "CPU"."""
        name = getattr(op_name, "_qualname", None) or str(op_name)
        op, key = _op(name if "::" in name else f"{self.ns}::{name}"), dispatch_key or self.dispatch_key or _IMPLICIT
        kind = _KEYS.get(key, key.lower())
        if key == _IMPLICIT or key.startswith("Autograd"):
            op._implicit = fn
        elif kind == "meta":
            op.register_fake(fn)
        else:
            op.register_kernel(kind, fn)


def _op(name: str) -> CustomOpDef:
    """An operator, which functions may be given to before somebody defines it."""
    return _defined.setdefault(name, CustomOpDef(name))


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Name an operator; `impl` says what computes it.

    Args:
        qualname: as `namespace::name`.
        schema: its arguments and results, `(Tensor x) -> Tensor`.
        lib: accepted and not needed.

    Raises:
        ValueError: if the name is not of that form.

    Example:
        >>> torch.library.define("docs_g::twice", "(Tensor x) -> Tensor")
        >>> @torch.library.impl("docs_g::twice", "CPU")
        ... def twice(x):
        ...     return x * 2
        >>> torch.ops.docs_g.twice(torch.ones(2))
        tensor([2., 2.])
    """
    if qualname.count("::") != 1:
        raise ValueError(f"expected `qualname` to be of the form namespace::name, got {qualname!r}")
    ns, name = qualname.split("::")
    Library(ns, "FRAGMENT").define(f"{name}{schema}", tags=tags)


def impl(qualname: Any, types: str | Sequence[str] = "", func: Callable | None = None, *, lib: Any = None) -> Any:
    """Say what computes an operator for one or several device types; without `func`, a decorator.

    Args:
        qualname: `namespace::name` of an operator; `define` may come before or after.
        types: such as "cpu", "CUDA" or "default".
        lib: accepted and not needed.

    Example:
        >>> torch.library.define("docs_h::half", "(Tensor x) -> Tensor")
        >>> torch.library.impl("docs_h::half", "default", lambda x: x / 2)
        >>> torch.ops.docs_h.half(torch.ones(2))
        tensor([0.5000, 0.5000])
    """
    if isinstance(qualname, Library):  # the older form: a library, then the name, then the key
        library, name, key = qualname, types, str(func or "")

        def given_later(fn: Callable) -> Callable:
            library.impl(name, fn, key)
            return fn

        return given_later

    def register(given: Callable) -> Callable:
        library = Library(qualname.partition("::")[0], "IMPL")
        for kind in [types] if isinstance(types, str) else types:
            library.impl(qualname, given, kind or "default")
        return given

    if func is None:
        return register
    register(func)
    return None
