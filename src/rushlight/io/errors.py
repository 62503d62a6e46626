"""The one error of files that are damaged, truncated or hostile, and the warning of trust."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

from ..base.shapes import check_size

_LONGEST = 1000  # characters of a message


class CorruptFileError(RuntimeError, pickle.UnpicklingError):
    """The file cannot be trusted; nothing of it was loaded. What it says is one printable line."""

    def __init__(self, message: str = "") -> None:
        super().__init__(_one_line(str(message)))


def check_claim(size: Sequence[int], itemsize: int, what: str) -> None:
    """Whether a tensor of this size can be: `check_size`, with the error of files."""
    try:
        check_size(size, itemsize)
    except RuntimeError as error:
        raise CorruptFileError(f"{what}: {error}") from None


def _one_line(text: str) -> str:
    """Names that come from the file may hold anything, commands of a terminal too."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " ..."


class UntrustedFileWarning(UserWarning):
    """The file will be read in a way that lets it run code."""
