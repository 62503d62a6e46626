"""`torch.torch_version`: a version that is a string and compares as a version."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

__all__ = ["TorchVersion"]


def _key(version: Any) -> tuple[int, ...]:
    """2.13.0+cpu as (2, 13, 0, 1); a development or pre-release sorts before its release."""
    if isinstance(version, (tuple, list)):
        version = ".".join(map(str, version))
    found = re.match(r"v?(\d+(?:\.\d+)*)(.*)", str(version).partition("+")[0])
    if found is None:
        raise ValueError(f"{version!r} is not a version")
    numbers = [int(n) for n in found[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()  # 2.4 and 2.4.0 are one
    final = not re.match(r"[._-]?(a|b|c|rc|dev|alpha|beta|pre)", found[2])
    return (*(numbers + [0] * (6 - len(numbers))), int(final))


class TorchVersion(str):
    """`torch.__version__ >= (2, 4)` and `>= "2.4"` compare numbers, where strings compare letters."""

    __slots__ = ()

    def _compare(self, other: Any, sign: Callable[[Any, Any], bool]) -> bool:
        try:
            # A local part (+cpu) makes a version later than the same one without, as PEP 440 says.
            mine, theirs = (*_key(self), "+" in self), (*_key(other), "+" in str(other))
        except ValueError:  # not a version: as two strings
            return sign(str(self), other)
        return sign(mine, theirs)

    def __lt__(self, other: Any) -> bool:
        return self._compare(other, operator.lt)

    def __le__(self, other: Any) -> bool:
        return self._compare(other, operator.le)

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, operator.gt)

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, operator.ge)

    def __eq__(self, other: object) -> bool:
        return self._compare(other, operator.eq)

    def __ne__(self, other: object) -> bool:
        return self._compare(other, operator.ne)

    __hash__ = str.__hash__
