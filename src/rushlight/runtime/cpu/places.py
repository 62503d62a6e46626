"""Whether places that an index names exist: by the extension where it was built, else by NumPy."""

from functools import cache
from importlib import import_module
from typing import Any

_UNSIGNED = {4: "uint32", 8: "uint64"}


@cache
def _native() -> Any:
    try:
        return import_module("._native", __package__).places_within
    except (ImportError, AttributeError):  # not built, or by an older version
        return None


def within(a: Any, size: int) -> bool:
    """Whether all numbers of an int64 or int32 array are from 0 to below `size`."""
    look = _native()
    found = None if look is None else look(a, size)
    if found is None:  # negative numbers are huge, unsigned
        return bool(a.view(_UNSIGNED[a.itemsize]).max() < size)
    return found
