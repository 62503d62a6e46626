"""The recorder: the listener at the door that writes programs, for compile, hot loops and ONNX alike."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import copysign
from typing import Any

import numpy as np

from ...base.errors import HostReadError
from ...core.memory import copy_as_it_lies, data_pointer, root_array
from ...runtime import devices
from ...runtime.door import Kernel
from ...runtime.thread import here
from ..program.instructions import Instruction, Program
from ..program.refuse import Bounds
from ..program.slots import ARGUMENT, CONSTANT, MADE, STATE, Slot, Storage, extent
from .flow import Reading

_HERE = __name__.split(".")[0] + "."


class CannotCapture(RuntimeError):
    """The function does something that a replay would leave out, or depends on something that a replay cannot see."""


class WrongKernel(CannotCapture):
    """A kernel that a pass made does not compute what its parts do."""

    def __init__(self, why: str, kernel: str = "") -> None:
        super().__init__(why)
        self.kernel = kernel  # its name


class RecorderRule:
    """What who records decides: what a kernel that is met means, and what an array from outside counts as."""

    quiet: AbstractContextManager = nullcontext()  # holds whatever may not come in between

    def outside(self, a: Any, root: Any) -> tuple[str, str]:
        """The kind of memory that no kernel made, and what it is in words."""
        return STATE, "from outside"

    def meets(
        self, recorder: Recorder, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any]
    ) -> Callable[[Callable[[], Any]], Any] | None:
        """None where a call is written down; otherwise what is done with it instead."""
        return None


class Recorder:
    """Listens at the door by a rule; `program()` is what it heard.

    Arrays are distinguished by identity while they live, and forgotten when they die: a recorded call
    needs the memory of an eager one. Only what the program reads from outside is kept.
    """

    wants_parts = True  # passes join them in more ways than a single op knows

    def __init__(self, rule: RecorderRule, arguments: Sequence[Any] = ()) -> None:
        self.rule = rule
        self.instructions: list[Instruction] = []
        self.macros: list[Any] = []  # calls that stand for many kernels, see loops/described
        self.slots: dict[int, Slot] = {}  # by id of an array that lives
        self.roots: dict[int, Storage] = {}  # by id of an array that lives and owns its memory
        # By id: says when an id may have been given to another array.
        self.alive: dict[int, weakref.ref] = {}
        self.count = 0  # of slots
        self.storages: list[Storage] = []
        self.bounds = Bounds()  # what is known of positions, and which memory was written
        self.first_values: dict[int, Any] = {}  # storage number -> values at first sight
        self.readings: list[Reading] = []  # of numbers that are handed back to the caller
        self.again = 0  # not 0 while a checkpoint computes something once more
        self.why: str | None = None  # why it cannot be replayed
        self.watching: Any = None  # who notes the instructions of Python meanwhile
        self.strict = False  # raise where it happens instead of noting it
        self.live: set[int] = set()  # storages that somebody holds at the end
        self.is_over = False
        self.arguments: list[Slot] = []
        for a in arguments:
            self.add_argument(a)

    # -- slots ----------------------------------------------------------------------------------

    def _storage(self, kind: str, like: Any, nbytes: int, label: str = "") -> Storage:
        lasting = like if kind in (STATE, CONSTANT) else None
        made = Storage(len(self.storages), kind, nbytes, label, lasting)
        where = devices.device_of(like)
        made.device = where.type
        if where.type == "cuda" and where.index != _current_gpu():
            self.complain("uses another GPU than the current one")
        self.storages.append(made)
        return made

    def _slot(self, a: Any, storage: Storage, offset: int) -> Slot:
        slot = Slot(self.count, storage, tuple(a.shape), a.dtype, tuple(a.strides), offset)
        self.count += 1
        if storage.kind in (STATE, CONSTANT):
            slot.array = a
        self.slots[id(a)] = slot
        self._follow(a)
        return slot

    def _follow(self, a: Any) -> None:
        """Forget an array when it dies, before another can be made that has its id."""
        key = id(a)
        if key not in self.alive:
            slots, roots, alive = self.slots, self.roots, self.alive

            def forget(_: Any) -> None:
                slots.pop(key, None)
                roots.pop(key, None)
                alive.pop(key, None)

            alive[key] = weakref.ref(a, forget)

    def close(self) -> None:
        """The recording is over: see what somebody holds, and let go of all arrays."""
        self.is_over = True
        self.live = {s.storage.number for s in self.slots.values() if s.storage.kind == MADE}
        self.alive.clear()
        self.slots.clear()
        self.roots.clear()

    def _argument(self, a: Any, i: int) -> Slot:
        known = self.slots.get(id(a))
        if known is not None:
            return known  # the same tensor given twice
        low, span = extent(a)
        return self._slot(a, self._storage(ARGUMENT, a, span, f"argument {i}"), -low)

    def add_argument(self, a: Any) -> int:
        """One more argument, found while recording; its place among them."""
        self.arguments.append(self._argument(a, len(self.arguments)))
        return len(self.arguments) - 1

    def has_seen(self, a: Any) -> bool:
        """Whether an array's memory takes part in what was recorded so far."""
        return id(root_array(a)) in self.roots

    def slot_of(self, a: Any) -> Slot:
        """The slot of an array; one never seen before comes from outside."""
        known = self.slots.get(id(a))
        if known is None and not takes_part(a):
            raise CannotCapture(f"it {_uses(a)}")
        return self._outside(a) if known is None else known

    def _outside(self, a: Any) -> Slot:
        root = root_array(a)
        storage = self.roots.get(id(root))
        if storage is None:
            kind, label = self.rule.outside(a, root)
            storage = self._storage(kind, root, root.nbytes, label)
            self.roots[id(root)] = storage
            self._follow(root)
            if kind == CONSTANT:
                self.first_values[storage.number] = copy_as_it_lies(root)
        return self._slot(a, storage, data_pointer(a) - data_pointer(root))

    def _outputs(self, outs: Sequence[Any], inputs: Sequence[Any]) -> tuple[Slot, ...]:
        """Slots for what a kernel answered: its operands, views of them, or else new values.

        A known array that is none of these is new, too: a launch hands out small arrays again when
        nobody holds them any more.
        """
        given = [a for a in inputs if is_array(a)]
        near = {id(root_array(a)): a for a in given}
        same = {id(a) for a in given}
        made: dict[int, Storage] = {}
        found = []
        for a in outs:
            if id(a) not in same:
                same.add(id(a))
                self._output(a, near, made)
            found.append(self.slots[id(a)])
        return tuple(found)

    def _output(self, a: Any, near: dict[int, Any], made: dict[int, Storage]) -> Slot:
        root = root_array(a)
        other = near.get(id(root))
        if other is not None:
            beside = self.slots[id(other)]
            shift = data_pointer(a) - data_pointer(other) if a.size else 0
            return self._slot(a, beside.storage, beside.offset + shift)
        storage = made.get(id(root))
        if storage is None:
            storage = made[id(root)] = self._storage(MADE, root, root.nbytes)
            self.roots[id(root)] = storage
            self._follow(root)
        return self._slot(a, storage, data_pointer(a) - data_pointer(root))

    # -- listening ------------------------------------------------------------------------------

    def __call__(self, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any], call: Callable[[], Any]) -> Any:
        with self.rule.quiet:
            instead = self.rule.meets(self, kernel, arrays, attrs)
            if instead is not None:
                return instead(call)
            inputs = self.inputs_of(arrays)
            out = call() if self.watching is None else self.watching.unwatched(call)
            if not self.is_over:  # the kernel's body may have ended it
                self.note(kernel, arrays, attrs, inputs, out, user_line())
            return out

    def made(self, a: Any) -> bool:
        """Whether a kernel that was heard has made an array."""
        slot = self.slots.get(id(a))
        return slot is not None and slot.storage.kind == MADE

    def waits(self, a: Any) -> bool:
        """Whether an array's values are still to be computed, or changed, where this is replayed."""
        slot = self.slots.get(id(a))
        if slot is None:
            return False
        return slot.storage.kind == MADE or slot.storage.number in self.bounds.written

    def inputs_of(self, arrays: Sequence[Any]) -> tuple:
        """Slots for arrays, looked up before the kernel can change any."""
        return tuple([self.slot_of(a) if is_array(a) else a for a in arrays])

    def note(self, kernel: Kernel, arrays: Sequence[Any], attrs: dict, inputs: tuple, out: Any, line: str) -> None:
        """Write down one call of a kernel."""
        places = kernel.mutates
        if callable(places):
            places = places(arrays, attrs)
        several = isinstance(out, (tuple, list))
        stranger = strange_use(out if several else (out,))
        if stranger is not None:
            self.complain(stranger)
            return
        slots = self._outputs(out if several else (out,), arrays)
        if kernel.is_view and any(map(is_array, arrays)):
            near = {s.storage.number for s in inputs if s.__class__ is Slot}
            if any(s.size and s.storage.number not in near for s in slots):
                self.complain(f"calls {kernel.name}, whose result cannot be told from new memory,")
        writes = tuple([inputs[i] for i in places])
        ins = Instruction(kernel, inputs, dict(attrs), slots, writes, line, several, self.again)
        self.instructions.append(ins)
        self.bounds.note(ins)

    def complain(self, what: str, line: str | None = None) -> None:
        """Note, once, why this call cannot be replayed."""
        if self.why is None:
            self.why = f"it {what} at {line or user_line()}"
        if self.strict:
            raise host_read_error(self.why)
        if self.watching is not None:
            self.watching.stop()

    # -- the end --------------------------------------------------------------------------------

    def program(self, results: list[Slot]) -> Program:
        """What was heard, as a program."""
        for ins in self.instructions:
            for s in ins.writes:
                if s.storage.kind == CONSTANT:
                    s.storage.rewritten = True
        return Program(list(self.instructions), self.arguments, results, self.device())

    def device(self) -> str:
        """Where the program runs: on a GPU if any of its memory lies there."""
        return "cuda" if any(s.device == "cuda" for s in self.storages) else "cpu"


