"""Which instructions of Python a call ran: noted while it is recorded, to know what it depends on.

Python's own tracing tells of every instruction and every call of a C function in this thread. Code of this
package and of NumPy is trusted; all other code is read, the standard library's and installed packages' too.
"""

from __future__ import annotations

import builtins
import dis
import os
import sys
import threading
import typing
import weakref
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from ...base.garbage import collector_waits
from ...base.locks import new_lock
from ...core.tensor import Tensor
from ..state.kinds import isinstance_of
from ..state.known import BELOW, PLAIN_BUILTINS, REFLECTIVE, TENSOR_SECRETS, is_driver, is_ours, may_call, may_enter

_PACKAGE = __name__.partition(".")[0] + "."
_RUNTIME = _PACKAGE + "runtime."
_LEANED_ON = frozenset((
    "abc codecs _collections_abc collections contextlib copy copyreg dataclasses dis enum functools genericpath "
    "importlib inspect numbers operator os posixpath re threading types typing weakref"
).split())  # fmt: skip
_LIBRARY = ("<frozen ", os.path.dirname(os.__file__) + os.sep)
_ABSTRACT = frozenset(("abc", "collections.abc", "_collections_abc", "typing", "numbers"))
_CHECKS = frozenset(("__subclasshook__", "__instancecheck__", "__subclasscheck__", "_check_methods", "_proto_hook"))
_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None)))


# From Python 3.12 on, a function that ran before it was traced is told of from its next call or turn of a loop on.
_BEGINS_LATE = sys.version_info >= (3, 12)


# Python 3.12 crashes when two threads are told of every instruction: there, one at a time is.
_ONE_AT_A_TIME = sys.version_info[:2] == (3, 12)
_PATIENCE = 5.0  # seconds: the other thread may itself wait for this one, which then goes on unrecorded
_turn = new_lock()


@lru_cache(maxsize=4096)
def _instructions(code: CodeType) -> tuple[int, frozenset[int]]:
    """The first instruction that tracing tells of, and all of them."""
    offsets = [(ins.offset, ins.opname) for ins in dis.get_instructions(code)]
    begins = next((i for i, (_, name) in enumerate(offsets) if name == "RESUME"), -1)
    return offsets[begins + 1][0], frozenset([at for at, _ in offsets])


class _Thread(threading.local):
    """Which block this thread is inside of."""

    watching: Any = None


_thread = _Thread()


def can_watch() -> bool:
    """Whether instructions can be noted now: a debugger or a C profiler may already use Python's tracing."""
    tracing, profiling = sys.gettrace(), sys.getprofile()
    if profiling is not None and not callable(profiling):
        return False
    owner = type(getattr(tracing, "__self__", None))
    names = [owner.__module__, getattr(tracing, "__module__", None) or ""]
    debugger = any(n.startswith(("pydevd", "_pydev", "debugpy")) for n in names)
    return not debugger and not any(c.__module__ == "bdb" for c in owner.__mro__)


class _OfTensor(weakref.ref):
    """A tensor that was asked for an attribute, and that must not live longer for it."""

    __slots__ = ()


