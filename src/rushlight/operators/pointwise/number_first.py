"""Calls with a number before the tensors, `p.add_(-lr, p.grad)`: PyTorch's old form, which it still takes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from inspect import signature
from typing import Any

from ...base.signatures import plainly
from ...core.tensor import Tensor


def number_first(fn: Callable[..., Tensor], names: tuple[str, ...], tensors: int, given: tuple, out: Any) -> Tensor:
    """`fn` as it is written today: the numbers by name, behind the tensors.

    `torch.addmm` has its first number before `input`, a method has it behind; the last `tensors` of what is
    given are the others.
    """
    front, last = given[:-tensors], given[-tensors:]
    at = 0 if isinstance(front[0], Tensor) else 1
    numbers = front[:at] + front[at + 1 :]
    fits = len(front) > 1 and isinstance(front[at], Tensor) and 0 < len(numbers) <= len(names)
    scalar = all(not isinstance(n, Tensor) or not n._a.ndim for n in numbers)
    if not fits or not scalar or not all(isinstance(t, Tensor) for t in last):
        if all(isinstance(t, Tensor) for t in given[: tensors + 1]):
            raise TypeError(f"{fn.__name__}() takes {tensors + 1} positional arguments but {len(given)} were given")
        kinds = ", ".join("Tensor" if isinstance(a, Tensor) else type(a).__name__ for a in given)
        raise TypeError(f"{fn.__name__}() received an invalid combination of arguments - got ({kinds})")
    _warn(fn.__name__, names[: len(numbers)])
    return fn(front[at], *last, **dict(zip(names, numbers)), out=out)


def also_number_first(fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function whose `*old` is not part of what it says of itself."""
    plainly(fn)
    form = signature(fn)
    kept = [p for p in form.parameters.values() if p.kind is not p.VAR_POSITIONAL]
    fn.__signature__ = form.replace(parameters=kept)  # type: ignore[attr-defined]
    return fn


@lru_cache(1)
def _once() -> list[bool]:
    return []


def _warn(name: str, names: tuple[str, ...]) -> None:
    """PyTorch's warning, once in a process."""
    if not _once():
        _once().append(True)
        told = ", ".join(f"{n}=..." for n in names)
        warnings.warn(
            f"This overload of {name} is deprecated: numbers come behind the tensors, by name: {told}", stacklevel=4
        )
