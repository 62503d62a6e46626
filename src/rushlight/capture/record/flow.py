"""What the code of a recorded call does with a number that the host reads, and whether it catches errors where it is."""

from __future__ import annotations

import dis
import inspect
import sys
from functools import lru_cache
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..program.slots import Slot

# Instructions that do nothing with the stack.
_IDLE = frozenset("NOP RESUME CACHE EXTENDED_ARG PRECALL KW_NAMES NOT_TAKEN".split())
# How many values from the top of the stack an instruction takes, where the number is always the same.
_TAKES = {
    "LOAD_ATTR": 1, "LOAD_METHOD": 1, "STORE_ATTR": 2, "STORE_GLOBAL": 1, "STORE_DEREF": 1, "STORE_NAME": 1,
    "BINARY_OP": 2, "BINARY_SUBSCR": 2, "STORE_SUBSCR": 3, "DELETE_SUBSCR": 2, "BINARY_SLICE": 3,
    "COMPARE_OP": 2, "IS_OP": 2, "CONTAINS_OP": 2, "UNARY_NEGATIVE": 1, "UNARY_NOT": 1, "UNARY_INVERT": 1,
    "GET_ITER": 1, "TO_BOOL": 1,
}  # fmt: skip
_MAKES_FUNCTIONS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_FAR = 400  # instructions after which nobody follows a value any more


def destination(frame: FrameType | None, last: FrameType) -> str:
    """What becomes of the answer of the call at work in `frame`, by the time that `last` has its own.

    "returned": it can only be part of that; "dropped": nobody looks at it; "used": anything else.
    """
    while frame is not None and frame is not last:
        found = _flow(frame.f_code, frame.f_lasti)
        if found != "returned":
            return found
        frame = frame.f_back
    return "used" if frame is None else "returned"


@lru_cache(maxsize=1024)
def _flow(code: CodeType, at: int) -> str:
    """What code does with the answer of the call at an offset: "returned", "dropped" or "used"."""
    if code.co_flags & _MAKES_FUNCTIONS:
        return "used"
    return _Path(code).follow(at)


