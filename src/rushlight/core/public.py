"""Which functions are public, and under which PyTorch namespace; ops declare, the top modules collect."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..base.dtypes import c_name
from ..base.late_table import LateTable
from ..base.signatures import plainly
from ..runtime.thread import GRAD, TAPE, here
from .explain import explain_failures
from .inplace import change, check_apart, check_cast, check_writable, write
from .op import native
from .redirecting import copy_of
from .tensor import Tensor


class LateMethod:
    """Stands on Tensor for a method whose family is not imported yet, and which takes its place.

    Not `Tensor.__getattr__`: a class that has one reads every attribute, `t._a` too, the long way.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        method = NAMESPACES["Tensor"][self.name]
        if vars(Tensor)[self.name] is self:  # put back by somebody who had exchanged it
            setattr(Tensor, self.name, method)
        return method.__get__(instance, owner)


# namespace -> name -> function; "torch" is the top module, "functional" is nn.functional, "aten" has the inner operators
# that are no function of another namespace
NAMESPACES: dict[str, LateTable[Any]] = {}
when_published: list[Callable[[str, str, Any], None]] = []  # see core/arming.py
# Where users find what is published, by its namespace: behind the name of the package.
HOMES = {"torch": "", "functional": ".nn.functional", "linalg": ".linalg", "fft": ".fft", "special": ".special"}
_PACKAGE = __name__.partition(".")[0]


_may_change = getattr(native, "may_change", None)
_change_to = getattr(native, "change_to", None)


def change_plainly(t: Tensor, fn: Callable[..., Tensor], *args: Any, **kwargs: Any) -> Tensor:
    """`change(t, fn, ...)`, with a short way in C for tensors and numbers without a history."""
    if _may_change is not None and _may_change(t, (*args, *kwargs.values()) if kwargs else args):
        r = fn(t, *args, **kwargs)
        return t if _change_to(t, r) else write(t, r)  # type: ignore[misc]
    return change(t, fn, *args, **kwargs)


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
    """Let users find `fn` under a name; it says that name of itself, by which pickles find it.

    A method is a function of its own, as in PyTorch, where `torch.add` is not `Tensor.add`.
    """
    explain_failures(fn, name)
    names = NAMESPACES.setdefault(place, LateTable())
    if isinstance(fn, FunctionType):
        plainly(fn)
        if place == "Tensor":
            fn = copy_of(fn)
            fn.__module__, fn.__qualname__ = _PACKAGE, f"Tensor.{name}"
        elif place in HOMES and names.get(fn.__qualname__) is not fn:
            fn.__module__, fn.__qualname__ = _PACKAGE + HOMES[place], name
    names[name] = fn
    if place == "Tensor" and (name not in names.late or type(vars(Tensor)[name]) is LateMethod):
        setattr(Tensor, name, fn)  # what a program has set there before the family was imported stays
    for hear in when_published:
        hear(place, name, fn)


def publish_inplace(name: str, fn: Callable, places: tuple[str, ...]) -> None:
    """`x.name_(...)`: what `name` computes, written into x.

    Those that PyTorch has in its top module as well are found there when somebody asks, see `lookup.find`.
    """

    def inplace(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if name.startswith(("scatter", "index_reduce")):
            check_apart(self, *args, *kwargs.values(), wholly=True)
        return change_plainly(self, fn, *args, **kwargs)

    inplace.__name__ = inplace.__qualname__ = name + "_"
    inplace.__doc__ = f"In-place version of `{name}`: the result is written into this tensor."
    for place in places:
        if place not in ("torch", "special"):  # special is the one namespace without in-place forms
            publish(place, name + "_", inplace)


def check_out(out: Any, *read: Any, wholly: bool = True) -> None:
    """Raise where PyTorch's kernel would write into an `out=` while it reads an input in the same memory."""
    for place in out if isinstance(out, (tuple, list)) else () if out is None else (out,):
        if 0 in place.stride():
            check_writable(place)
        check_apart(place, *read, wholly=wholly)


def into(out: Any, result: Any, *read: Any) -> Any:
    """Finish a call with `out=`: write the result there, as PyTorch does, or return it.

    What PyTorch's kernel reads while it writes may be in no other place of the same memory.
    """
    if out is None:
        return result
    if read:
        check_out(out, *read, wholly=False)
    if isinstance(result, tuple):
        for o, r in zip(out, result):
            into(o, r)
        return type(result)(*out) if hasattr(result, "_fields") else tuple(out)
    check_no_grad(out, result)
    check_cast(result, out)  # before its shape changes
    if out._a.shape != result._a.shape:
        out.resize_(result._a.shape)
        _lie_as(out, result)
    check_writable(out)
    return write(out, result)


def _lie_as(out: Tensor, result: Tensor) -> None:
    """An `out` that was given new memory lies there as the result does."""
    shape, steps = result._a.shape, result.stride()
    dense = sum((size - 1) * step for size, step in zip(shape, steps)) + 1 == result.numel()
    if dense and not result.is_contiguous():
        out.as_strided_(shape, steps)


def row_major(out: Any, result: Tensor) -> Tensor:
    """`result`, row by row where it goes into an `out=` that PyTorch copies it into when it is made."""
    return result if out is None else result.contiguous()


def check_no_grad(out: Tensor, result: Tensor) -> None:
    """Raise where `out=` would lose a gradient."""
    if here.state & TAPE == GRAD and (result.requires_grad or out.requires_grad):
        raise RuntimeError(
            "functions with out=... arguments don't support automatic differentiation, but one of "
            "the arguments requires grad."
        )


def into_same(out: Any, result: Any, *read: Any) -> Any:
    """As `into`, for the functions that want `out` to have the dtype of the result, as in PyTorch."""
    if out is None:
        return result
    pairs = zip(out, result) if isinstance(result, tuple) else ((out, result),)
    for o, r in pairs:
        if o._a.dtype != r._a.dtype:
            raise RuntimeError(
                f"Expected out tensor to have dtype {c_name(r.dtype)}, but got {c_name(o.dtype)} instead"
            )
    return into(out, result, *read)
