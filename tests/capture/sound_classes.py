"""Classes whose objects the cases of sound_cases_objects change."""

from __future__ import annotations

import abc
import dataclasses
import enum
import functools
import threading
import typing
import weakref


class Slots:
    __slots__ = ("other", "scale")

    def __init__(self, scale):
        self.scale = scale


@dataclasses.dataclass
class Data:
    scale: float = 1.0
    parts: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Frozen:
    scale: float = 1.0


class Mode(enum.Enum):
    SUM = 1
    MEAN = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


def local():
    found = threading.local()
    found.scale = 1.0
    return found


class Weak:
    def __init__(self):
        self.kept = Slots.__new__(Computed)
        self.ref = weakref.ref(self.kept)

    def drop(self):
        self.kept = None


class Computed:
    table = {"a": 1.0}

    def __init__(self):
        self._s = 1.0

    @property
    def scale(self):
        return self._s * 2

    def times(self, x):
        return x * self._s

    @classmethod
    def of_class(cls, x):
        return x * cls.table["a"]


class Descriptor:
    def __get__(self, instance, owner=None):
        return instance.store["v"]


class Described:
    scale = Descriptor()

    def __init__(self):
        self.store = {"v": 1.0}


class Forwards:
    def __init__(self):
        self.inner = {"scale": 1.0}

    def __getattr__(self, name):
        if name == "inner":
            raise AttributeError(name)
        return self.inner[name]


class Intercepts:
    def __init__(self):
        self.table = {"scale": 1.0}

    def __getattribute__(self, name):
        table = object.__getattribute__(self, "__dict__")["table"]
        return table if name == "table" else table[name]


class Cached:
    base = 2.0

    @functools.cached_property
    def scale(self):
        return self.base * 2


class Items:
    def __init__(self):
        self.inner = [1.0]

    def __getitem__(self, i):
        return self.inner[i]

    def __len__(self):
        return len(self.inner)

    def __iter__(self):
        return iter(self.inner)

    def __contains__(self, v):
        return v in self.inner

    def __bool__(self):
        return bool(self.inner)

    def __call__(self, x):
        return x * self.inner[0]

    def __enter__(self):
        return self.inner[0]

    def __exit__(self, *exc):
        return False

    def __add__(self, other):
        return self.inner[0] + other

    __radd__ = __add__

    def __gt__(self, other):
        return self.inner[0] > other

    def __index__(self):
        return len(self.inner)

    def __float__(self):
        return self.inner[0]

    def __str__(self):
        return "x" * len(self.inner)


class Other(Items):
    def __len__(self):
        return 42


def entered(x, o):
    with o as v:
        return x * (v if isinstance(v, float) else 1.0)


class Base(abc.ABC):
    @abc.abstractmethod
    def run(self, x): ...


class Concrete(Base):
    def __init__(self):
        self.scale = 1.0

    def run(self, x):
        return x * self.scale


@typing.runtime_checkable
class HasScale(typing.Protocol):
    scale: float


Kind = typing.TypeVar("Kind")


class Generic(typing.Generic[Kind]):
    def __init__(self):
        self.scale = 1.0

    def run(self, x):
        return x * typing.cast(Kind, self.scale)
