"""The piece of this package that is written in C, where it was built from the sources that lie here."""

from __future__ import annotations

from typing import Any

native: Any
try:
    from . import _match as native  # type: ignore[attr-defined, no-redef]
except ImportError:  # not built here
    native = None
if getattr(native, "ROW", 0) != 16:  # built before the latest functions were written
    native = None
