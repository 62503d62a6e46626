"""Module attributes that are settings: `cudnn.benchmark = True` reaches `base.config`."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ..base.config import settings


def setting(name: str, kind: type = bool) -> property:
    """A property that reads and writes one field of the settings."""

    def read(self: Any) -> Any:
        return getattr(settings, name)

    def write(self: Any, value: Any) -> None:
        if settings.flags_frozen:
            raise RuntimeError(
                f"not allowed to set {self.__name__} flags after disable_global_flags; please use flags() context manager instead"
            )
        setattr(settings, name, kind(value))

    return property(read, write)


def install(module_name: str, **properties: property) -> None:
    """Give a module properties, which plain modules cannot have."""
    module = sys.modules[module_name]
    module.__class__ = type("Switches", (ModuleType,), properties)
