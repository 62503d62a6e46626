"""A wrong kind of argument, said in PyTorch's words, at no cost to a call that is right.

`linear(numpy_array, w)` fails somewhere inside, in words that mean nothing to its caller. Public functions
therefore get one more entry in the table of exceptions that their code carries anyway: the interpreter reads
it only while an exception passes through. Nothing is called, and the function stays the object it was.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from functools import lru_cache
from opcode import hasconst, opmap
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ..base.shapes import in_range, whole
from ..runtime.thread import here
from .overriding import SPECIAL, notice
from .tensor import Tensor

# Interpreters whose code is known to be laid out as below, each tried by `tests/ops/test_wrong_arguments.py`; on others wrong
# arguments are reported in the words of the line that fails.
_KNOWN = sys.implementation.name == "cpython" and (3, 11) <= sys.version_info < (3, 15)

# The first of some units (of two bytes), the one after the last, where their handler is, and its depth.
Range = tuple[int, int, int, int]


# What a value of a declared kind has; arrays have all of them and are none.
_KINDS: dict[Any, str] = {"int": "__index__", "float": "__float__", "bool": "__bool__"}
# NumPy's words for sizes that no machine has, and for more dimensions than it knows.
_TOO_LARGE = (
    "array is too big", "Maximum allowed", "supported dimension for an ndarray", "ndmin must be",
    "broadcast dimensions too large", "Python int too large to convert to C",
)  # fmt: skip
_NEGATIVE = ("negative dimensions are not allowed", "elements of broadcast shape must be")
_OF_ARRAYS = ("The truth value of an array", "can only convert an array", "only length-1 arrays", "ufunc '")


def explain_failures(fn: Any, name: str) -> None:
    """Let `fn`, public as `name`, and what it wraps, say which argument should have been a tensor."""
    while _KNOWN and isinstance(fn, FunctionType):
        code = fn.__code__
        done = code.co_consts and isinstance(code.co_consts[-1], _Explain)  # under another name
        if "Tensor" in fn.__annotations__.values() and not done:
            fn.__code__ = _with_handler(code, _Explain(fn, name))
        fn = getattr(fn, "__wrapped__", None)


def not_a_tensor(name: str, argument: str, position: int, value: object) -> TypeError:
    """PyTorch's error for a value that is no tensor, with what to do about it."""
    text = f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {kind_of(value)}"
    if isinstance(value, np.ndarray):
        return TypeError(f"{text}; torch.from_numpy({argument}) makes one that shares its memory")
    if isinstance(value, (bool, int, float, complex, list, tuple, np.generic)):
        return TypeError(f"{text}; torch.tensor({argument}) makes one")
    return TypeError(text)


def kind_of(value: object) -> str:
    """The name of a value's type, as PyTorch's errors write it."""
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _tensors(value: object) -> bool:
    """A tensor, or a list of them where PyTorch takes that instead of several arguments."""
    if isinstance(value, (list, tuple)):
        return all(isinstance(v, Tensor) for v in value)
    return isinstance(value, Tensor)


# -- while an exception passes --------------------------------------------------------------------


