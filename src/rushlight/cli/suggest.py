"""What somebody may have meant: the nearest of the names there are."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The one known name that is spelt almost like `word`, or None."""
    names = list(known)
    lower = {name.lower(): name for name in reversed(names)}
    asked = word.lower()
    if asked in lower:
        return lower[asked]
    close = get_close_matches(asked, lower, 1, 0.6)
    return lower[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` - did you mean X?`, or nothing where no name is near."""
    near = nearest(word, known)
    return f" - did you mean {near}?" if near and near != word else ""