def at_once(call: Callable[[], Any]) -> Any:
    """Run a call that is not written down."""
    return call()


def is_recording() -> bool:
    """Whether this thread is inside a call that is being recorded, so that Python may be skipped later."""
    return here.recorder is not None


@contextmanager
def inside(recorder: Recorder) -> Iterator[None]:
    """This thread's ops are part of a recorded call until the end of the block."""
    before, here.recorder = here.recorder, recorder
    try:
        yield
    finally:
        here.recorder = before


def complain_now(what: str) -> None:
    """Mark the current recording as one that cannot be replayed."""
    here.recorder.complain(what)  # type: ignore[union-attr]


def _current_gpu() -> int:
    """The GPU on which programs are recorded and run."""
    from ...runtime.cuda.device import current_device

    return current_device()


def is_array(a: Any) -> bool:
    return devices.is_array(a)


def takes_part(a: Any) -> bool:
    """Whether an array can be part of a program: memory of the host or of a GPU that strides describe, and nothing else."""
    if a.__class__ is np.ndarray:
        return True
    return is_array(a) and devices.backend_of_type(a.__class__).type == "cuda"


def strange_use(values: Iterable[Any]) -> str | None:
    """What a call does with an array among its operands or results that takes no part in programs, or None."""
    for a in values:
        if is_array(a) and not takes_part(a):
            return _uses(a)
    return None


