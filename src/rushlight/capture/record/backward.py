"""Functions whose backward comes later: its program is recorded along, and a node replays it."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ...core.gradients import tape
from ...core.gradients.tape import Node
from ...core.tensor import Tensor, tensor_over
from ...core.views import current_edge
from ...runtime.devices import nothing_reused
from ...runtime.door import Kernel, listening
from ...runtime.thread import here
from ..program.instructions import Instruction
from .inside import inside
from .recorder import CannotCapture


def _nothing(xp: Any, *arrays: Any) -> tuple:
    return ()


# Marks where a call ends and its backward, another call, begins; its operands are the results.
HAND_OVER = Kernel("hand_over", _nothing, random=True)


class Backward:
    """The recorded backward of a call: which results it starts from, which tensors it reaches."""

    def __init__(self, recording: Any, live: list[tuple[int, Tensor]]) -> None:
        rec = recording.recorder
        self.outputs = [place for place, _ in live]  # which leaves of the result
        targets = [t for t in recording.known() if current_edge(t) is not None]
        edges = [current_edge(t) for t in targets]
        inner = [t for t in recording.tensors if not t.is_leaf]
        _refuse_hooks([current_edge(t)[0] for _, t in live], edges)
        rec.instructions.append(
            Instruction(HAND_OVER, tuple(recording.result_slots), {}, (), (), "the return")
        )
        self.handed = len(recording.result_slots)
        seeds = [t.detach().new_ones(t._a.shape) for _, t in live]
        self.seeds = [rec.add_argument(s._a) for s in seeds]
        roots = [(current_edge(t), s) for (_, t), s in zip(live, seeds)]
        grads = _dry_run(rec, roots, edges, inner)
        self.targets: list[Tensor] = []
        for t, g in zip(targets, grads):
            if g is not None:
                self.targets.append(t)
                recording.result_slots.append(rec.slot_of(g._a))


def _dry_run(rec: Any, roots: list, edges: list, inner: list[Tensor]) -> list[Any]:
    """Record the backward pass down to `edges`, touching no `.grad`.

    The nodes that made tensor arguments lose their own inputs meanwhile: what lies before the call is
    not part of its program.
    """
    cut = {id(n): (n, n.edges) for n in [current_edge(t)[0] for t in inner]}
    for node, _ in cut.values():
        node.edges = ()
    try:
        with inside(rec), listening(rec), nothing_reused():
            found = tape.backward(
                roots, keep_graph=True, create_graph=False, inputs=edges, accumulate=False
            )
    finally:
        for node, before in cut.values():
            node.edges = before
    return found or []


def _refuse_hooks(roots: list[Node], ends: list[Any]) -> None:
    """Hooks are Python: they would run while recording and never again."""
    stack, seen = list(roots), set()
    stop = {e[0].seq for e in ends}
    while stack:
        node = stack.pop()
        if node.seq in seen:
            continue
        seen.add(node.seq)
        if node.hooks or node.pre_hooks:
            raise CannotCapture(
                f"a hook waits for the gradient at {node.name()}; call backward() inside the "
                "compiled function, or remove the hook"
            )
        if node.seq not in stop:
            stack.extend([e[0] for e in node.edges if e is not None])


class ReplayNode(Node):
    """The history of a replayed call: its backward replays the second half of the program."""

    __slots__ = ("instance", "label", "n_outputs", "places", "replay", "saved", "spent", "versions")

    def __init__(self, replay: Any, instance: Any, edges: Sequence, saved: tuple) -> None:
        super().__init__(edges)
        self.replay = replay
        self.instance = instance
        self.saved = saved
        self.n_outputs = len(replay.backward.outputs)
        self.versions = [(t, t._version) for t in replay.lasting]
        self.spent = False
        instance.user = weakref.ref(self)

    def name(self) -> str:
        return "CompiledFunctionBackward"

    def apply(self, gs: list[Any]) -> list[Any]:
        if self.spent:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved "
                "tensors after they have already been freed). Specify retain_graph=True if you need "
                "to backward through the graph a second time."
            )
        if here.grad:
            raise RuntimeError(
                "a compiled function does not support double backward (create_graph=True); call the "
                "uncompiled function for that"
            )
        for t, version in self.versions:
            if t._version != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an "
                    f"inplace operation: a tensor {list(t._a.shape)} that a compiled function used is "
                    f"at version {t._version}; expected version {version} instead."
                )
        arrays = self.instance.backward(self.saved, [None if g is None else g._a for g in gs])
        seen: set[int] = set()
        tensors = []
        for a in arrays:
            if id(a) in seen:  # one gradient for two parameters: each gets memory of its own
                a = a.copy()
            seen.add(id(a))
            tensors.append(tensor_over(a, self.instance.array_type))
        return tensors

    def release(self) -> None:
        self.spent = True
        self.saved = ()
        self.instance.user = None
