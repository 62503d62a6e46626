"""Which functions are public, and under which PyTorch namespace; ops declare, the top modules collect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .explain import explain_failures
from .inplace import change
from .tensor import Tensor

# namespace -> name -> function; "torch" is the top module, "functional" is nn.functional
NAMESPACES: dict[str, dict[str, Any]] = {}
when_published: list[Callable[[str, str, Any], None]] = []  # see core/arming.py


def public(
    *where: str, name: str | None = None, inplace: bool = False, aliases: tuple[str, ...] = ()
) -> Callable[[Callable], Callable]:
    """Publish a function: `@public("torch", "Tensor")`; `inplace=True` also makes `name_`."""
    places = where or ("torch", "Tensor")

    def register(fn: Callable) -> Callable:
        for label in (name or fn.__name__, *aliases):
            for place in places:
                publish(place, label, fn)
            if inplace:
                publish_inplace(label, fn, places)
        return fn

    return register


def publish(place: str, name: str, fn: Any) -> None:
    names = NAMESPACES.setdefault(place, {})
    names[name] = fn
    explain_failures(fn, name)
    if place == "Tensor":
        setattr(Tensor, name, fn)
    for hear in when_published:
        hear(place, name, fn)


def publish_inplace(name: str, fn: Callable, places: tuple[str, ...]) -> None:
    """`x.name_(...)`: what `name` computes, written into x."""

    def inplace(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return change(self, fn, *args, **kwargs)

    inplace.__name__ = inplace.__qualname__ = name + "_"
    inplace.__doc__ = f"In-place version of `{name}`: the result is written into this tensor."
    for place in places:
        if place != "special":  # the one namespace PyTorch gives no in-place forms
            publish(place, name + "_", inplace)


def into(out: Any, result: Any) -> Any:
    """Finish a call with `out=`: write the result there, as PyTorch does, or return it."""
    if out is None:
        return result
    if isinstance(result, tuple):
        for o, r in zip(out, result):
            into(o, r)
        return type(result)(*out) if hasattr(result, "_fields") else tuple(out)
    if result.requires_grad or out.requires_grad:
        raise RuntimeError(
            "functions with out=... arguments don't support automatic differentiation, but one of "
            "the arguments requires grad."
        )
    if out._a.shape != result._a.shape:
        out.resize_(result._a.shape)
    from .inplace import write

    return write(out, result)
