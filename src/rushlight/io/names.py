"""Which global names a file may use by default, and what they stand for."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from contextlib import contextmanager
from typing import Any

from ..base import dtypes
from ..base.device import device
from ..base.formats import FORMATS, layout, layout_by_name
from ..base.shapes import Size
from ..base.spelling import home_of, theirs
from ..core.tensor import Tensor
from .budget import Budget, check_key
from .errors import CorruptFileError

STORAGE_NAMES = {name: f"{title}Storage" for name, title in dtypes.TITLES.items()}
STORAGE_DTYPES = {**{v: k for k, v in STORAGE_NAMES.items()}, "UntypedStorage": "uint8"}


class StorageType:
    """A storage class named in a file; only its dtype matters."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dtype = dtypes.by_name(STORAGE_DTYPES[name])


_user_globals: dict[tuple[str, str], Any] = {}


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let files use these classes or functions too; ours also under PyTorch's names of them.

    Args:
        safe_globals: classes or functions, or pairs of one and the name that files call it by.

    Example:
        >>> import fractions
        >>> with torch.serialization.safe_globals([]):
        ...     torch.serialization.add_safe_globals([fractions.Fraction])
        ...     torch.serialization.get_safe_globals()
        [<class 'fractions.Fraction'>]
    """
    for item in safe_globals:
        if isinstance(item, tuple):
            obj, name = item
            module, _, attr = name.rpartition(".")
            _user_globals[(module, attr)] = obj
        else:
            _user_globals[(home_of(item), item.__qualname__)] = item
            _user_globals[theirs(item)] = item


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` has added.

    Example:
        >>> import fractions
        >>> with torch.serialization.safe_globals([fractions.Fraction]):
        ...     torch.serialization.get_safe_globals()
        [<class 'fractions.Fraction'>]
    """
    return list({id(obj): obj for obj in _user_globals.values()}.values())


def clear_safe_globals() -> None:
    """Forget what `add_safe_globals` has added.

    Example:
        >>> import fractions
        >>> with torch.serialization.safe_globals([fractions.Fraction]):
        ...     torch.serialization.clear_safe_globals()
        ...     torch.serialization.get_safe_globals()
        []
    """
    _user_globals.clear()


@contextmanager
def safe_globals(extra: list[Any]) -> Any:
    """`add_safe_globals` for one block.

    Example:
        >>> import fractions, io
        >>> file = io.BytesIO()
        >>> torch.save(fractions.Fraction(1, 2), file)
        >>> _ = file.seek(0)
        >>> with torch.serialization.safe_globals([fractions.Fraction]):
        ...     torch.load(file)
        Fraction(1, 2)
    """
    before = dict(_user_globals)
    add_safe_globals(extra)
    try:
        yield
    finally:
        _user_globals.clear()
        _user_globals.update(before)


def user_types() -> tuple[type, ...]:
    """The classes among what `add_safe_globals` has added."""
    return tuple(obj for obj in _user_globals.values() if isinstance(obj, type))


