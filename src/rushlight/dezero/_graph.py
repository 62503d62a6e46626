"""DeZero's graph on rushlight's tape: what the Variables of both cores share, the node of one call, and the walk back.

The tape passes gradients along and adds them; it never looks inside, so they can be Variables.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.exposed import exposed
from ..core.gradients import tape
from ..core.modes import switches
from ._arrays import SCALARS, gpu_types, is_array, like
from ._bare import outside, show


class Traced:
    """An array with a name, a gradient, and the Function that made it."""

    __array_priority__ = 200  # `ndarray + variable` is ours to answer

    # Defaults on the class: most Variables are short-lived results that never change them.
    name: str | None = None
    grad: Any = None
    generation = 0
    _edge: Any = None  # (tape node, index of the output), or None before the first use
    _constant = False  # made of a bare array by a call: nobody can ask for its gradient

    def __init__(self, data: Any, name: str | None = None) -> None:
        cls = data.__class__
        if not (cls is np.ndarray or cls in gpu_types or data is None or is_array(data)):
            raise TypeError(f"{type(data)} is not supported")
        self._data = data
        if data is not None:
            exposed.add(data)  # whoever made it may change it
        if name is not None:
            self.name = name

    @property
    def data(self) -> Any:
        """The array itself, NumPy's or CuPy's."""
        a = self._data
        if a is not None:
            show(a)
        return a

    @data.setter
    def data(self, value: Any) -> None:
        if isinstance(value, Traced):  # x.data -= lr * x.grad
            value = value._data
        elif isinstance(value, np.generic):  # what NumPy makes of arithmetic with 0-d arrays
            value = np.asarray(value)
        elif value is not None and not is_array(value):
            raise TypeError(f"{type(value)} is not supported")
        elif value is not None:
            exposed.add(value)
        self._data = value

    @property
    def shape(self) -> tuple[int, ...]:
        return self._data.shape

    @property
    def ndim(self) -> int:
        return self._data.ndim

    @property
    def size(self) -> int:
        return self._data.size

    @property
    def dtype(self) -> Any:
        return self._data.dtype

    def __len__(self) -> int:
        return len(self._data)

    def __repr__(self) -> str:
        if self._data is None:
            return "variable(None)"
        return "variable(" + outside(str, self._data).replace("\n", "\n" + " " * 9) + ")"

    # -- the graph ------------------------------------------------------------------------------

    @property
    def creator(self) -> Any:
        """The Function this was computed by; None for what the user made."""
        edge = self._edge
        return edge[0].function if edge is not None and edge[0].__class__ is CallNode else None

    @creator.setter
    def creator(self, func: Any) -> None:
        if func is None:
            self._edge = None
        else:
            self.set_creator(func)

    def set_creator(self, func: Any) -> None:
        """Say which Function this is an output of."""
        self.generation = func.generation + 1
        outputs = [reference() for reference in getattr(func, "outputs", ())]
        index = next((i for i, out in enumerate(outputs) if out is self), 0)
        others = [out._edge[0] for out in outputs if out is not None and out.creator is func]
        self._edge = (others[0] if others else CallNode(func, max(len(outputs), 1)), index)

    def __getstate__(self) -> dict[str, Any]:
        """For copies and files: without the place on the tape, which is this very object's."""
        if self._data is not None:
            show(self._data)
        return {k: v for k, v in self.__dict__.items() if k not in ("_edge", "_turned")}

    def cleargrad(self) -> None:
        """Forget the gradient."""
        self.grad = None

    def unchain(self) -> None:
        """Forget the Function this was computed by."""
        self.creator = None

    def unchain_backward(self) -> None:
        """Cut off everything this was computed from, so that `backward` stops here."""
        functions = [self.creator]
        while functions:
            function = functions.pop()
            for x in function.inputs if function is not None else ():
                if x.creator is not None:
                    functions.append(x.creator)
                    x.creator = None

    def _link(self) -> Any:
        """Where a gradient for this goes: to its creator, or to its own `.grad`."""
        if self._edge is None and not self._constant:
            self._edge = (tape.AccumulateGrad(self), 0)  # type: ignore[arg-type]
        return self._edge

    def _accumulate(self, g: Any) -> None:
        """Take a gradient that arrived, as the end of its path."""
        self.grad = g if self.grad is None else self.grad + g


def constant(cls: type, data: Any) -> Any:
    """A Variable that takes part in a graph and needs no gradient."""
    made = cls(data)
    made._constant = True
    return made


def operands(x0: Any, x1: Any) -> tuple[Any, Any]:
    """Two operands; a number becomes a constant of the other one's dtype."""
    if isinstance(x1, Traced) and isinstance(x0, Traced):
        return x0, x1
    if isinstance(x1, SCALARS):
        x0 = np.array(x0) if isinstance(x0, SCALARS) else x0
        x1 = like(x1, x0._data if isinstance(x0, Traced) else x0)
    elif isinstance(x0, SCALARS):
        x0 = like(x0, x1._data if isinstance(x1, Traced) else x1)
    return x0, x1


class _WalkSettings(threading.local):
    retain = False  # whether the walk under way leaves gradients on intermediate results


_walk = _WalkSettings()


class CallNode(tape.Node):
    """The tape's record of one call; where it leads is asked when the walk comes by.

    Asked late, because `unchain` may have cut an input off in the meantime.
    """

    __slots__ = ("function", "n_outputs")

    def __init__(self, function: Any, n_outputs: int) -> None:
        self.seq = next(tape.numbers)  # Node's fields by hand: its __init__ would set the edges
        self.hooks = self.pre_hooks = self.where = None
        self.function = function
        self.n_outputs = n_outputs
        if switches.anomaly:
            self.remember_where()

    @property
    def edges(self) -> list[Any]:  # type: ignore[override]
        return [x._edge or x._link() for x in self.function.inputs]

    def apply(self, gs: list[Any]) -> Sequence[Any]:
        function = self.function
        retain = _walk.retain
        for i, reference in enumerate(function.outputs):
            out = reference()
            if out is not None and (retain or out.grad is not None):
                out.grad = _added(out.grad, gs[i]) if retain else None
        return function._gradients(gs)

    def name(self) -> str:
        return type(self.function).__name__


def record(function: Any, inputs: list[Any], outputs: list[Any]) -> None:
    """Put a call on the tape and let its outputs point to it."""
    generation = 0
    for x in inputs:
        if x._edge is None:
            if not x._constant:
                x._link()  # leaves before the node that uses them: the tape goes by age
        elif x.generation > generation:
            generation = x.generation
    node = CallNode(function, len(outputs))
    function.generation = generation
    function.inputs = inputs
    if len(outputs) == 1:  # the usual case
        (out,) = outputs
        out._edge = (node, 0)
        out.generation = generation + 1
        function.outputs = [weakref.ref(out)]
        return
    for i, out in enumerate(outputs):
        out._edge = (node, i)
        out.generation = generation + 1
    function.outputs = [weakref.ref(out) for out in outputs]


def _added(held: Any, g: Any) -> Any:
    if held is None or g is None:
        return held if g is None else g
    return held + g


def walk_back(edge: Any, seed: Any, retain_grad: bool, create_graph: bool) -> None:
    """Send `seed` back from `edge`; the graph stays for another time."""
    before, _walk.retain = _walk.retain, retain_grad
    try:
        # Not `tape.backward`, which asks whether a loop has made this pass of ops before: it is not of ops.
        tape._backward([(edge, seed)], True, create_graph, None, True)
    finally:
        _walk.retain = before
