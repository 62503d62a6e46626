"""What one file may cost: objects, bytes, processor time and nesting, in proportion to its size.

A pickle is a small program. Its instructions are no more than its bytes, but an instruction can copy what
another one made, or hash a tuple that holds another tuple twice, that another twice: 500 bytes are enough
to fill any memory or to compute for ever. So everything that can multiply is counted before it is done.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any

from .errors import CorruptFileError

DEEPEST = 400  # below Python's limit of recursion: what is loaded can be printed, copied, compared
_KEY_PARTS = 64  # of a tuple that is a key
_KEY_DEPTH = 4
_LARGEST_INT_KEY = 2**61 - 2  # larger ones can be chosen to have equal hashes
_SECONDS, _SECONDS_PER_BYTE = 5.0, 2e-5  # of this thread's processor; a real file needs 1e-6 a byte


class Noted:
    """What PyTorch's compiler noted about a size, in files of nested tensors: nothing here reads it."""

    def __init__(self, *words: Any) -> None:
        pass


_PLAIN_KEYS = (str, bytes, float, bool, type(None), Noted)


class Budget:
    """Counts what the reading of a pickle of `size` bytes makes; CorruptFileError when it is too much."""

    def __init__(self, size: int) -> None:
        self.objects = 4 * size + 10_000
        self.bytes = 8 * size + (1 << 20)
        self.default_dicts = 1000  # Python frees nested ones by recursion, without a limit
        self.seconds = _SECONDS + _SECONDS_PER_BYTE * size
        self.until = time.thread_time() + self.seconds

    def count(self, objects: int) -> None:
        """So many more objects, or entries of containers."""
        self.objects -= objects
        if self.objects < 0:
            raise CorruptFileError("the file makes more objects than its size can explain")

    def count_bytes(self, size: int) -> None:
        """So many more bytes of text or raw data that another object already holds."""
        self.bytes -= size
        if self.bytes < 0:
            raise CorruptFileError("the file makes more bytes than its size can explain")

    def count_default_dict(self) -> None:
        self.default_dicts -= 1
        if self.default_dicts < 0:
            raise CorruptFileError("the file holds too many defaultdicts")

    def check_time(self) -> None:
        if time.thread_time() > self.until:
            raise CorruptFileError(f"the file took more than {self.seconds:.0f} seconds of processor time to read")


def check_key(key: Any, also: tuple[type, ...] = ()) -> None:
    """Refuse keys of dicts and members of sets whose hash could take long, or recurse."""
    left = _KEY_PARTS
    level = [key]
    for _ in range(_KEY_DEPTH):
        deeper: list[Any] = []
        for part in level:
            kind = type(part)
            if kind is tuple:
                left -= len(part)
                if left < 0:
                    raise CorruptFileError("the file uses a large tuple as a key")
                deeper.extend(part)
            elif kind is int:
                if not -_LARGEST_INT_KEY <= part <= _LARGEST_INT_KEY:
                    raise CorruptFileError("the file uses an integer of more than 61 bits as a key")
            elif kind not in _PLAIN_KEYS and not isinstance(part, also):
                raise CorruptFileError(f"the file uses a {kind.__name__} as a key")
        if not deeper:
            return
        level = deeper
    raise CorruptFileError("the file uses a deeply nested tuple as a key")


def check_depth(found: Any, most: int = DEEPEST) -> None:
    """Refuse containers nested deeper than `most`; looks at every container once."""
    seen: set[int] = set()
    path = [iter((found,))]
    while path:
        for item in path[-1]:
            kind = type(item)
            if kind in (list, tuple, set, frozenset) or isinstance(item, dict):
                if id(item) in seen:
                    continue
                seen.add(id(item))
                path.append(_inside(item))
                if len(path) > most:
                    raise CorruptFileError(f"the file nests containers more than {most} deep")
                break
        else:
            path.pop()


def _inside(item: Any) -> Any:
    if not isinstance(item, dict):
        return iter(item)
    hidden = list(vars(item).values()) if isinstance(item, OrderedDict) else []
    return iter([*item.values(), *hidden])
