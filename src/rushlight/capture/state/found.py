"""What a walk through a function's state has found: comparisons of it, and the tensors that live in it."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

from ...core.tensor import Tensor
from .kinds import Attributes, RawAttributes, lookup


class FoundState:
    """Lists that the parts of a walk fill; each part knows some kinds of objects."""

    visit: Callable[[Any, str], None]
    _function: Callable[..., None]
    _instance: Callable[..., None]
    _methods: Callable[..., None]
    _member: Callable[..., None]
    _function_attributes: Callable[..., None]

    def __init__(self, seen: Any) -> None:
        self.seen = seen  # what earlier calls ran
        self.names: set[str] = set()  # attributes of whatever has them
        self.mentioned: set[str] = set()  # every name in the code
        self.asked: dict[int, tuple[Any, set[str]]] = {}  # attributes of one object each
        self.whole: set[int] = set()  # objects all of whose attributes matter, by id
        self.reflective = False  # whether it asks for attributes of anything by other means than names
        self.by_identity = False  # whether it asks for equal numbers or strings which of them is which
        self.shows = False  # whether it makes text of values, which may tell names of classes
        self.raises_again = False  # whether it may raise or see an error of its caller's
        if seen is not None:
            self.asked.update({k: (v, set(names)) for k, (v, names) in seen.asked.items()})
            self.whole.update(seen.whole)
        self.clear()

    def clear(self) -> None:
        """Forget objects, but not names: the next walk looks for more of them."""
        self.announced: set[int] = set()  # tables of modules, which hardly ever change
        self.functions: dict[tuple[int, int], Any] = {}
        self.read: set[Any] = set()  # code that the walk has come to
        self.objects: dict[int, tuple[Any, str]] = {}
        self.tensors: dict[int, tuple[Tensor, str]] = {}
        self.arrays: dict[int, tuple[Any, str]] = {}
        self.rows: list[tuple[str, Any, Any, Any]] = []  # label, table, key, value
        self.noted: set[tuple[int, Any]] = set()  # rows that are there already
        self.members: set[tuple[int, str]] = set()  # of classes
        # Classes: label, the class, its names, and what it has under them where its code is not read.
        self.classes: dict[int, tuple[str, type, tuple, tuple | None]] = {}
        self.code: list[tuple[str, dict, tuple, tuple]] = []  # functions of our own modules
        self.contents: list[tuple[str, Any, tuple]] = []  # of lists and the like
        self.tables: list[tuple[str, Any, tuple, tuple]] = []  # dicts as a whole: keys, values
        self.bytes: list[tuple[str, Any, tuple]] = []  # NumPy arrays, and what they held
        self.states: list[tuple[str, Any, list]] = []  # of optimisers, whatever the keys
        self.cells: dict[int, tuple[str, Any, Any]] = {}
        self.optimizers: list[Any] = []
        self.generators: list[Any] = []
        self.refused: str | None = None  # what cannot be compared

    def size(self) -> tuple[int, ...]:
        """Grows while a walk finds more names."""
        asked = sum([len(names) for _, names in self.asked.values()])
        return len(self.names), len(self.functions), asked

    def _names(self, value: Any) -> set[str]:
        """The attributes of an object that the code may look at."""
        own = self.asked.get(id(value))
        return self.names if own is None else self.names | own[1]

    def _asked(self, value: Any) -> list[str]:
        """Those that it looks at on this very object."""
        own = self.asked.get(id(value))
        return [] if own is None else sorted(own[1])

    def _is_whole(self, value: Any) -> bool:
        """Whether the code may look at any attribute of an object: by `==` and `repr` of a namespace, without a word."""
        if issubclass(type(value), SimpleNamespace):
            return True
        if id(value) in self.whole or self.reflective or "__dict__" in self._names(value):
            return True
        return any(isinstance(lookup(type(value), n), FunctionType) for n in _WHOLE & self.names)

    def _row(self, table: Any, name: Any, value: Any, label: str) -> None:
        """What a table holds under a name, and what can be reached from there."""
        key = (id(table.owner) if isinstance(table, Attributes) else id(table), name)
        if key not in self.noted:
            self.noted.add(key)
            self.rows.append((label, table, name, value))
        self.visit(value, label)

    def _dict_of(self, value: Any, own: Any, label: str, hardly: bool = False) -> None:
        """That an object still has the dict in which its attributes are looked for: it can be given another one."""
        key = (id(value), "__dict__")
        if key not in self.noted:
            self.noted.add(key)
            answers = isinstance(lookup(type(value), "__getattribute__"), FunctionType)
            table = RawAttributes(value) if answers else Attributes(value)
            if hardly:
                self.announced.add(id(table))
            self.rows.append((f"the dict of {label}", table, "__dict__", own))

    def refuse(self, why: str) -> None:
        """Note, once, what cannot be compared."""
        if self.refused is None:
            self.refused = why


# Methods that tell of an object's attributes without naming them.
TELLING = frozenset(
    ("__getattribute__", "__getstate__", "__reduce__", "__reduce_ex__", "__dir__", "__copy__", "__deepcopy__")
)
# Methods of a class that see every name; in the code they are calls of super().
_WHOLE = frozenset(("__getattribute__", "__setattr__", "__delattr__"))
