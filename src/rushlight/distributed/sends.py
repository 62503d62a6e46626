"""Sends that MPICH's transport refuses, since the other side is gone (`native/sends.c`)."""

from __future__ import annotations

import ctypes
from importlib import import_module
from typing import Any

__all__ = ["refused", "watch"]

try:
    _sends: Any = import_module("._sends", __package__)
except ImportError:  # built without a compiler: MPICH falls over such a send
    _sends = None


def watch() -> None:
    """Stand before UCX's send; MPI must not be loaded yet."""
    if _sends is not None:
        ctypes.CDLL(_sends.__file__, ctypes.RTLD_GLOBAL)


def refused() -> bool:
    """Whether a send of this process was refused: MPI is of no use any more."""
    return _sends is not None and _sends.refused()
