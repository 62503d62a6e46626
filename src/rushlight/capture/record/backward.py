"""Functions whose backward comes later: its program is recorded along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.gradients import tape
from ...core.gradients.function import FunctionNode
from ...core.gradients.node import stamps_of
from ...core.gradients.tape import Node
from ...core.tensor import Tensor
from ...core.views import current_edge
from ...runtime.devices import nothing_reused
from ...runtime.door import Kernel, listening
from ...runtime.thread import here
from ..program.instructions import Instruction
from ..program.slots import overlap, reach
from ..state.kinds import is_trusted, isinstance_of
from .recorder import CannotCapture, inside
from .refusals import body, is_plain


def _nothing(xp: Any, *arrays: Any) -> tuple:
    return ()


# Marks where a call ends and its backward, another call, begins; its operands are the results.
HAND_OVER = Kernel("hand_over", _nothing, random=True)


class LaterBackward:
    """The recorded backward of a call: which results it starts from, which tensors it reaches.

    A pass comes to some results and not to others (a model hands back what it needs for nothing but a look); what
    was seen of earlier calls is recorded, and others are left out: zeros for them would be gradients where there are none.
    """

    def __init__(self, recording: Any, live: list[tuple[int, Tensor]], used: Any = None) -> None:
        rec = recording.recorder
        self.outputs = [place for place, _ in live]  # which leaves of the result
        self.shown = sum([place < recording.shown for place, _ in live])
        self.used = [i for i in range(len(live)) if used is None or i in used]
        targets = [t for t in recording.known() if current_edge(t) is not None]
        edges = [current_edge(t) for t in targets]
        inner = [t for t in recording.tensors if not t.is_leaf]
        # Derivatives of users' own that are a part of it, and their code.
        self.own: list[tuple[Any, Any, Any]] = []
        _refuse_hooks([current_edge(t)[0] for _, t in live], edges, self.own)
        rec.instructions.append(Instruction(HAND_OVER, tuple(recording.result_slots), {}, (), (), "the return"))
        self.handed = len(recording.result_slots)
        roots = [live[i][1] for i in self.used]
        seeds = [t.detach().new_ones(t._a.shape) for t in roots]
        self.seeds = [rec.add_argument(s._a) for s in seeds]
        with inside(rec), listening(rec), nothing_reused():
            grads = down_to(edges, [current_edge(t) for t in inner], [current_edge(t) for t in roots], seeds)
        self.targets: list[Tensor] = []
        self.others: list[Tensor] = []  # what a pass from other results may come to
        below = nodes_below([current_edge(t)[0] for _, t in live])
        ends = {e[0].seq for e in edges}
        kept = list(nodes_below([current_edge(t)[0] for t in roots], ends).values())
        self.stamps = _stamps(recording, kept)
        # Whether a pass frees anything: otherwise eager graphs can be gone through again.
        self.saves = any(getattr(n, k, None) for n in kept for k in ("saved", "outputs"))
        for t, g in zip(targets, grads):
            if g is None and current_edge(t)[0].seq in below:
                self.others.append(t)
            if g is not None:
                self.targets.append(t)
                recording.result_slots.append(rec.slot_of(g._a))

    def replaced(self) -> bool:
        """Whether a class of the user's has another derivative by now."""
        return any(body(cls) is not fn or fn.__code__ is not code for cls, fn, code in self.own)


def _stamps(recording: Any, nodes: list[Node]) -> list[tuple[str, Any, str]]:
    """Tensors that callers have and that the graph saved: whose version a backward pass compares, first one first.

    Of each: ("argument", its number, words), ("kept", the tensor, words) or ("place", that of a result, words).
    """
    found_at = enumerate(recording.found)
    tensors = [("place", at, t) for at, t in found_at if isinstance_of(t, Tensor)]
    tensors += [("kept", t, t) for t in recording.watch.held]
    tensors += [("argument", i, t) for i, t in enumerate(recording.tensors)]
    owners: dict[int, list[tuple[str, Any, Tensor]]] = {}
    for one in {id(t): (kind, which, t) for kind, which, t in tensors}.values():
        owners.setdefault(id(one[2]._ver), []).append(one)
    found, seen = [], set()
    for node in sorted(nodes, key=lambda n: -n.seq):
        for cell, words, array in stamps_of(node):
            for kind, which, t in owners.get(id(cell), ()):
                # Tensors that share a counter now may have one each in another call.
                if id(t) not in seen and overlap(reach(array), reach(t._a)):
                    seen.add(id(t))
                    found.append((kind, which, words))
    return found


