"""The extension of this package that is written in C, where it was built from the sources that lie here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

native: Any
try:
    native = import_module(f"{__package__}._native")  # of this package, which need not be whole yet
except ImportError:  # not built here
    native = None
if getattr(native, "ROW", 0) != 16:  # built before the latest functions were written
    native = None
