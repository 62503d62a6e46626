"""A program without writes in place: every change is a new value, as ONNX and whoever writes graphs needs it."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core.memory import copy_as_it_lies
from ...runtime.door import Kernel, run
from .instructions import Instruction, Program, class_of
from .slots import STATE, Slot, array_type, window


class Value(NamedTuple):
    """An array by its number."""

    number: int


class Call(NamedTuple):
    """One kernel: what went in (Values, numbers or None), how, and what came out."""

    kernel: str
    inputs: tuple[Any, ...]
    attrs: dict[str, Any]
    outputs: tuple[int, ...]


class Known(NamedTuple):
    """What is known of a value; its content where it depends on no argument."""

    shape: tuple[int, ...]
    dtype: Any
    array: Any = None

    @property
    def depends(self) -> bool:
        """Whether it depends on an argument."""
        return self.array is None


class _View(NamedTuple):
    parent: Slot
    kernel: Kernel
    attrs: dict[str, Any]


PUT_BACK = "put_back"  # our own: a parent with one of its views replaced


class Unclear(ValueError):
    """Memory that was written is read in a way that nobody can tell as values."""


class Functional:
    """The values of a program and the calls between them.

    A write in place gives an array a new value; views of the memory that was written are taken anew from
    it when they are next read, and a write through a view is put back into what it is a view of. What depends on no
    argument is computed here once more, so that nobody had to hold it; `before` has what memory from outside held
    before the first write into it, by storage.
    """

    def __init__(self, program: Program, before: dict[int, Any]) -> None:
        self.before = before
        self.calls: list[Call] = []
        self.values: list[Known] = []
        self.number: dict[int, int] = {}  # slot -> its value's number
        self.seen: dict[int, int] = {}  # slot -> the version of its memory that number is of
        self.versions: dict[int, int] = {}  # storage -> how often it was written
        self.views: dict[int, _View] = {}  # by slot
        self.inputs = [self._is(s, self._add(s, None)) for s in program.arguments]
        for ins in program.instructions:
            self._take(ins)
        self.results = [self._value_of(s) for s in program.results]

    def _add(self, slot: Slot, array: Any) -> int:
        self.values.append(Known(slot.shape, slot.dtype, array))
        return len(self.values) - 1

    def _is(self, slot: Slot, number: int) -> int:
        self.number[slot.number] = number
        self.seen[slot.number] = self.versions.get(slot.storage.number, 0)
        return number

    def _value_of(self, slot: Slot) -> int:
        """The number of a slot's value as it is now; one never met comes from outside and is a constant."""
        known, version = self.number.get(slot.number), self.versions.get(slot.storage.number, 0)
        if known is not None and self.seen[slot.number] == version:
            return known
        view = self.views.get(slot.number)
        if view is not None:
            parent = self._value_of(view.parent)
            content = self._seen(slot, view, self.values[parent].array)
            new = self._is(slot, self._add(slot, content))
            self.calls.append(Call(view.kernel.name, (Value(parent),), view.attrs, (new,)))
            return new
        if known is not None or version or slot.storage.kind != STATE:
            raise Unclear("memory that was written in place is read by another way than before")
        held = self.before.get(slot.storage.number)
        array = slot.array if held is None else window(held, slot.offset, slot)
        return self._is(slot, self._add(slot, array))

    def _seen(self, slot: Slot, view: _View, parent: Any) -> Any:
        """A view of what is known of its parent, or None."""
        cls = array_type(slot.storage.device)
        return None if parent is None else run(view.kernel, cls, (parent,), view.attrs, alone=True)

    def _take(self, ins: Instruction) -> None:
        numbers = [self._value_of(i) if i.__class__ is Slot else None for i in ins.inputs]
        inputs = tuple([i if n is None else Value(n) for i, n in zip(ins.inputs, numbers)])
        arrays = [i if n is None else self.values[n].array for i, n in zip(ins.inputs, numbers)]
        depends = any(n is not None and self.values[n].depends for n in numbers)
        if ins.writes:
            self._write(ins, inputs, arrays, depends)
            return
        made: Any = [None] * len(ins.outputs)
        if not depends:
            made = run(ins.kernel, class_of(ins), arrays, ins.attrs, alone=True)
            made = made if ins.several else [made]
        outputs = []
        for slot, array in zip(ins.outputs, made):
            if any(slot is given for given in ins.inputs):  # handed on as it is
                outputs.append(self._value_of(slot))
                continue
            outputs.append(self._is(slot, self._add(slot, array)))
            if ins.kernel.is_view and len(ins.outputs) == 1 and len(ins.inputs) == 1:
                self.views[slot.number] = _View(ins.inputs[0], ins.kernel, ins.attrs)
        self.calls.append(Call(ins.name, inputs, ins.attrs, tuple(outputs)))

    def _write(self, ins: Instruction, inputs: tuple, arrays: list[Any], depends: bool) -> None:
        copies: dict[int, Any] = {}  # by slot: constants are never changed
        if not depends:
            copies = {s.number: copy_as_it_lies(self.values[self._value_of(s)].array) for s in ins.writes}
            given = [copies.get(getattr(s, "number", -1), a) for s, a in zip(ins.inputs, arrays)]
            run(ins.kernel, array_type(ins.writes[0].storage.device), given, ins.attrs, alone=True)
        numbers = [self._add(s, copies.get(s.number)) for s in ins.writes]
        self.calls.append(Call(ins.name, inputs, ins.attrs, tuple(numbers)))
        for slot, number in zip(ins.writes, numbers):
            self._put(slot, number)

    def _put(self, slot: Slot, number: int) -> None:
        """A slot now holds a value, and so does what it is a view of, at its place."""
        view = self.views.get(slot.number)
        if view is None:
            if slot.nbytes != slot.storage.nbytes:
                raise Unclear("a part of a tensor is written in place by a way that is not understood")
            self.versions[slot.storage.number] = self.versions.get(slot.storage.number, 0) + 1
            self._is(slot, number)
            return
        before = self._value_of(view.parent)
        content, part = self.values[before].array, self.values[number].array
        if content is not None and part is not None:
            content = copy_as_it_lies(content)
            self._seen(slot, view, content)[...] = part
        else:
            content = None
        new = self._add(view.parent, content)
        how = {"view": view.kernel.name, "how": view.attrs}
        self.calls.append(Call(PUT_BACK, (Value(before), Value(number)), how, (new,)))
        self._put(view.parent, new)
        self._is(slot, number)