class _Explain:
    """Called in the frame of a function that fails: raises when an argument is the reason."""

    __slots__ = ("defaults", "fn", "name")

    def __init__(self, fn: FunctionType, name: str) -> None:
        self.fn, self.name = fn, name
        self.defaults = (fn.__defaults__ or (), fn.__kwdefaults__ or {})

    def __call__(self, then: Any = None) -> Any:
        """Whether a class of the arguments answers in place of the function; on the second call, its answer."""
        frame = sys._getframe(1)
        if then is not None:
            return self._answer(frame.f_code, frame.f_locals)
        error = sys.exc_info()[1]
        if not isinstance(error, Exception):
            return False  # Ctrl-C and its like
        if self._has_stranger(frame.f_code, frame.f_locals):
            return True
        if isinstance(error, NotImplementedError):
            return False  # an error that our own code raised on purpose
        if isinstance(error, TypeError) and str(error).startswith(self.name + "()"):
            return False  # the op's own rule has already said what it wants
        if not isinstance(error, ValueError) or not str(error).startswith("Overflow when"):
            self._say_range(frame.f_code, frame.f_locals)
        if any(words in str(error) for words in _TOO_LARGE):
            raise RuntimeError(f"Storage size calculation overflowed in {self.name}()") from None
        if any(words in str(error) for words in _NEGATIVE):
            said = f"Trying to create tensor with negative dimension in {self.name}()"
            raise RuntimeError(said) from None
        asked = getattr(error, "obj", self)
        number = isinstance(error, AttributeError) and error.name == "__index__"
        self._say(self if number else asked, frame.f_code, frame.f_locals)
        if isinstance(error, ValueError) and str(error).startswith("invalid literal for int()"):
            asked, number = "", True  # any text
        if isinstance(error, (AttributeError, TypeError, ValueError)):
            self._say_number(asked if number else self, frame.f_code, frame.f_locals)
        self._say_kind(frame.f_code, frame.f_locals)
        if isinstance(error, StopIteration) or str(error).startswith(_OF_ARRAYS):
            self._say_mix(frame.f_code, frame.f_locals)
        return False

    def _has_stranger(self, code: CodeType, given: dict) -> bool:
        """Whether an argument is of a class that wants to be asked and was not seen before."""
        if here.unasked:
            return False
        args, kwargs = _arguments(self.defaults, code, given)
        flat = [v for a in (*args, *kwargs.values()) for v in (a if type(a) in (list, tuple) else (a,))]
        new = {type(v) for v in flat if type(v) not in SPECIAL and not isinstance(v, Tensor)}
        return any(notice(cls) for cls in new)

    def _answer(self, code: CodeType, given: dict) -> Any:
        args, kwargs = _arguments(self.defaults, code, given)
        return self.fn(*args, **kwargs)

    def _named(self, code: CodeType, given: dict) -> Iterator[tuple[int, str, Any]]:
        """Arguments with a name that are no tensors: position, name, value."""
        for i, name in enumerate(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]):
            if name in given and not isinstance(given[name], Tensor):
                yield i + 1, name, given[name]

    def _say_number(self, asked: Any, code: CodeType, given: dict) -> None:
        """An argument that should be a whole number, or has `asked` where one should be."""
        for at, name, value in self._named(code, given):
            wants = f"{self.name}(): argument '{name}' (position {at}) must be "
            kind = self.fn.__annotations__.get(name)
            if kind == "int" and not hasattr(value, "__index__"):
                raise TypeError(f"{wants}int, not {kind_of(value)}") from None
            text = isinstance(value, str) and isinstance(asked, str) and "str" not in str(kind)
            if value is asked or text:
                raise TypeError(f"{wants}tuple of ints, not {kind_of(value)}") from None
            if isinstance(value, (list, tuple)) and any(v is asked for v in value):
                where = [v is asked for v in value].index(True)
                found = f"but found element of type {kind_of(asked)} at pos {where}"
                raise TypeError(f"{wants}tuple of ints, {found}") from None

    def _say_range(self, code: CodeType, given: dict) -> None:
        """A whole number, alone or in a list, that is larger than PyTorch's: what fails, fails because of it."""
        for _, name, value in self._named(code, given):
            kind = self.fn.__annotations__.get(name, "")
            if isinstance(value, (list, tuple)) and all(isinstance(v, int) for v in value):
                try:
                    in_range(name, tuple(value))
                except TypeError as error:
                    raise TypeError(f"{self.name}(): {error}") from None
            elif value.__class__ is int and "int" in kind:
                whole(value, name)

    def _say_kind(self, code: CodeType, given: dict) -> None:
        """An argument that is declared a number or a truth value, and is an array, a text or something strange."""
        for at, name, value in self._named(code, given):
            kind = self.fn.__annotations__.get(name)
            fits = _KINDS.get(kind)
            if fits is None or value is None or isinstance(value, (list, tuple)):
                continue  # functions may take more than they declare
            if isinstance(value, np.ndarray) or not hasattr(value, fits):
                wants = f"{self.name}(): argument '{name}' (position {at}) must be {kind}"
                raise TypeError(f"{wants}, not {kind_of(value)}") from None

    def _say_mix(self, code: CodeType, given: dict) -> None:
        """Words of NumPy's or of an iterator, which mean nothing to the caller: the kinds that were given."""
        args, _ = _arguments(self.defaults, code, given)
        kinds = ", ".join(["Tensor" if isinstance(a, Tensor) else kind_of(a) for a in args])
        text = f"{self.name}() received an invalid combination of arguments - got ({kinds})"
        raise TypeError(text) from None

    def _say(self, asked: Any, code: CodeType, given: dict) -> None:
        fn = self.fn
        for at, name, value in self._named(code, given):
            if fn.__annotations__.get(name) == "Tensor" or value is asked:
                public = "input" if name == "self" else name
                raise not_a_tensor(self.name, public, at, value) from None
        if code.co_flags & 0x04:  # *tensors
            name = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
            for i, value in enumerate(given.get(name, ())):
                if fn.__annotations__.get(name) == "Tensor" and not _tensors(value):
                    raise TypeError(f"expected Tensor as element {i} in argument 0, but got {kind_of(value)}") from None


