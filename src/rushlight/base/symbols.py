"""Symbolic sizes by PyTorch's names: rushlight's sizes are numbers, so the functions are Python's."""

from __future__ import annotations

import math
from typing import Any

from .refusal import refuser

_refuse = refuser("SymInt", "has no symbolic sizes", "Every size is an int; one program per size.")


class SymInt:
    """The class of PyTorch's symbolic integers; sizes here are plain integers, so nothing is one.

    Example:
        >>> isinstance(torch.zeros(2).size(0), torch.SymInt)
        False
    """

    __init__ = _refuse("SymInt")


class SymFloat:
    """The class of PyTorch's symbolic numbers; nothing is one here.

    Example:
        >>> isinstance(1.5, torch.SymFloat)
        False
    """

    __init__ = _refuse("SymFloat")


class SymBool:
    """The class of PyTorch's symbolic truth values; nothing is one here.

    Example:
        >>> isinstance(True, torch.SymBool)
        False
    """

    __init__ = _refuse("SymBool")


def sym_int(a: Any) -> int:
    """A number without its fraction.

    Args:
        a: a number.

    Example:
        >>> torch.sym_int(3.7)
        3
    """
    return math.trunc(a)


def sym_float(a: Any) -> float:
    """A number as a float.

    Args:
        a: a number.

    Example:
        >>> torch.sym_float(3)
        3.0
    """
    return float(a)


def sym_not(a: Any) -> bool:
    """The opposite of a truth value.

    Args:
        a: a truth value.

    Example:
        >>> torch.sym_not(True)
        False
    """
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers; a float if one of them is.

    Args:
        a: a number.
        b: a number.

    Example:
        >>> torch.sym_max(1, 2.5)
        2.5
    """
    return _as_either(max(a, b), a, b)


def sym_min(a: Any, b: Any) -> Any:
    """As `sym_max`: the smallest."""
    return _as_either(min(a, b), a, b)


def _as_either(value: Any, a: Any, b: Any) -> Any:
    return float(value) if isinstance(a, float) or isinstance(b, float) else value


def sym_sum(args: Any) -> Any:
    """The sum of numbers.

    Example:
        >>> torch.sym_sum([1, 2, 3])
        6
    """
    return sum(args)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """`t` if `b` holds, otherwise `f`.

    Args:
        b: a truth value.
        t: one value.
        f: the other.

    Example:
        >>> torch.sym_ite(True, 1, 2)
        1
    """
    return t if b else f
