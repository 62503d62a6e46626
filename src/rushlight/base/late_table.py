"""A table some of whose values are made by modules that are imported when one of their names is read."""

from __future__ import annotations

from importlib import import_module
from typing import TypeVar

T = TypeVar("T")


class LateTable(dict[str, T]):
    """Values by their names; `late` says which module puts a name in that is not here yet."""

    def __init__(self) -> None:
        self.late: dict[str, str] = {}

    def __missing__(self, name: str) -> T:
        import_module(self.late[name])
        if name not in self:  # asked for while its module is being imported
            raise KeyError(name)
        return self[name]

    def whole(self) -> LateTable[T]:
        """This table, with all that is late."""
        for module in dict.fromkeys(self.late.values()):
            import_module(module)
        return self

    def names(self) -> set[str]:
        """Every name, those that are late, too."""
        return self.keys() | self.late.keys()
