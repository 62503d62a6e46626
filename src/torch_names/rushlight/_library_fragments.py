"""`torch.library.Library`, `define` and `impl`: operators that are named first and implemented later, device by device."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from . import ops
from ._library_ops import CustomOpDef
from .core.tensor import Tensor

__all__ = ["Library", "define", "impl"]

# PyTorch's names of dispatch keys: the device whose tensors a function is for, None for all that have no other.
_KEYS = {"default": None, "CompositeExplicitAutograd": None, "Meta": "meta", "CPU": "cpu", "CUDA": "cuda"}
_IMPLICIT = "CompositeImplicitAutograd"  # computed by operators that have derivatives of their own
_SCHEMA = re.compile(r"\s*([\w.]*)\s*\((.*)\)\s*->\s*(.*)\s*", re.DOTALL)


class DefinedOp:
    """An operator by its schema; functions for devices come later.

    Args:
        name: as `namespace::name`.
        schema: the arguments and results, as `(Tensor x, int n) -> Tensor`.
    """

    def __init__(self, name: str, schema: str) -> None:
        self._qualname, self.schema = name, schema
        self._namespace, self.__name__ = name.split("::")
        self._implicit: Callable | None = None
        self._explicit: CustomOpDef | None = None
        self.default = self  # the only overload there is

    def impl(self, key: str, fn: Callable) -> None:
        """Let `fn` compute for a dispatch key, or for a device type."""
        if key == _IMPLICIT or key.startswith("Autograd"):
            self._implicit = fn
            return
        kind = _KEYS.get(key, key.lower())
        if kind == "meta":
            self._known().register_fake(fn)
        elif self._explicit is None:
            self._explicit = CustomOpDef(self._qualname, fn, frozenset(), kind)
        else:
            self._explicit.register_kernel(kind, fn)

    def _known(self) -> CustomOpDef:
        if self._explicit is None:
            raise RuntimeError(f"{self}: give it a function for a device before one for 'Meta'")
        return self._explicit

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._implicit is not None:
            return self._implicit(*args, **kwargs)
        if self._explicit is None:
            kind = next((a.device.type for a in args if isinstance(a, Tensor)), "cpu")
            raise NotImplementedError(
                f"Could not run '{self._qualname}' with arguments from the '{kind.upper()}' backend: "
                "nobody has implemented it."
            )
        return self._explicit(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._namespace}.{self.__name__}')>"


_defined: dict[str, DefinedOp] = {}  # by `namespace::name`


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
        name = f"{self.ns}::{found[1].partition('.')[0]}"
        op = _op(name)
        op.schema = schema
        ops.register(self.ns, op.__name__, op)
        return found[1]

    def impl(self, op_name: Any, fn: Callable, dispatch_key: str = "", **options: Any) -> None:
        """Let a function compute an operator for a dispatch key, such as "CPU"."""
        name = getattr(op_name, "_qualname", None) or str(op_name)
        whole = name if "::" in name else f"{self.ns}::{name}"
        _op(whole).impl(dispatch_key or self.dispatch_key or _IMPLICIT, fn)


def _op(name: str) -> DefinedOp:
    """An operator, which functions may be given to before somebody defines it."""
    return _defined.setdefault(name, DefinedOp(name, ""))


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
        for kind in [types] if isinstance(types, str) else types:
            _op(qualname).impl(kind or "default", given)
        return given

    if func is None:
        return register
    register(func)
    return None
