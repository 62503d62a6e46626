"""What a call of a model computes: kernels heard at the door, as values with numbers, without in-place writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.memory import root_array
from ..core.values import HOST_READ
from ..operators.made_of.checks import CHECK
from ..runtime.door import Kernel, listening
from .errors import OnnxExporterError, UnsupportedOperatorError


class Value(NamedTuple):
    """An array by its number."""

    number: int


class Call(NamedTuple):
    """One kernel: what went in (Values, numbers or None), how, and what came out."""

    kernel: str
    inputs: tuple[Any, ...]
    attrs: dict[str, Any]
    outputs: tuple[int, ...]


class Known:
    """What is known of a value: shape, dtype, whether it depends on an input, its content if it does not."""

    __slots__ = ("array", "depends", "dtype", "shape")

    def __init__(self, array: Any, depends: bool) -> None:
        self.shape, self.dtype = tuple(array.shape), array.dtype
        self.depends = depends
        self.array = None if depends else array


class _View(NamedTuple):
    parent: Any
    kernel: str
    attrs: dict[str, Any]


PUT_BACK = "put_back"  # our own: a parent with one of its views replaced


class Recording:
    """A listener that numbers arrays as they are met and keeps them alive, so that ids stay theirs.

    A write in place gives an array a new value; views of the memory that was written are taken anew from
    it when they are next read, and a write through a view is put back into what it is a view of.
    """

    wants_parts = True

    def __init__(self, inputs: Sequence[Any]) -> None:
        self.calls: list[Call] = []
        self.values: list[Known] = []
        self.number: dict[int, int] = {}  # id of an array -> its value's number
        self.seen: dict[
            int, int
        ] = {}  # id of an array -> the version of its memory that number is of
        self.versions: dict[int, int] = {}  # id of the memory's owner -> how often it was written
        self.views: dict[int, _View] = {}
        self.alive: list[Any] = []
        self.inputs = [self._new(a, True) for a in inputs]

    def _new(self, a: Any, depends: bool) -> int:
        self.values.append(Known(a, depends))
        self._is(a, len(self.values) - 1)
        return len(self.values) - 1

    def _is(self, a: Any, number: int) -> None:
        self.alive.append(a)
        root = root_array(a)
        self.alive.append(root)
        self.number[id(a)] = number
        self.seen[id(a)] = self.versions.get(id(root), 0)

    def value_of(self, a: Any) -> Value:
        """The value of an array as it is now; one never met comes from outside and is a constant."""
        known = self.number.get(id(a))
        if known is None:
            return Value(self._new(a, False))
        if self.seen[id(a)] == self.versions.get(id(root_array(a)), 0):
            return Value(known)
        view = self.views.get(id(a))
        if view is None:
            raise OnnxExporterError(
                "memory that was written in place is read by another way than before"
            )
        parent = self.value_of(view.parent)
        outs = (parent.number,)
        new = self._new(a, self.values[outs[0]].depends)
        self.calls.append(Call(view.kernel, (parent,), view.attrs, (new,)))
        return Value(new)

    def __call__(
        self, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any], call: Callable[[], Any]
    ) -> Any:
        if kernel is HOST_READ:
            self._host_read(arrays[0])
            return call()
        if kernel is CHECK:  # refuses what eager calls refuse; nothing that a graph could hold
            return call()
        inputs = tuple([self.value_of(a) if hasattr(a, "strides") else a for a in arrays])
        depends = any(isinstance(v, Value) and self.values[v.number].depends for v in inputs)
        places = kernel.mutates(arrays, attrs) if callable(kernel.mutates) else kernel.mutates
        if kernel.random:
            raise UnsupportedOperatorError(
                f"{kernel.name} draws random numbers: call model.eval(), or leave it out"
            )
        for i in places:
            self._keep_content(inputs[i])
        out = call()
        if places:
            self._written(kernel, arrays, attrs, inputs, places, depends)
            return out
        outs = out if isinstance(out, (tuple, list)) else (out,)
        numbers = []
        for a in outs:
            if any(a is given for given in arrays):  # handed on as it is
                numbers.append(self.value_of(a).number)
                continue
            numbers.append(self._new(a, depends))
            if kernel.is_view and len(outs) == 1 and len(arrays) == 1:
                self.views[id(a)] = _View(arrays[0], kernel.name, dict(attrs))
        self.calls.append(Call(kernel.name, inputs, dict(attrs), tuple(numbers)))
        return out

    def _host_read(self, a: Any) -> None:
        if self.values[self.value_of(a).number].depends:
            raise OnnxExporterError(
                "the model reads a value that depends on its input (item(), numpy(), if, len of a mask); an "
                "ONNX graph has no Python: compute it with tensors, for example with where()"
            )

    def _keep_content(self, value: Any) -> None:
        """A constant that is about to be written over keeps what it was."""
        known = self.values[value.number]
        if known.array is not None:
            known.array = known.array.copy()

    def _written(
        self, kernel: Kernel, arrays: Sequence[Any], attrs: dict, inputs: tuple, places: Any, depends: bool
    ) -> None:  # fmt: skip
        numbers = []
        for i in places:
            a = arrays[i]
            self.values.append(Known(a, depends))
            if not depends:
                self.values[-1].array = a.copy()
            numbers.append(len(self.values) - 1)
        self.calls.append(Call(kernel.name, inputs, dict(attrs), tuple(numbers)))
        for i, number in zip(places, numbers):
            self._put(arrays[i], number)

    def _put(self, a: Any, number: int) -> None:
        """Array `a` now holds value `number`, and so does what it is a view of, at its place."""
        view = self.views.get(id(a))
        root = root_array(a)
        if view is None:
            if a.size != root.size:
                raise OnnxExporterError("a part of a tensor is written in place by a way that is not understood")  # fmt: skip
            self.versions[id(root)] = self.versions.get(id(root), 0) + 1
            self._is(a, number)
            return
        before = self.value_of(view.parent)
        depends = self.values[number].depends or self.values[before.number].depends
        self.values.append(Known(view.parent, depends))
        new = len(self.values) - 1
        if not depends:
            self.values[-1].array = view.parent.copy()
        self.calls.append(Call(PUT_BACK, (before, Value(number)), {"view": view.kernel, "how": view.attrs}, (new,)))  # fmt: skip
        self._put(view.parent, new)
        self._is(a, number)


def record(function: Callable[[], Any], inputs: Sequence[Any]) -> tuple[Recording, Any]:
    """Call `function` and hear what it computes of the arrays `inputs`."""
    heard = Recording(inputs)
    with listening(heard):
        result = function()
    return heard, result


def same_content(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal to the last bit, also NaNs."""
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