class _Path:
    """The ways of one value through one function: on the stack, and by local variables."""

    def __init__(self, code: CodeType) -> None:
        self.instructions = list(dis.get_instructions(code))
        self.named: set[str] = set()  # variables that may hold it
        self.returned = False

    def follow(self, at: int) -> str:
        # Python may stand anywhere in the inline caches of an instruction.
        start = max([i for i, ins in enumerate(self.instructions) if ins.offset <= at], default=0)
        if not self.instructions[start].opname.startswith("CALL"):
            return "used"
        if not self._walk(start + 1, [True]):
            return "used"
        done: set[str] = set()
        while self.named - done:
            name = min(self.named - done)
            done.add(name)
            for i, ins in enumerate(self.instructions):
                if name in _loaded(ins) and not self._walk(i, []):
                    return "used"
        return "returned" if self.returned else "dropped"

    def _walk(self, i: int, stack: list[bool]) -> bool:
        """Go on from an instruction; `stack` says which of the topmost values hold the number. False: it is used."""
        for n, ins in enumerate(self.instructions[i : i + _FAR]):
            if n and not any(stack):
                return True  # only variables hold it, whose every use is looked at
            done = self._step(ins, stack)
            if done is not None:
                return done
        return False

    def _step(self, ins: Any, stack: list[bool]) -> bool | None:
        """One instruction: None to go on, else whether all is well."""
        name = ins.opname
        if name in _IDLE:
            return None
        if name in ("RETURN_VALUE", "RETURN_CONST"):
            self.returned |= name == "RETURN_VALUE" and _take(stack, 1)[0]
            return True
        if name.startswith("STORE_FAST"):
            return self._store(ins, stack)
        if _is_load(name):
            names = _loaded(ins)
            if names:
                stack.extend([v in self.named for v in names])
            else:
                stack.extend([False] * dis.stack_effect(ins.opcode, ins.arg, jump=False))
            return None
        if name in ("BUILD_TUPLE", "BUILD_LIST"):
            stack.append(any(_take(stack, ins.arg)))
        elif name in ("BUILD_MAP", "BUILD_CONST_KEY_MAP"):
            pairs = name == "BUILD_MAP"
            taken = _take(stack, ins.arg * 2 if pairs else ins.arg + 1)
            if any(taken[::2] if pairs else taken[-1:]):
                return False  # as a key it would be compared
            stack.append(any(taken))
        elif name == "POP_TOP":
            _take(stack, 1)
        elif name in ("SWAP", "COPY"):
            _reach(stack, ins.arg)
            if name == "COPY":
                stack.append(stack[-ins.arg])
            else:
                stack[-1], stack[-ins.arg] = stack[-ins.arg], stack[-1]
        else:
            return self._other(ins, stack)
        return None

    def _store(self, ins: Any, stack: list[bool]) -> bool | None:
        names = ins.argval if isinstance(ins.argval, tuple) else (ins.argval,)
        if ins.opname == "STORE_FAST_LOAD_FAST":
            self._bind(names[0], _take(stack, 1)[0])
            stack.append(names[1] in self.named)
        elif ins.opname in ("STORE_FAST", "STORE_FAST_STORE_FAST"):
            for name in names:
                self._bind(name, _take(stack, 1)[0])
        else:
            return False
        return None

    def _bind(self, name: str, holds: bool) -> None:
        if holds:
            self.named.add(name)

    def _other(self, ins: Any, stack: list[bool]) -> bool | None:
        """An instruction that works on other values, above the number or beside it."""
        n = _TAKES.get(ins.opname)
        if n is None and ins.opname in ("CALL", "CALL_KW"):
            n = ins.arg + (2 if ins.opname == "CALL" else 3)
        if n is None or any(_take(stack, n)):
            return False
        calls = ins.opname in ("CALL", "CALL_KW")  # Python 3.11 counts a part of it for PRECALL
        left = 1 if calls else n + dis.stack_effect(ins.opcode, ins.arg, jump=False)
        stack.extend([False] * left)
        return None


def _is_load(name: str) -> bool:
    return name == "PUSH_NULL" or (
        name.startswith("LOAD_")
        and name not in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "LOAD_SPECIAL")
        and "FROM_DICT" not in name
    )


def _loaded(ins: Any) -> tuple[str, ...]:
    """The local variables that an instruction puts on the stack."""
    if ins.opname == "STORE_FAST_LOAD_FAST":
        return (ins.argval[1],)
    if not ins.opname.startswith("LOAD_FAST"):
        return (ins.argval,) if ins.opname in ("LOAD_DEREF", "LOAD_CLOSURE") else ()
    return ins.argval if isinstance(ins.argval, tuple) else (ins.argval,)


def _reach(stack: list[bool], n: int) -> None:
    """What lies below the values that are followed is something else."""
    stack[:0] = [False] * (n - len(stack))


def _take(stack: list[bool], n: int) -> list[bool]:
    _reach(stack, n)
    taken = stack[len(stack) - n :]
    del stack[len(stack) - n :]
    return taken


class Reading:
    """One host read: which slot, where, and whether anybody looked at the number."""

    def __init__(self, recorder: Any, slot: Slot, line: str) -> None:
        self.recorder = recorder
        self.slot = slot
        self.line = line

    def used(self, how: str) -> None:
        self.recorder.complain(f"reads a tensor's value on the host ({how})", self.line)


class WatchedArray(np.ndarray):
    """What a host read answers while recording: `.item()` gives a watched number."""

    reading: Any = None

    def item(self, *args: Any) -> Any:
        value = self.view(np.ndarray).item(*args)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.reading.used("item()")
            return value
        kind = WatchedInt if isinstance(value, int) else WatchedFloat
        number = kind(value)
        number.reading = self.reading
        return number

    def __array_finalize__(self, source: Any) -> None:
        self.reading = getattr(source, "reading", None)