def down_to(ends: Sequence, inner: Sequence, roots: Sequence, seeds: Sequence, create_graph: bool = False) -> list:
    """The gradients that a backward pass brings to `ends`; it touches no `.grad` and frees nothing.

    The nodes that made tensor arguments (`inner`) lose their own inputs meanwhile: what lies before the call is
    not part of it.
    """
    cut = {id(e[0]): (e[0], e[0].edges) for e in inner}
    uses, here.uses = here.uses, None  # this is nobody's backward pass
    for node, _ in cut.values():
        node.edges = ()
    try:
        found = tape.backward(
            list(zip(roots, seeds)), keep_graph=True, create_graph=create_graph, inputs=ends, accumulate=False
        )
    finally:
        here.uses = uses
        for node, before in cut.values():
            node.edges = before
    return found or []


def nodes_below(roots: list[Node], ends: Any = ()) -> dict[int, Node]:
    """All nodes that a graph leads to by their numbers, down to some and without them."""
    found: dict[int, Node] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.seq not in found and node.seq not in ends:
            found[node.seq] = node
            stack.extend([e[0] for e in node.edges if e is not None])
    return found


def _refuse_hooks(roots: list[Node], ends: list[Any], own: list[tuple[Any, Any, Any]]) -> None:
    """Hooks, and derivatives of users' own functions, are Python: they would run while recording and never again."""
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
        if isinstance(node, FunctionNode) and not is_trusted(node.function.__module__):
            if not is_plain(node.function, node.ctx):
                raise CannotCapture(
                    f"{node.function.__name__}.backward is Python that runs when results are differentiated; call "
                    "backward() inside the compiled function"
                )
            fn = body(node.function)
            own.append((node.function, fn, fn.__code__))
        if node.seq not in stop:
            stack.extend([e[0] for e in node.edges if e is not None])


_PASSES = 8  # backward passes that one recorded call is looked for in
_CALLS = 32  # recorded calls that are looked for at once


class Uses:
    """What backward passes asked of one recorded call: which of its results they came to, and how.

    Nodes are known by their numbers alone, so nothing is kept alive.
    """

    def __init__(self, live: Sequence[tuple[int, Tensor]]) -> None:
        self.ends = {(e[0].seq, e[1]): i for i, e in enumerate(current_edge(t) for _, t in live)}
        self.first = min([seq for seq, _ in self.ends])
        self.left = _PASSES
        self.patterns: set[frozenset[int]] = set()  # numbers of results, pass by pass
        self.twice = False  # whether one of them recorded a graph of its own
        here.uses = [*(here.uses or ())[1 - _CALLS :], self]

    def look(self, roots: Sequence[Any], only: set[int] | None, create_graph: bool) -> None:
        """See which results a pass comes to from outside of the call."""
        self.left -= 1
        if not self.left:
            here.uses = [u for u in here.uses or () if u is not self] or None
        reached, seen = set(), set()
        stack = [edge for edge, _ in roots if edge is not None]
        while stack:
            node, index = stack.pop()
            if node.seq < self.first or (only is not None and node.seq not in only):
                continue  # a node has a larger number than what it depends on
            place = self.ends.get((node.seq, index))
            if place is not None:
                reached.add(place)
            elif node.seq not in seen:
                seen.add(node.seq)
                stack.extend([e for e in node.edges if e is not None])
        if reached:
            self.patterns.add(frozenset(reached))
            self.twice = self.twice or create_graph
