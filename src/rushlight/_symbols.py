"""Symbolic sizes by PyTorch's names: rushlight's sizes are numbers, so the functions are Python's."""

from __future__ import annotations

import math
from typing import Any

from ._names.refusal import refuser

_refuse = refuser("SymInt", "has no symbolic sizes", "Every size is an int; one program per size.")


class SymInt:
    """PyTorch's symbolic integer: no value of rushlight is one."""

    __init__ = _refuse("SymInt")


class SymFloat:
    """PyTorch's symbolic number: no value of rushlight is one."""

    __init__ = _refuse("SymFloat")


class SymBool:
    """PyTorch's symbolic truth: no value of rushlight is one."""

    __init__ = _refuse("SymBool")


def sym_int(a: Any) -> int:
    """The integer part of a number."""
    return math.trunc(a)


def sym_float(a: Any) -> float:
    """A number as a float."""
    return float(a)


def sym_not(a: Any) -> bool:
    """The opposite of a truth value."""
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers; a float if one of them is."""
    return _as_either(max(a, b), a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; a float if one of them is."""
    return _as_either(min(a, b), a, b)


def _as_either(value: Any, a: Any, b: Any) -> Any:
    return float(value) if isinstance(a, float) or isinstance(b, float) else value


def sym_sum(args: Any) -> Any:
    """The sum of numbers."""
    return sum(args)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """`t` if `b`, else `f`."""
    return t if b else f
