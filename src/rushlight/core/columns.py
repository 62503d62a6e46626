"""What an optimiser's step reads of a group of parameters, and the versions it raises; native/columns.c has the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .op import native
from .tensor import Tensor

# parameters with a gradient; arrays of a kernel call; states whose version counts; one list of arrays for each scalar
Columns = tuple[list[Tensor], list[Any], list[Tensor], list[list[Any]]]


def columns_in_python(
    group: dict[str, Any], state: dict[Any, Any], names: tuple[str, ...], scalars: tuple[str, ...]
) -> Columns | None:
    """Everything an update kernel needs of a group's parameters; None when something is unusual.

    The arrays are those of a call, column by column: a place for the numbers, the parameters, their
    gradients, then the states of each name. Usual is: all parameters are floats of one device and
    dtype, gradients are plain tensors there, every state exists, and no option is a tensor.
    """
    params = group.get("params")
    if params.__class__ is not list or not isinstance(state, dict):
        return None
    if any(_holds_tensor(option) for option in group.values()):
        return None
    live = [p for p in params if p._grad is not None]
    if not live or not _are_of_one_kind(live):
        return None
    found: list[Any] = [None, *[p._a for p in live], *[p._grad._a for p in live]]
    kept: list[Tensor] = []
    counts: list[list[Any]] = []
    held: list[Any] = [state.get(p) for p in live] if names or scalars else []
    if any(h.__class__ is not dict for h in held):
        return None
    cls = live[0]._a.__class__
    for name in (*names, *scalars):
        tensors = [h.get(name) for h in held]
        if not all(isinstance(t, Tensor) for t in tensors):
            return None
        arrays = [t._a for t in tensors]
        if name in scalars:
            counts.append(arrays)
        elif any(a.__class__ is not cls for a in arrays):
            return None
        else:
            found += arrays
            kept += [t for t in tensors if t._ver is not None]
    return live, found, kept, counts


def _holds_tensor(option: object) -> bool:
    """Whether an option is a tensor, or a tuple that holds one: its number has to be read from memory first."""
    if option.__class__ is tuple:
        return any(isinstance(one, Tensor) for one in option)
    return isinstance(option, Tensor)


def _are_of_one_kind(live: list[Tensor]) -> bool:
    """Whether all parameters and gradients are plain floats of one device, the parameters of one dtype."""
    first = live[0]._a
    cls, kind = first.__class__, first.dtype
    if kind.kind not in "fV":  # V: bfloat16 of ml_dtypes
        return False
    for p in live:
        g = p._grad
        if p._a.dtype is not kind or p._a.__class__ is not cls:
            return False
        if g.__class__ is not Tensor or g._a.__class__ is not cls:
            return False
    return True


def bump_all_in_python(tensors: list[Tensor]) -> None:
    """Raise the versions of tensors whose values changed, so that a backward that saved them notices."""
    for t in tensors:
        version = t._ver
        if version is None:
            t._ver = [1]
        else:
            version[0] += 1


columns: Callable[..., Columns | None] = columns_in_python
bump_all: Callable[[list[Tensor]], None] = bump_all_in_python
if native is not None:
    columns, bump_all = native.columns, native.bump_all
