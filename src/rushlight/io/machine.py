"""A pickle machine that can only build data: fixed opcodes, allowed names, no imports."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from .budget import Budget, check_depth, check_key
from .errors import CorruptFileError

_MARK = object()
_unpack_from = struct.unpack_from


class Machine:
    """Run one pickle of `data` starting at `at`.

    `find(module, name)` gives the object a global name stands for, or raises; `call(fn, args)` may
    refuse; `persistent(id)` answers persistent ids; `build(obj, state)` applies a state. `new` makes an
    instance of a class without calling it, and is `call` where there is no difference. Instances of the
    types `keys` may be keys of dicts, beside plain data.
    """

    def __init__(
        self,
        data: memoryview,
        find: Callable[[str, str], Any],
        call: Callable[[Any, tuple], Any],
        persistent: Callable[[Any], Any],
        build: Callable[[Any, Any], None],
        at: int = 0,
        new: Callable[[Any, tuple], Any] | None = None,
        keys: tuple[type, ...] = (),
    ) -> None:
        self.data = data
        self.at = at
        self.budget = Budget(len(data))
        self.new, self.keys = new or call, keys
        self.find, self.call, self.persistent, self.build = find, call, persistent, build
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.result: Any = None

    def run(self) -> Any:
        """The object the pickle describes."""
        table = _TABLE
        steps = 0
        try:
            while True:
                code = self.data[self.at]
                self.at += 1
                if code == 0x2E:  # STOP
                    (self.result,) = self.stack
                    if self.result is _MARK:
                        raise CorruptFileError("the pickle is damaged (a mark is no result)")
                    check_depth(self.result)
                    return self.result
                table[code](self)
                steps += 1
                if not steps & 0xFFF:
                    self.budget.check_time()
        except CorruptFileError:
            raise
        except KeyError as error:
            raise CorruptFileError(f"unexpected or forbidden content in the pickle ({error})") from None
        except (IndexError, ValueError, TypeError, struct.error, UnicodeDecodeError, OverflowError,
                AttributeError, MemoryError, RecursionError) as error:  # fmt: skip
            raise CorruptFileError(f"the pickle is damaged ({type(error).__name__}: {error})") from None

    def take(self, n: int) -> memoryview:
        if n < 0 or self.at + n > len(self.data):
            raise CorruptFileError("the pickle ends too early")
        piece = self.data[self.at : self.at + n]
        self.at += n
        return piece

    def number(self, form: str, size: int) -> int:
        (value,) = _unpack_from(form, self.take(size))
        return value

    def line(self) -> str:
        end = bytes(self.data[self.at : self.at + 4096]).find(b"\n")
        if end < 0:
            raise CorruptFileError("the pickle ends too early")
        return str(self.take(end + 1)[:-1], "utf-8")

    def text(self, size: int) -> None:
        self.stack.append(str(self.take(size), "utf-8", "surrogatepass"))

    def pop(self) -> Any:
        found = self.stack.pop()
        if found is _MARK:
            raise CorruptFileError("the pickle is damaged (a mark where a value should be)")
        return found

    def pop_mark(self) -> list[Any]:
        for i in range(len(self.stack) - 1, -1, -1):
            if self.stack[i] is _MARK:
                items = self.stack[i + 1 :]
                del self.stack[i:]
                return items
        raise CorruptFileError("the pickle is damaged (no mark)")

    def top(self, kind: tuple[type, ...]) -> Any:
        found = self.stack[-1]
        if not isinstance(found, kind):
            raise CorruptFileError(f"the pickle puts items into a {type(found).__name__}")
        return found

    def append(self, items: list[Any]) -> None:
        self.top((list,)).extend(items)

    def set_items(self, items: list[Any]) -> None:
        if len(items) % 2:
            raise CorruptFileError("the pickle is damaged (odd number of dict items)")
        target = self.top((dict,))
        for at in range(0, len(items), 2):
            key = items[at]
            check_key(key, self.keys)
            target[key] = items[at + 1]
            if not at & 0xFE:
                self.budget.check_time()

    def members(self, items: list[Any]) -> list[Any]:
        """Items that a set may hold."""
        for item in items:
            check_key(item, self.keys)
        return items

    def reduce(self) -> None:
        self.stack.append(self.call(*self.called()))

    def called(self) -> tuple[Any, tuple]:
        args = self.pop()
        if not isinstance(args, tuple):
            raise CorruptFileError("the pickle calls with something that is no tuple")
        return self.pop(), args

    def apply_state(self) -> None:
        state = self.pop()
        self.build(self.stack[-1], state)

    def name(self, module: Any, name: Any) -> None:
        if not isinstance(module, str) or not isinstance(name, str):
            raise CorruptFileError("the pickle names a global by something that is no text")
        self.stack.append(self.find(module, name))

    def memoize(self, key: int) -> None:
        found = self.pop()
        self.stack.append(found)
        self.memo[key] = found

    def tuple_of(self, n: int) -> None:
        if len(self.stack) < n or any(i is _MARK for i in self.stack[-n:]):
            raise CorruptFileError("the pickle is damaged (tuple)")
        items = tuple(self.stack[-n:])
        del self.stack[-n:]
        self.stack.append(items)

    def new_object(self) -> None:
        self.stack.append(self.new(*self.called()))


def _long(m: Machine) -> None:
    m.stack.append(int.from_bytes(m.take(m.number("<B", 1)), "little", signed=True))


def _append_one(m: Machine) -> None:
    item = m.pop()
    m.append([item])


def _set_one(m: Machine) -> None:
    value = m.pop()
    key = m.pop()
    m.set_items([key, value])


def _stack_global(m: Machine) -> None:
    name = m.stack.pop()
    m.name(m.stack.pop(), name)


def _add_items(m: Machine) -> None:
    items = m.pop_mark()
    m.top((set,)).update(m.members(items))


def _global_line(m: Machine) -> None:
    module = m.line()
    m.name(module, m.line())


def _dict_from_mark(m: Machine) -> None:
    items = m.pop_mark()
    m.stack.append({})
    m.set_items(items)


_TABLE: dict[int, Callable[[Machine], Any]] = {
    0x80: lambda m: m.take(1),  # PROTO
    0x95: lambda m: m.take(8),  # FRAME
    ord("("): lambda m: m.stack.append(_MARK),
    ord("}"): lambda m: m.stack.append({}),
    ord("]"): lambda m: m.stack.append([]),
    ord(")"): lambda m: m.stack.append(()),
    0x8F: lambda m: m.stack.append(set()),
    ord("N"): lambda m: m.stack.append(None),
    0x88: lambda m: m.stack.append(True),
    0x89: lambda m: m.stack.append(False),
    ord("J"): lambda m: m.stack.append(m.number("<i", 4)),
    ord("K"): lambda m: m.stack.append(m.number("<B", 1)),
    ord("M"): lambda m: m.stack.append(m.number("<H", 2)),
    0x8A: _long,
    ord("G"): lambda m: m.stack.append(m.number(">d", 8)),
    ord("X"): lambda m: m.text(m.number("<I", 4)),
    0x8C: lambda m: m.text(m.number("<B", 1)),
    0x8D: lambda m: m.text(m.number("<Q", 8)),
    ord("U"): lambda m: m.stack.append(str(m.take(m.number("<B", 1)), "latin-1")),
    ord("T"): lambda m: m.stack.append(str(m.take(m.number("<i", 4)), "latin-1")),
    ord("C"): lambda m: m.stack.append(bytes(m.take(m.number("<B", 1)))),
    ord("B"): lambda m: m.stack.append(bytes(m.take(m.number("<I", 4)))),
    0x8E: lambda m: m.stack.append(bytes(m.take(m.number("<Q", 8)))),
    ord("t"): lambda m: m.stack.append(tuple(m.pop_mark())),
    0x85: lambda m: m.tuple_of(1),
    0x86: lambda m: m.tuple_of(2),
    0x87: lambda m: m.tuple_of(3),
    ord("l"): lambda m: m.stack.append(m.pop_mark()),
    ord("d"): _dict_from_mark,
    ord("a"): _append_one,
    ord("e"): lambda m: m.append(m.pop_mark()),
    ord("s"): _set_one,
    ord("u"): lambda m: m.set_items(m.pop_mark()),
    0x90: _add_items,
    0x91: lambda m: m.stack.append(frozenset(m.members(m.pop_mark()))),
    ord("q"): lambda m: m.memoize(m.number("<B", 1)),
    ord("r"): lambda m: m.memoize(m.number("<I", 4)),
    0x94: lambda m: m.memoize(len(m.memo)),
    ord("h"): lambda m: m.stack.append(m.memo[m.number("<B", 1)]),
    ord("j"): lambda m: m.stack.append(m.memo[m.number("<I", 4)]),
    ord("0"): lambda m: m.stack.pop(),
    ord("2"): lambda m: m.stack.append(m.stack[-1]),
    ord("c"): _global_line,
    0x93: _stack_global,
    ord("Q"): lambda m: m.stack.append(m.persistent(m.pop())),
    ord("R"): lambda m: m.reduce(),
    0x81: lambda m: m.new_object(),
    ord("b"): lambda m: m.apply_state(),
}
