"""The recorder: a listener at the door that writes down what a call of a function computes."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable, Sequence
from math import copysign
from types import FrameType
from typing import Any

import numpy as np

from ...base.errors import HostReadError
from ...core.memory import copy_as_it_lies, data_pointer, root_array
from ...core.tensor import Tensor
from ...core.values import HOST_READ
from ...runtime import devices
from ...runtime.door import Kernel
from ...runtime.facts import NOTHING
from ..loops.fragile import looked_at, may_refuse
from ..program.instructions import Instruction, Program
from ..program.slots import ARGUMENT, CONSTANT, MADE, STATE, Slot, Storage
from .flow import Reading, destination, is_caught, watched

_HERE = __name__.split(".")[0] + "."


class CannotCapture(RuntimeError):
    """The function does something that a replay would leave out, or depends on something that a replay cannot see."""


class WrongKernel(CannotCapture):
    """A kernel that a pass made does not compute what its parts do."""

    def __init__(self, why: str, kernel: str = "") -> None:
        super().__init__(why)
        self.kernel = kernel  # its name


class Recorder:
    """Listens at the door during one call; `program()` is what it heard.

    Arrays are distinguished by identity while they live, and forgotten when they die: a recorded call
    needs the memory of an eager one. Only what the program reads from outside is kept.
    """

    wants_parts = True  # passes join them in more ways than a single op knows
    macros: Sequence[Any] = ()  # calls that stand for many kernels, see loops/calls

    def __init__(self, arguments: Sequence[Any], owned: dict[int, str], fed: list[Any]) -> None:
        self.instructions: list[Instruction] = []
        self.slots: dict[int, Slot] = {}  # by id of an array that lives
        self.roots: dict[int, Storage] = {}  # by id of an array that lives and owns its memory
        # By id: says when an id may have been given to another array.
        self.alive: dict[int, weakref.ref] = {}
        self.count = 0  # of slots
        self.storages: list[Storage] = []
        self.owned = owned  # id of array -> what it is, for memory that outlives the call
        self.fed = fed  # arrays the host refreshes before each replay, known while it goes on
        self.first_values: dict[int, Any] = {}  # storage number -> values at first sight
        self.readings: list[Reading] = []  # of numbers that are handed back to the caller
        self.again = 0  # not 0 while a checkpoint computes something once more
        self.trouble: str | None = None  # why it cannot be replayed
        self.watching: Any = None  # who notes the instructions of Python meanwhile
        self.strict = False  # raise where it happens instead of noting it
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

    def forget(self) -> None:
        """Let go of all arrays: only the program is needed any more."""
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
            label = self.owned.get(id(a)) or self.owned.get(id(root))
            kind = CONSTANT if label is None else STATE
            storage = self._storage(kind, root, root.nbytes, label or "")
            self.roots[id(root)] = storage
            self._follow(root)
            if label is None:
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

    def __call__(
        self, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any], call: Callable[[], Any]
    ) -> Any:
        if kernel is HOST_READ:
            return self._host_read(arrays[0], call)
        stranger = strange_use(arrays)
        if stranger is not None:
            self.complain(stranger)
            return call()
        if values_decide(kernel, arrays):
            self.complain(f"calls {kernel.name}, whose result's shape depends on values,")
        inputs = self.inputs_of(arrays)
        if kernel.name == "as_strided" and inputs[0].storage.kind == ARGUMENT:
            # Arguments are compared by how they lie, not by where in their memory they begin.
            self.complain("calls as_strided, which looks at the memory around an argument,")
        if self._may_raise(kernel, arrays, inputs) and self._left_traces() and is_caught():
            # A program that failed there could not be run anew, and nobody but Python knows what its handler does.
            self.complain(f"catches what {kernel.name} may raise behind a change that lasts")
        out = call() if self.watching is None else self.watching.unwatched(call)
        self.note(kernel, arrays, attrs, inputs, out, user_line())
        return out

    def _may_raise(self, kernel: Kernel, arrays: Sequence[Any], inputs: tuple) -> bool:
        """Whether a kernel of the CPU may refuse values that nobody can look at beforehand."""
        facts = kernel.facts
        if facts is NOTHING or not any(a.__class__ is np.ndarray for a in arrays):
            return False
        operands = looked_at(facts)
        if operands is None:
            return may_refuse(kernel, arrays, "cpu")
        written = {s.storage.number for ins in self.instructions for s in ins.writes}
        seen = [inputs[i].storage for i in operands]
        return any(s.kind == MADE or s.number in written for s in seen)

    def _left_traces(self) -> bool:
        """Whether the call has changed what outlives it: memory from outside, a random stream."""
        return any(
            (ins.is_random and ins.outputs) or any(s.storage.kind != MADE for s in ins.writes)
            for ins in self.instructions
        )

    def inputs_of(self, arrays: Sequence[Any]) -> tuple:
        """Slots for arrays, looked up before the kernel can change any."""
        return tuple([self.slot_of(a) if is_array(a) else a for a in arrays])

    def note(
        self, kernel: Kernel, arrays: Sequence[Any], attrs: dict, inputs: tuple, out: Any, line: str
    ) -> None:
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
        self.instructions.append(
            Instruction(kernel, inputs, dict(attrs), slots, writes, line, several, self.again)
        )

    def _host_read(self, a: Any, call: Callable[[], Any]) -> Any:
        """Give the host a value. A replay is only possible if the number is returned to the caller without being used."""
        values = call()
        asking = _asking()
        if a.size != 1 or asking is None or self.watching is None:
            self.complain(f"reads the values of a tensor {list(a.shape)} on the host")
            return values
        found = destination(asking, self.watching.start)
        if found == "used":
            self.complain("reads a tensor's value on the host (item())")
        if found != "returned":
            return values
        reading = Reading(self, self.slot_of(a), user_line())
        self.readings.append(reading)
        return watched(values, reading)

    def complain(self, what: str, line: str | None = None) -> None:
        """Note, once, why this call cannot be replayed."""
        if self.trouble is None:
            self.trouble = f"it {what} at {line or user_line()}"
        if self.strict:
            raise host_read_error(self.trouble)
        if self.watching is not None:
            self.watching.stop()

    # -- the end --------------------------------------------------------------------------------

    def program(self, results: list[Slot]) -> Program:
        """What was heard, as a program."""
        fed = {id(root_array(a)) for a in self.fed}
        for key, storage in self.roots.items():
            if key in fed:
                storage.fed = True
                storage.kind, storage.label = STATE, storage.label or "numbers of the host"
        for ins in self.instructions:
            for s in ins.writes:
                if s.storage.kind == CONSTANT:
                    s.storage.rewritten = True
        return Program(list(self.instructions), self.arguments, results, self._device())

    def _device(self) -> str:
        return "cuda" if any(s.device == "cuda" for s in self.storages) else "cpu"


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


def extent(a: Any) -> tuple[int, int]:
    """How far below its first element an array reaches, and how many bytes it spans."""
    low, high = 0, a.itemsize
    if not a.size:
        return 0, 0
    for n, step in zip(a.shape, a.strides):
        reach = (n - 1) * step
        if reach < 0:
            low += reach
        else:
            high += reach
    return low, high - low


def reach(a: Any) -> tuple[type, int, int]:
    """Whose memory an array lies in, and from where to where."""
    low, span = extent(a)
    start = data_pointer(a) + low
    return a.__class__, start, start + span


def overlap(a: tuple, b: tuple) -> bool:
    """Whether the stretches of memory that two arrays reach over have bytes in common."""
    return a[0] is b[0] and a[1] < b[2] and b[1] < a[2]


def touches(a: Any, root: Any, others: Iterable[Any]) -> bool:
    """Whether an array lies over memory of others, judged by addresses where its owner is no array.

    Two tensors from one buffer (`frombuffer`, DLPack) have no array in common.
    """
    if root.base is None:
        return False  # memory of its own: who shares it has the same root
    span = reach(a)
    return any(overlap(span, reach(b)) for b in others)


def user_line() -> str:
    """The line of the user's code that led here, as file:line."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name, file = frame.f_globals.get("__name__", ""), frame.f_code.co_filename
        typed = (
            name == "__main__"
        )  # at a prompt, as "<stdin>"; code that was made has such names, too
        if not name.startswith(_HERE) and (typed or not file.startswith("<")):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"


def values_decide(kernel: Kernel, arrays: Sequence[Any]) -> bool:
    """Whether the shape of the result depends on values: masks pick as many as they are true."""
    decide = kernel.facts.shape_by_values
    return decide(arrays) if callable(decide) else decide


def _asking() -> FrameType | None:
    """Who called `Tensor.item`, where that asked for the host read at work."""
    frame: Any = sys._getframe(2)
    for _ in range(8):
        if frame is None or frame.f_code is Tensor.item.__code__:
            return None if frame is None else frame.f_back
        frame = frame.f_back
    return None


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