def _arguments(usual: tuple[tuple, dict], code: CodeType, given: dict) -> tuple[list, dict]:
    """What a function that fails was called with: those that differ from the defaults."""
    names = code.co_varnames
    count, last = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    defaults = dict(zip(reversed(names[:count]), reversed(usual[0]))) | usual[1]
    args = [given.get(n) for n in names[:count]]
    if code.co_flags & 0x04:  # *args
        args += given.get(names[last], ())
        last += 1
    else:
        while args and names[len(args) - 1] in defaults and args[-1] is defaults[names[len(args) - 1]]:
            args.pop()
    kwargs = {n: given[n] for n in names[count : count + code.co_kwonlyargcount]
              if n in given and given[n] is not defaults.get(n, usual)}  # fmt: skip
    return args, kwargs | (given.get(names[last], {}) if code.co_flags & 0x08 else {})


# -- a table of exceptions and its code (CPython: Objects/exception_handling_notes.txt) ---------------


def _ranges(table: bytes) -> list[Range]:
    """The table's entries; it holds numbers of six bits a byte, where 64 says that more follow."""
    numbers = []
    value = 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            numbers.append(value)
            value = 0
    fours = zip(*[iter(numbers)] * 4)
    return [(first, first + size, target, depth) for first, size, target, depth in fours]


def _table(ranges: list[Range]) -> bytes:
    out = bytearray()
    for first, end, target, depth in sorted(ranges):
        begin = len(out)
        for value in (first, end - first, target, depth):
            if value > 4095:
                out.append(value >> 12 | 64)
            if value > 63:
                out.append(value >> 6 & 63 | 64)
            out.append(value & 63)
        out[begin] |= 128
    return bytes(out)


def _gaps(ranges: list[Range], first: int, end: int) -> list[tuple[int, int]]:
    """What no entry covers between `first` and `end`."""
    found = []
    for low, high, _, _ in sorted(ranges):
        if first < low:
            found.append((first, low))
        first = max(first, high)
    return [*found, (first, end)] if first < end else found


_HANDLER = "def f():\n try: g()\n except:\n  if '?'(): return '?'('?')\n  raise"


class _Template:
    """The instructions of `except: if explain(): return explain(...)`, else `raise`, as this interpreter compiles them."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a string cannot be called is known
            module = compile(_HANDLER, __file__, "exec")
        code: Any = next(c for c in module.co_consts if isinstance(c, CodeType))
        ranges = _ranges(code.co_exceptiontable)
        start = ranges[0][2]
        self.ranges = [(a - start, b - start, t - start, d) for a, b, t, d in ranges[1:]]
        self.bytes = code.co_code[2 * start :]
        mark = code.co_consts.index("?")
        self.places = [
            i + 1 for i in range(0, len(self.bytes), 2) if self.bytes[i] in hasconst and self.bytes[i + 1] == mark
        ]
        self.stacksize = code.co_stacksize
        # All of it belongs to the function's last line. 13: a line and no columns, then the step to it.
        units = len(self.bytes) // 2
        self.lines = b"".join([bytes([0x80 | 13 << 3 | min(units - i, 8) - 1, 0]) for i in range(0, units, 8)])


_TEMPLATE: Any = _Template() if _KNOWN else None
_RESUME = bytes([opmap["RESUME"], 0])


@lru_cache(256)
def _handler(number: int) -> bytes:
    """The template's instructions, where they call the constant of this number."""
    out = bytearray(_TEMPLATE.bytes)
    for i in _TEMPLATE.places:
        out[i] = number
    return bytes(out)


@lru_cache(1024)
def _guarded(table: bytes, begin: int, units: int) -> bytes:
    """The table of code of so many units with the handler behind them: it takes what nothing else catches from `begin` on.

    Functions of the same length have the same one, unless they catch something themselves.
    """
    ranges = _ranges(table)
    mine = [(low, high, units, 0) for low, high in _gaps(ranges, begin, units)]
    inside = [(a + units, b + units, t + units, d) for a, b, t, d in _TEMPLATE.ranges]
    return _table(ranges + mine + inside)


def _with_handler(code: CodeType, explain: Any) -> CodeType:
    """The same code; an exception that nothing in it catches calls `explain` and goes on."""
    text = code.co_code
    units = len(text) // 2
    begin = text.find(_RESUME, 0, 32) // 2 + 1  # after cells and free variables were made
    if not begin or units > 200_000 or len(code.co_consts) > 255 or code.co_flags & (0x20 | 0x80 | 0x200):
        return code  # too many constants for one byte, or a generator
    return code.replace(
        co_code=text + _handler(len(code.co_consts)),
        co_consts=(*code.co_consts, explain),
        co_exceptiontable=_guarded(code.co_exceptiontable, begin, units),
        co_linetable=code.co_linetable + _TEMPLATE.lines,
        co_stacksize=max(code.co_stacksize, _TEMPLATE.stacksize),
    )
