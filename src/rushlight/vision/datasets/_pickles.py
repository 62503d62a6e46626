"""Pickled dataset files, read so that they can only hold texts, numbers, lists, dicts and arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...io.errors import CorruptFileError
from ...io.machine import Machine

_KINDS = {
    "u1": "u1",
    "i1": "i1",
    "i2": "<i2",
    "i4": "<i4",
    "i8": "<i8",
    "f4": "<f4",
    "f8": "<f8",
    "b1": "?",
}


class _Kind:
    """A NumPy dtype named in the file: a plain number type, little-endian."""

    def __init__(self, name: Any, *ignored: Any) -> None:
        if name not in _KINDS:
            raise CorruptFileError(f"the file holds an array of {name!r}")
        self.dtype = np.dtype(_KINDS[name])

    def set_state(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) < 2 or state[1] not in ("<", "|", "="):
            raise CorruptFileError("the file holds an array of an unusual byte order")


class _Array:
    """An array in the making: NumPy's own reader is never shown the file's numbers unchecked."""

    def __init__(self, *ignored: Any) -> None:
        self.value: np.ndarray | None = None

    def set_state(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise CorruptFileError("the file holds a damaged array")
        _, shape, kind, fortran, raw = state
        self.value = _filled(shape, kind, raw, "F" if fortran else "C")


def _filled(shape: Any, kind: Any, raw: Any, order: Any) -> np.ndarray:
    if isinstance(raw, str):  # Python 2 wrote bytes as text
        raw = raw.encode("latin-1")
    sizes = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
    if not sizes or len(shape) > 8 or not isinstance(kind, _Kind) or not isinstance(raw, bytes):
        raise CorruptFileError("the file holds a damaged array")
    if math.prod(shape) * kind.dtype.itemsize != len(raw):
        raise CorruptFileError("the file holds an array that does not fit its shape")
    return np.frombuffer(raw, kind.dtype).reshape(shape, order=order)


class _NdarrayType:
    """Stands for the class numpy.ndarray, which the file may name and not call."""


_NDARRAY = _NdarrayType()


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    """`_codecs.encode`, by which protocol 2 spells bytes."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise CorruptFileError("the file encodes bytes in an unknown way")
    return text.encode("latin-1")


def _from_buffer(raw: Any, kind: Any, shape: Any, order: Any) -> _Array:
    made = _Array()
    made.value = _filled(shape, kind, raw, "F" if order == "F" else "C")
    return made


_NAMES: dict[tuple[str, str], Any] = {("numpy", "ndarray"): _NDARRAY, ("numpy", "dtype"): _Kind,
                                      ("_codecs", "encode"): _encode}  # fmt: skip
for _core in ("numpy.core", "numpy._core"):
    _NAMES[(f"{_core}.multiarray", "_reconstruct")] = _Array
    _NAMES[(f"{_core}.numeric", "_frombuffer")] = _from_buffer
_CALLABLE = (_Kind, _Array, _encode, _from_buffer)


def _find(module: str, name: str) -> Any:
    if (module, name) not in _NAMES:
        raise CorruptFileError(f"the file names {module}.{name}, which no dataset needs")
    return _NAMES[(module, name)]


def _call(fn: Any, args: tuple) -> Any:
    if not any(fn is allowed for allowed in _CALLABLE):
        raise CorruptFileError("the file calls something that is no function")
    return fn(*args)


def _persistent(ident: Any) -> Any:
    raise CorruptFileError("the file refers to another file")


def _build(obj: Any, state: Any) -> None:
    if not isinstance(obj, (_Kind, _Array)):
        raise CorruptFileError("the file gives a state to something that has none")
    obj.set_state(state)


def read_pickle(data: bytes) -> dict[str, Any]:
    """The dict that a dataset's pickle holds; arrays are read-only. CorruptFileError otherwise."""

    def call(fn: Any, args: tuple) -> Any:
        if fn is _encode and args and isinstance(args[0], str):
            machine.budget.count_bytes(len(args[0]))
        return _call(fn, args)

    machine = Machine(memoryview(data), _find, call, _persistent, _build)
    found = machine.run()
    if not isinstance(found, dict):
        raise CorruptFileError("the file does not hold a dict")
    return {_text(k): v.value if isinstance(v, _Array) else v for k, v in found.items()}


def _text(key: Any) -> Any:
    return key.decode("latin-1") if isinstance(key, bytes) else key
