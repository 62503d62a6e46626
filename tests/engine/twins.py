"""Calls of ops through C or through Python, for tests that compare the two."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rushlight.core.op import IN_C, IN_PYTHON


@contextmanager
def in_python() -> Iterator[None]:
    """Inside, every op is called through its Python version."""
    before = [getattr(cls, name) for cls, name in IN_C]
    for (cls, name), method in zip(IN_C, IN_PYTHON):
        setattr(cls, name, method)
    try:
        yield
    finally:
        for (cls, name), method in zip(IN_C, before):
            setattr(cls, name, method)
