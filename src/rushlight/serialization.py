"""`torch.serialization`: files, and which names they may use."""

from typing import Any

from .io import CorruptFileError, UntrustedFileWarning, load, save
from .io.names import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .io.unsafe_names import get_unsafe_globals_in_checkpoint

DEFAULT_PROTOCOL = 2  # of the pickle inside a file, as PyTorch writes it
MAP_LOCATION = Any  # a device, its name, a dict of names or a function

__all__ = [
    "DEFAULT_PROTOCOL",
    "MAP_LOCATION",
    "CorruptFileError",
    "UntrustedFileWarning",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
]
