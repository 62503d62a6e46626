"""DeZero's graph on rushlight's tape: the node of one Function call, and the walk that `backward` makes.

The tape passes gradients along and adds them; it never looks inside, so they can be Variables.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

from ..core.gradients import tape
from ..core.modes import switches


class _Walk(threading.local):
    retain = False  # whether the walk under way leaves gradients on intermediate results


_walk = _Walk()


class Call(tape.Node):
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
    node = Call(function, len(outputs))
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


def unchain_backward(variable: Any) -> None:
    """Cut off every Variable the given one was computed from."""
    functions = [variable.creator]
    while functions:
        function = functions.pop()
        for x in function.inputs if function is not None else ():
            if x.creator is not None:
                functions.append(x.creator)
                x.creator = None
