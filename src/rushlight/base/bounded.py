"""Memos of limited size: answers kept for later calls, the older ones dropped when there are too many."""

from __future__ import annotations

from typing import Any


class Bounded(dict):
    """A dict that forgets the older half of its entries when it would hold more than `most`.

    Looking up is a dict's own, at its own speed: some of these are asked in every call. Only what
    can be made again belongs here.
    """

    __slots__ = ("most",)

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __setitem__(self, key: Any, value: Any) -> None:
        if len(self) >= self.most and key not in self:
            self._forget()
        super().__setitem__(key, value)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """The value under `key`, put there first if there is none."""
        found = self.get(key, self)
        if found is self:
            self[key] = found = default
        return found

    def _forget(self) -> None:
        # list() is one step for other threads, which may change the dict meanwhile
        for key in list(self)[: self.most - self.most // 2]:
            self.pop(key, None)
