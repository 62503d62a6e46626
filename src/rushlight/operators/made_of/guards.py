"""Rules that refuse a dtype before any kernel runs, in PyTorch's words."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ...base.arrays import ArrayModule
from ...base.dtypes import dtype, float32, from_np, title
from ...core.explain import not_a_tensor
from ...core.tensor import Tensor
from ...runtime.thread import GRAD, TAPE, here

Rule = Callable[[tuple], tuple]

# NumPy's dtype kinds; V is bfloat16 of ml_dtypes.
FLOATS = "fV"
INTEGERS = "iu"
REALS = "biufV"


def passing(what: str) -> Callable[[Rule], Rule]:
    """Decorator: which inputs a rule gives back as it got them, so that it need not be called for them.

    They are one tensor, or two of one dtype whose shapes broadcast, of these kinds (NumPy's letters); with "n"
    a number may be in the place of the second, with "r" of the first.
    """

    def mark(rule: Rule) -> Rule:
        rule.passes = what  # type: ignore[attr-defined]
        return rule

    return mark


def passed_by(rule: Rule, kinds: str, numbers: bool = True) -> str:
    """What of these kinds a rule lets pass."""
    wanted = kinds + "nr" * numbers
    return "".join([letter for letter in getattr(rule, "passes", "") if letter in wanted])


def unsupported(label: str, d: dtype) -> NotImplementedError:
    return NotImplementedError(f"\"{label}\" not implemented for '{title(d)}'")


def only(kinds: str, label: str, then: Rule | None = None, message: str = "") -> Rule:
    """A rule that first applies `then`, and afterwards lets only dtypes of these kinds pass."""

    def rule(inputs: tuple) -> tuple:
        if then is not None:
            inputs = then(inputs)
        for t in inputs:
            if isinstance(t, Tensor) and t._a.dtype.kind not in kinds:
                raise NotImplementedError(message) if message else unsupported(label, t.dtype)
        return inputs

    rule.passes = kinds if then is None else passed_by(then, kinds)  # type: ignore[attr-defined]
    return rule


def tensors_only(name: str, *arguments: str, then: Rule) -> Rule:
    """A rule for functions that take no Python numbers: TypeError names the argument."""

    def rule(inputs: tuple) -> tuple:
        for i, t in enumerate(inputs):
            if not isinstance(t, Tensor):
                raise not_a_tensor(name, arguments[i], i + 1, t)
        return then(inputs)

    rule.passes = passed_by(then, REALS + "c", numbers=False)  # type: ignore[attr-defined]
    return rule


def invalid_arguments(name: str, *values: Any) -> TypeError:
    """PyTorch's error when no overload of a function takes these types."""
    got = ", ".join(type(v).__name__ for v in values)
    return TypeError(f"{name}() received an invalid combination of arguments - got ({got})")


def no_derivative(name: str) -> Callable[[Any], Any]:
    """A derivative that PyTorch does not have either."""

    def derivative(g: Any) -> Any:
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return derivative


def refuse_grad(function: str, **named: Tensor | None) -> None:
    """RuntimeError for an argument that wants a gradient and never gets one."""
    for name, t in named.items():
        if t is not None and t.requires_grad and here.state & TAPE == GRAD:
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument "
                f"'{name}'. This input cannot have requires_grad True."
            )


def one_dtype(x: Tensor, *others: Tensor | None) -> None:
    """RuntimeError unless all have the dtype of `x`; under autocast they will."""
    for t in others:
        if t is not None and t._a.dtype != x._a.dtype and not here.casting:
            raise RuntimeError(f"expected scalar type {title(x.dtype)} but found {title(t.dtype)}")


def norm_dtypes(x: Tensor, *parameters: Tensor | None) -> None:
    """Parameters of a normalising layer have the dtype of its input, or float32 beside half precision."""
    kind = x._a.dtype
    for t in parameters:
        if t is not None and t._a.dtype != kind:
            _norm_dtypes_differ(x, [p for p in parameters if p is not None])
            return


def _norm_dtypes_differ(x: Tensor, parameters: list[Tensor]) -> None:
    if here.casting:  # which casts some of these layers' arguments
        return
    if x._a.dtype.kind not in "fV":  # no layer takes it, and says so
        return
    if parameters[0].dtype == x.dtype:
        one_dtype(x, *parameters)
    elif any(p.dtype != float32 for p in parameters):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    elif x._a.dtype.itemsize != 2:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def only_for(kinds: str, label: str) -> Callable[[Callable], Callable]:
    """A body for a first array of these kinds alone; a device's own body, which refuses others, asks nothing."""

    def decorate(body: Callable) -> Callable:
        @wraps(body)  # Op reads the signature through it
        def checked(xp: ArrayModule, x: Any, *arrays: Any, **attrs: Any) -> Any:
            if x.dtype.kind not in kinds:
                raise unsupported(label, from_np(x.dtype))
            return body(xp, x, *arrays, **attrs)

        return checked

    return decorate


def check_kind(t: Tensor, kinds: str, label: str) -> None:
    """NotImplementedError, in PyTorch's words, for a tensor whose dtype is of none of these kinds."""
    if t._a.dtype.kind not in kinds:
        raise unsupported(label, t.dtype)


def remember(known: dict, key: tuple, value: Any) -> None:
    """Keep what checks have found under the arguments they saw, unless those can change."""
    try:
        known[key] = value
    except TypeError:  # a list among the arguments
        pass