class Seen:
    """What the calls of one function ran so far."""

    def __init__(self) -> None:
        self.codes: dict[CodeType, set[int]] = {}  # offsets of instructions, of code that is read
        self.asked: dict[int, tuple[Any, set[str]]] = {}  # attributes by getattr and the like
        self.whole: dict[int, Any] = {}  # objects all of whose attributes matter
        self.tables: dict[int, dict] = {}  # names of our own modules whose code ran
        self.abstract = False  # whether abstract classes were asked what they take in
        self.calls = 0
        self.strange: str | None = None  # what it called that is not known
        self.complete = True  # whether nothing hid any instruction
        self.returned: list[weakref.ref] = []  # objects in results

    def absorb(self, now: Seen, reached: dict[int, Any], kinds: dict[int, type]) -> bool:
        """Add what a call ran, of objects those that outlive it; whether anything was new.

        `kinds` are the classes of arguments that are compared by what they hold: what else they are asked for is their class's.
        """
        grown, self.calls = now.abstract and not self.abstract, self.calls + 1
        self.tables.update(now.tables)
        self.abstract = self.abstract or now.abstract
        for code, ran in now.codes.items():
            mine = self.codes.setdefault(code, set())
            grown |= not ran <= mine
            mine |= ran
        for key, (value, names) in now.asked.items():
            value = value() if type(value) is _OfTensor else value
            if key in kinds:
                key, value = id(kinds[key]), kinds[key]
            elif key not in reached or reached[key][0] is not value:
                continue
            known = self.asked.setdefault(key, (value, set()))[1]
            grown |= not names <= known
            known |= names
        for key, value in now.whole.items():
            if key in kinds:
                key, value = id(kinds[key]), kinds[key]
            elif key not in reached or reached[key][0] is not value:
                continue
            if key not in self.whole:
                self.whole[key], grown = value, True
        return grown

    def returned_before(self, value: Any) -> bool:
        """Whether an earlier call returned this object, too; from now on it did."""
        self.returned = [r for r in self.returned if r() is not None]
        if any(r() is value for r in self.returned):
            return True
        try:
            self.returned.append(weakref.ref(value))
        except TypeError:
            return True  # nobody would know
        return False

    def ask(self, value: Any, name: str) -> None:
        """An attribute was looked for by name."""
        if type(value) is super:
            value = getattr(value, "__self__", value)
        if isinstance_of(value, Tensor):
            if name in TENSOR_SECRETS:
                self.strange = self.strange or f"it asks for {name} of a tensor"
            self.asked.setdefault(id(value), (_OfTensor(value), set()))[1].add(name)
        elif type(value) not in _PLAIN:
            self.asked.setdefault(id(value), (value, set()))[1].add(name)

    def refuse(self, what: str, frame: FrameType) -> None:
        if self.strange is None:
            self.strange = f"it calls {what} at {_line(frame)}, which a replay would not"