def _uses(a: Any) -> str:
    kind = devices.backend_of_type(a.__class__).type if is_array(a) else "nested"
    return f"makes or uses a {kind} tensor"


def user_line() -> str:
    """The line of the user's code that led here, as file:line."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name, file = frame.f_globals.get("__name__", ""), frame.f_code.co_filename
        typed = name == "__main__"  # at a prompt, as "<stdin>"; code that was made has such names, too
        if not name.startswith(_HERE) and (typed or not file.startswith("<")):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"


def values_decide(kernel: Kernel, arrays: Sequence[Any]) -> bool:
    """Whether the shape of the result depends on values: masks pick as many as they are true."""
    decide = kernel.facts.shape_by_values
    return decide(arrays) if callable(decide) else decide


def same(a: Any, b: Any) -> bool:
    """Whether two attribute values are equal, arrays and containers included."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if a.__class__ is float:
        return (a == b and copysign(1, a) == copysign(1, b)) or (a != a and b != b)
    try:
        return bool(a == b) or (a != a and b != b)
    except Exception:  # noqa: BLE001 - an object that will not say is another object
        return False


_NO_VALUES = (
    "A replay computes without Python, so nothing in it may depend on a value of the step itself. Return the tensor and "
    "read it outside (loss.item() after the call), or choose with where() instead of if."
)
_NO_SURROUNDINGS = (
    "A replay knows the shape and the strides of an argument, but not where it begins nor what lies around it. Give the "
    "tensor that holds all of that memory as the argument, or take the view outside and give that; where the view stays "
    "inside of the argument, as_strided of its clone(), or narrow(), select() and unfold(), are part of a program."
)
_NO_PYTHON = "A replay computes without Python, and does nothing else: do this outside of the function, before or after the call."
_ADVICE = {
    "as_strided": _NO_SURROUNDINGS,
    "on the host": _NO_VALUES,
    "depends on values": _NO_VALUES,
}  # by words of what is wrong


def host_read_error(what: str) -> HostReadError:
    """What is raised where a call cannot be one program: why, and what to do instead."""
    advice = next((text for words, text in _ADVICE.items() if words in what), _NO_PYTHON)
    return HostReadError(f"this function cannot be compiled into one program: {what}. {advice}")