def watched(values: np.ndarray, reading: Reading) -> WatchedArray:
    """The one value of a read, for `Tensor.item` to take a watched number from."""
    found = values.view(WatchedArray)
    found.reading = reading
    return found


def _reporting(name: str, base: type) -> Any:
    plain = getattr(base, name)

    def method(self: Any, *args: Any) -> Any:
        self.reading.used(name.strip("_"))
        return plain(self, *args)

    method.__name__ = name
    return method


_USES = (
    "__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__ "
    "__rfloordiv__ __mod__ __rmod__ __pow__ __rpow__ __divmod__ __lt__ __le__ __gt__ __ge__ __eq__ "
    "__ne__ __bool__ __neg__ __pos__ __abs__ __int__ __float__ __index__ __round__ __trunc__ "
    "__floor__ __ceil__ __str__ __repr__ __format__ __hash__ is_integer as_integer_ratio hex "
    "__and__ __or__ __xor__ __lshift__ __rshift__ __invert__ bit_length to_bytes"
).split()


def _watched_number(base: type) -> type:
    methods = {name: _reporting(name, base) for name in _USES if hasattr(base, name)}
    return type(f"Watched{base.__name__.capitalize()}", (base,), {"reading": None, **methods})


WatchedFloat = _watched_number(float)
WatchedInt = _watched_number(int)


def reading_of(value: Any) -> Reading | None:
    """The host read that a number comes from, or None: other objects are not asked."""
    return value.reading if type(value) in (WatchedFloat, WatchedInt) else None


# -- errors that are caught --------------------------------------------------------------------------

_PACKAGE = __name__.split(".")[0] + "."
_RECORDING = f"{_PACKAGE}capture.record.recording"  # who calls the function
_CAUGHT = dis.opmap.get("PUSH_EXC_INFO", -1)
_WITH = dis.opmap.get("WITH_EXCEPT_START", -1)


def is_caught(by_values: tuple[type, ...]) -> bool:
    """Whether one of these errors, raised now, would come to a handler of the function, or of one that it calls."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name == _RECORDING:
            return False
        if not name.startswith(_PACKAGE):
            at = frame.f_lasti
            for start, end, handler in _handled(frame.f_code):
                if start <= at < end and not _passes(frame, handler, by_values):
                    return True
        frame = frame.f_back
    return False


@lru_cache(maxsize=1024)
def _handled(code: CodeType) -> tuple[tuple[int, int, tuple[str, ...] | None], ...]:
    """Where the code is inside of a `try`: from which instruction to which, and what its handlers ask for."""
    parse = getattr(dis, "_parse_exception_table", None)
    if parse is None or not code.co_exceptiontable:
        return ()
    found = []
    for entry in parse(code):
        first, second = code.co_code[entry.target], code.co_code[entry.target + 2]
        if first == _CAUGHT and second != _WITH:
            found.append((entry.start, entry.end, _asked_for(code, entry.target)))
    return tuple(found)


def _asked_for(code: CodeType, target: int) -> tuple[str, ...] | None:
    """The names behind each `except` of a `try`; None where there is anything else, as `finally` or a bare `except`."""
    names: list[str] = []
    steps = [ins for ins in dis.get_instructions(code) if ins.offset >= target and ins.opname not in _IDLE][1:]
    while len(steps) > 2 and (steps[0].opname, steps[1].opname) == ("LOAD_GLOBAL", "CHECK_EXC_MATCH"):
        if not steps[2].opname.endswith("IF_FALSE"):
            return None
        names.append(steps[0].argval)
        steps = [ins for ins in steps if ins.offset >= steps[2].argval]
    return tuple(names) if steps and steps[0].opname == "RERAISE" else None


def _passes(frame: FrameType, names: tuple[str, ...] | None, errors: tuple[type, ...]) -> bool:
    """Whether a handler lets all of these errors by: it names Python's own exceptions, and none that they are."""
    if names is None or any(name in frame.f_globals for name in names):
        return False
    asked = tuple([frame.f_builtins.get(name) for name in names])
    return all(isinstance(a, type) and not any(issubclass(e, a) for e in errors) for a in asked)