class Containers:
    """The constructors that a pickle calls; each counts what it is about to make."""

    def __init__(self, budget: Budget, keys: tuple[type, ...]) -> None:
        self.budget, self.keys = budget, keys

    def _items(self, items: Any) -> Any:
        """The items of a plain container: a tensor could claim to have 2**40 of them."""
        if type(items) not in (list, tuple, set, frozenset, dict):
            raise CorruptFileError(f"the file makes a container of a {type(items).__name__}")
        self.budget.count(len(items))
        return items

    def _members(self, items: Any) -> Any:
        for item in self._items(items):
            check_key(item, self.keys)
        return items

    def bytes_of(self, text: str, encoding: str = "latin1") -> bytes:
        """`_codecs.encode` as protocol 2 uses it for bytes objects."""
        if encoding not in ("latin1", "latin-1") or type(text) is not str:
            raise CorruptFileError("the file encodes bytes in an unknown way")
        self.budget.count_bytes(len(text))
        return text.encode("latin-1")

    def byte_array(self, raw: Any = b"", *rest: Any) -> bytearray:
        raw = self.bytes_of(raw, *rest) if type(raw) is str else raw
        if type(raw) is not bytes:
            raise CorruptFileError(f"the file makes a bytearray of a {type(raw).__name__}")
        self.budget.count_bytes(len(raw))
        return bytearray(raw)

    def ordered_dict(self, items: Any = ()) -> OrderedDict:
        pairs = self._items(items)
        for pair in pairs.items() if type(pairs) is dict else pairs:
            if type(pair) not in (tuple, list) or len(pair) != 2:
                raise CorruptFileError("the file makes a dict of something that is no pairs")
            check_key(pair[0], self.keys)
        return OrderedDict(pairs)

    def counter(self, items: Any = ()) -> Counter:
        return Counter(self._members(items))

    def default_dict(self, factory: Any = None, *rest: Any) -> defaultdict:
        self.budget.count_default_dict()
        known = {self.set: set, self.list: list, self.dict: dict, int: int, float: float}
        return defaultdict(known.get(factory))

    def set(self, items: Any = ()) -> Any:
        return {*self._members(items)}

    def frozenset(self, items: Any = ()) -> Any:
        return frozenset(self._members(items))

    def list(self, items: Any = ()) -> Any:
        return [*self._items(items)]

    def dict(self) -> Any:
        return {}

    def size(self, items: Any) -> Size:
        return Size([int(i) if type(i) is int else _no_int(i) for i in self._items(items)])

    def complex(self, real: Any = 0.0, imag: Any = 0.0) -> Any:
        if type(real) not in (int, float) or type(imag) not in (int, float):
            raise CorruptFileError("the file makes a complex number of something else")
        return complex(real, imag)


def _no_int(item: object) -> int:
    raise CorruptFileError(f"the file holds a size of {type(item).__name__}")


def _layout(name: Any) -> layout:
    if type(name) is not str:
        raise CorruptFileError("the file names a layout by something that is no text")
    return layout_by_name(name.removeprefix("torch."))


def _device(kind: str, index: int | None = None) -> device:
    return device(kind, index)


def allowed(rebuild: dict[str, Any], make: Containers) -> dict[tuple[str, str], Any]:
    """The allow-list; `rebuild` maps PyTorch's `_rebuild_*` names to functions of the reader."""
    names: dict[tuple[str, str], Any] = {
        ("collections", "OrderedDict"): make.ordered_dict,
        ("collections", "Counter"): make.counter,
        ("collections", "defaultdict"): make.default_dict,
        ("_codecs", "encode"): make.bytes_of,
        ("torch", "Size"): make.size,
        ("torch", "device"): _device,
        ("torch", "Tensor"): Tensor,  # the type of a tensor with attributes: it is never called
        ("torch._tensor", "Tensor"): Tensor,
        ("torch.serialization", "_get_layout"): _layout,
    }
    for builtins in ("builtins", "__builtin__"):
        for name in ("set", "frozenset", "list", "dict", "complex"):
            names[(builtins, name)] = getattr(make, name)
        names[(builtins, "bytearray")] = make.byte_array
        names[(builtins, "int")] = int  # a factory of defaultdicts: it is never called
        names[(builtins, "float")] = float
    for name in STORAGE_DTYPES:
        names[("torch", name)] = StorageType(name)
    names[("torch.storage", "UntypedStorage")] = StorageType("UntypedStorage")
    for d in (*dtypes.ALL, *dtypes.FLOAT8):
        names[("torch", d.name)] = d
    for form in FORMATS:
        names[("torch", form.name)] = form
    for name, fn in rebuild.items():
        module, _, attr = name.rpartition(".")
        names[(module, attr)] = fn
    names.update(_user_globals)
    return names
