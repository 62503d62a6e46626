"""Which names a file uses that are not on the list of safe ones, found without loading anything."""

from __future__ import annotations

import pickletools
import zipfile
from os import PathLike
from typing import IO, Any

from . import names
from .budget import Budget
from .errors import CorruptFileError
from .rebuild import rebuilders


def get_unsafe_globals_in_checkpoint(f: str | PathLike[str] | IO[bytes]) -> list[str]:
    """The names in a file that `load` would refuse, each once, in the order they come; nothing of it is run.

    Args:
        f: a path or a binary file that `save` wrote.

    Raises:
        ValueError: if it is not such a file.

    Example:
        >>> import fractions, io
        >>> file = io.BytesIO()
        >>> torch.save({"half": fractions.Fraction(1, 2), "one": torch.ones(1)}, file)
        >>> torch.serialization.get_unsafe_globals_in_checkpoint(file)
        ['fractions.Fraction']
    """
    try:
        with zipfile.ZipFile(f) as archive:
            inside = archive.namelist()
            pickled = [n for n in inside if n.endswith("/data.pkl")]
            if len(pickled) != 1 or any(n.endswith("/constants.pkl") for n in inside):
                raise ValueError("Expected input to be a checkpoint returned by torch.save")
            data = archive.read(pickled[0])
    except zipfile.BadZipFile:
        raise ValueError("Expected input to be a checkpoint returned by torch.save") from None
    allowed = names.allowed(rebuilders(_never), names.Containers(Budget(len(data)), ()))
    found = dict.fromkeys(_globals_in(data))
    return [f"{module}.{name}" for module, name in found if (module, name) not in allowed]


def _never(*args: object) -> Any:
    raise CorruptFileError("names are only looked at here")


def _globals_in(data: bytes) -> list[tuple[str, str]]:
    """The (module, name) pairs of a pickle; those of later protocols take them from the texts before."""
    found, texts = [], [""]
    for op, arg, _ in pickletools.genops(data):
        if op.name in ("GLOBAL", "INST"):
            module, _, name = str(arg).partition(" ")
            found.append((module, name))
        elif op.name == "STACK_GLOBAL":
            found.append((texts[-2], texts[-1]))
        elif isinstance(arg, str):
            texts.append(arg)
    return found
