"""Sizes as symbols: rushlight's are numbers, and these questions have plain answers."""

from __future__ import annotations

from typing import Any

__all__ = [
    "free_symbols", "guard_or_false", "guard_or_true", "guard_size_oblivious", "is_concrete_bool", "is_concrete_int",
    "statically_known_true",
]  # fmt: skip


def guard_size_oblivious(expr: Any) -> bool:
    """The truth of a condition on sizes."""
    return bool(expr)


guard_or_false = guard_or_true = statically_known_true = guard_size_oblivious


def is_concrete_int(a: object) -> bool:
    """Whether a size is a number: always here."""
    return isinstance(a, int)


def is_concrete_bool(a: object) -> bool:
    """Whether a condition is known: always here."""
    return isinstance(a, bool)


def free_symbols(value: object) -> set:
    """The symbols in a value: none here."""
    return set()
