"""`torch.serialization`: files, and which names they may use."""

from .io import CorruptFileError, UntrustedFileWarning, load, save
from .io.names import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals

__all__ = [
    "CorruptFileError",
    "UntrustedFileWarning",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "safe_globals",
    "save",
]
