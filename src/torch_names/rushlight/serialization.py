"""`torch.serialization`: files, and which names they may use."""

from typing import Any

from .io import CorruptFileError, UntrustedFileWarning, load, save
from .io.locations import Placer as _Placer
from .io.names import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .io.unsafe_names import get_unsafe_globals_in_checkpoint
from .operators.memory.storage_types import TYPES

DEFAULT_PROTOCOL = 2  # of the pickle inside a file, as PyTorch writes it
MAP_LOCATION = Any  # a device, its name, a dict of names or a function

__all__ = [
    "DEFAULT_PROTOCOL",
    "MAP_LOCATION",
    "CorruptFileError",
    "SourceChangeWarning",
    "UntrustedFileWarning",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "normalize_storage_type",
    "safe_globals",
    "save",
]


class SourceChangeWarning(Warning):
    """The text of a saved class differs from the one here: never said, since files here hold no texts."""


def normalize_storage_type(storage_type: type) -> type:
    """The class that files name for a class of storages.

    Args:
        storage_type: such a class.

    Example:
        >>> torch.serialization.normalize_storage_type(torch.FloatStorage) is torch.FloatStorage
        True
    """
    found: type = TYPES.get(storage_type.__name__, storage_type)
    return found


def location_tag(storage: Any) -> str:
    """Where a storage lies, in the word that files have for it.

    Args:
        storage: the storage.

    Example:
        >>> torch.serialization.location_tag(torch.ones(2).untyped_storage())
        'cpu'
    """
    return str(storage.device)


def default_restore_location(storage: Any, location: str) -> Any:
    """A storage where a file says it was, which `load` does without a `map_location`.

    Args:
        storage: the storage, or a flat tensor of it.
        location: the word for a device, "cpu" or "cuda:0".

    Raises:
        RuntimeError: if there is no such device here.

    Example:
        >>> torch.serialization.default_restore_location(torch.ones(2), "cpu")
        tensor([1., 1.])
    """
    return _Placer(None)(storage, location)