class Watching:
    """A block whose instructions are noted in `seen`."""

    refused = waits = False  # whether another thread has its turn; whether this one has
    stopped = False  # whether the rest of the call is of no interest

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.ours: dict[CodeType, bool] = {}
        self.locals: dict[CodeType, Any] = {}
        self.acting: set[int] = set()  # frames of the standard library that trusted code called
        self.below: set[int] = set()  # frames of kernels and drivers: whatever they do, a replay does it, too

    def __enter__(self) -> Watching:
        self.before = sys.gettrace(), sys.getprofile()
        self.outer, _thread.watching = _thread.watching, self
        self.start = sys._getframe(1)  # the frame that calls the function
        self.waits = _ONE_AT_A_TIME and self.outer is None
        if self.waits and not _turn.acquire(timeout=_PATIENCE):
            self.waits, self.refused = False, True
        _stand_ins.enter()
        if not self.refused:
            sys.setprofile(self._profile)
            sys.settrace(self._trace)
        return self

    def stop(self) -> None:
        """The call is never replayed, whatever else it runs: let it run at its own speed."""
        if not self.refused and not self.stopped and sys.gettrace() in (self._trace, None):
            self.stopped = True
            sys.settrace(self.before[0])
            sys.setprofile(self.before[1])

    def __exit__(self, *exc: Any) -> None:
        if self.stopped:
            pass
        elif sys.gettrace() != self._trace or sys.getprofile() != self._profile:
            self.seen.complete = False  # a debugger took over in the middle, or another thread has the turn
        else:
            sys.settrace(self.before[0])
            sys.setprofile(self.before[1])
        if self.waits:
            _turn.release()
        _stand_ins.leave()
        _thread.watching = self.outer

    def unwatched(self, call: Callable[[], Any]) -> Any:
        """Run a kernel, whoever wrote its body and whatever it imports: a replay runs it, too."""
        if self.refused or self.stopped:
            return call()
        sys.settrace(None)
        sys.setprofile(None)
        _thread.watching = None
        try:
            return call()
        finally:
            _thread.watching = self
            if not self.stopped:
                sys.setprofile(self._profile)
                sys.settrace(self._trace)

    def is_ours(self, frame: FrameType | None) -> bool:
        """Whether a frame runs trusted code, or the standard library at its request."""
        if frame is None or id(frame) in self.acting:
            return True
        code = frame.f_code
        found = self.ours.get(code)
        if found is None:
            name = frame.f_globals.get("__name__")
            found = is_ours(code.co_filename, name) or _is_weak_callback(name, code)
            found = found or code in BELOW
            self.ours[code] = found
        return found

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        code, back = frame.f_code, frame.f_back
        if self.is_ours(frame):
            table = frame.f_globals
            if id(table) not in self.seen.tables and _is_our_module(table):
                self.seen.tables[id(table)] = table
            hidden = "weakref" in code.co_filename or code in BELOW
            if back is not None and not self.is_ours(back) and not hidden:
                self._entry(frame, back)
            return None
        if frame.f_globals.get("__name__") in _ABSTRACT and code.co_name in _CHECKS:
            if back is not None and not self.is_ours(back):
                self.seen.abstract = True
                self._protocol(frame.f_locals, back)
            self.acting.add(id(frame))  # what classes an abstract class takes in: asked once, then remembered
            return None
        if back is not None and self.is_ours(back) and back is not self.start:
            if id(back) in self.below or _is_below(back):
                self.below.add(id(frame))
                self.acting.add(id(frame))
                return None
            if _may_act(frame):
                self.acting.add(id(frame))
                return None
        local = self.locals.get(code)
        if local is None:
            local = self.locals[code] = self._local(code)
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._checked(code, local) if _BEGINS_LATE else local

    def _local(self, code: CodeType) -> Any:
        add = self.seen.codes.setdefault(code, set()).add
        ask = self.seen.ask

        def local(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "opcode":
                add(frame.f_lasti)
            elif event == "exception" and isinstance(arg[1], AttributeError):
                if arg[1].name is not None:
                    ask(arg[1].obj, arg[1].name)
            return local

        return local

    def _checked(self, code: CodeType, local: Any) -> Any:
        """`local` for one call: where Python did not tell of all its instructions, any of them may have run."""
        noted, (start, every) = self.seen.codes[code], _instructions(code)
        begun = False

        def checked(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal begun
            late = event == "opcode" and not begun and frame.f_lasti > start
            if late or (event == "return" and (not begun or frame.f_lasti not in noted)):
                noted.update(every)
            begun = begun or event == "opcode"
            local(frame, event, arg)
            return checked

        return checked

    def _protocol(self, given: Any, back: FrameType) -> None:
        """An object or a class is asked for the members that a protocol names."""
        cls = given.get("cls")
        if not getattr(cls, "_is_protocol", False):
            return
        names = getattr(typing, "_get_protocol_attrs", None)
        if names is None:
            self.seen.refuse("isinstance() with a protocol", back)
            return
        for value in (given.get("instance"), given.get("other"), given.get("subclass")):
            for name in names(cls):
                self.seen.ask(value, name)

    def _entry(self, frame: FrameType, back: FrameType) -> None:
        """A trusted function is called by code that is read."""
        module, name = frame.f_globals.get("__name__") or "", frame.f_code.co_name
        if not may_enter(module, name):
            self.seen.refuse(f"{module}.{name}()", back)

    def _profile(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "return":
            self.acting.discard(id(frame))
            self.below.discard(id(frame))
        elif event == "c_call" and not self.is_ours(frame) and not may_call(arg):
            self.seen.refuse(_named(arg), frame)


def _line(frame: FrameType) -> str:
    """Where a frame is; a line of the standard library says little, so who called it stands beside it."""
    found = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    caller: FrameType | None = frame
    while caller is not None and _is_of_library(caller.f_code.co_filename):
        caller = caller.f_back
    if caller is None or caller is frame:
        return found
    return f"{found} (called at {caller.f_code.co_filename}:{caller.f_lineno})"


def _is_of_library(file: str) -> bool:
    """Whether a file belongs to Python's standard library; installed packages lie in a folder of it."""
    return file.startswith(_LIBRARY) and "-packages" + os.sep not in file


def _is_our_module(table: dict[str, Any]) -> bool:
    """Whether these are the global names of a module of this package."""
    name = table.get("__name__") or ""
    return name.startswith(_PACKAGE) and vars(sys.modules.get(name, object)) is table


def _is_below(frame: FrameType) -> bool:
    """Whether a frame is the runtime's: what it calls is a kernel or a driver, which stand below the door."""
    name = frame.f_globals.get("__name__") or ""
    return name.startswith(_RUNTIME) or is_driver(name)


def _may_act(frame: FrameType) -> bool:
    """Whether a frame is of a module that our code relies on (imports, named tuples), and not a function that was passed in."""
    name = frame.f_globals.get("__name__") or ""
    return name in _LEANED_ON or name.startswith(("encodings.", "importlib.", "namedtuple_"))


def _is_weak_callback(module: str | None, code: CodeType) -> bool:
    """What weak tables do when something dies, in the middle of whatever runs just then."""
    return module in ("weakref", "_weakrefset") and code.co_name in ("remove", "_remove", "__call__")


def _named(function: Any) -> str:
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", repr(function))
    if owner is None or type(owner).__name__ == "module":
        module = getattr(function, "__module__", None)
        return f"{module}.{name}()" if module and module != "builtins" else f"{name}()"
    cls = owner if isinstance(owner, type) else type(owner)
    return f"{cls.__name__}.{name}()"


class _StandIns:
    """What holds for the whole process while anybody records, in whatever order recordings begin and end.

    getattr and its like note what they were asked. The collector waits: finalisers of what died elsewhere, and
    functions that others hung into `gc.callbacks`, run in the middle of a call and are no part of it.
    """

    def __init__(self) -> None:
        self.lock = new_lock()
        self.recordings = 0
        self.before: dict[str, Any] = {}

    def enter(self) -> None:
        with self.lock:
            self.recordings += 1
            if self.recordings == 1:
                collector_waits.begin()
                self.before = {name: getattr(builtins, name) for name in REFLECTIVE}
                for name, stand_in in _NOTING.items():
                    setattr(builtins, name, stand_in)

    def leave(self) -> None:
        with self.lock:
            self.recordings -= 1
            if self.recordings == 0:
                collector_waits.end()
                for name, plain in self.before.items():
                    if getattr(builtins, name) is _NOTING[name]:
                        setattr(builtins, name, plain)


def _noting(name: str) -> Any:
    plain = PLAIN_BUILTINS[name]

    def stand_in(*args: Any) -> Any:
        if not args:  # the local variables of the caller
            found = sys._getframe(1).f_locals
            return found if plain is PLAIN_BUILTINS["vars"] else sorted(found)
        watching = _thread.watching
        if watching is not None and not watching.is_ours(sys._getframe(1)):
            if len(args) > 1 and isinstance(args[1], str):
                watching.seen.ask(args[0], args[1])
            elif isinstance_of(args[0], Tensor):
                watching.seen.ask(args[0], "__dict__")
            else:
                watching.seen.whole[id(args[0])] = args[0]
        return plain(*args)

    stand_in.__name__ = stand_in.__qualname__ = name
    return stand_in


_NOTING = {name: _noting(name) for name in REFLECTIVE}
_stand_ins = _StandIns()
