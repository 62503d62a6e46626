"""`backward()` as one comparison: is the graph the same as the one that was recorded?

What a backward pass computes follows from its graph alone: ops, which inputs want gradients, attributes, what was
saved, and the `.grad` of the leaves. Where hooks or functions of the user take part it is not a macro: it runs, and
its kernels are matched one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...core.gradients.differentiate import is_usual_one, key_of_one
from ...core.gradients.node import FREED, OpNode
from ...core.gradients.packing import PackedNode
from ...core.gradients.tape import AccumulateGrad
from ...core.inplace import bump as bump_version
from ...core.memory import read_later
from ...core.tensor import Tensor
from ..in_c import native
from ..record.recorder import same
from .described import Macro


class SavedByNode(NamedTuple):
    """Something a node saved: an array (a slot, later its kind and number), or a value."""

    key: Any
    array: bool
    what: Any


class SeenNode(NamedTuple):
    """One node of a graph."""

    op: Any
    plan: Any
    attrs: dict[str, Any]
    edges: tuple  # (index among nodes, output) or (-1 - index among leaves, 0) or None
    saved: tuple[SavedByNode, ...]
    outputs: tuple[SavedByNode, ...]
    shapes: Any


class GraphWalk:
    """The nodes below some roots in an order that only the graph decides; None in `nodes` if one is unusual."""

    def __init__(self, roots: Sequence[Any]) -> None:
        self.nodes: list[OpNode] = []
        self.leaves: list[AccumulateGrad] = []
        self.number: dict[int, int] = {}  # id of a node -> its index, of a leaf -> -1 - index
        self.usual = self._collect([e[0] for e, _ in roots if e is not None])

    def _collect(self, stack: list[Any]) -> bool:
        number, nodes = self.number, self.nodes
        stack = stack[::-1]
        while stack:
            node = stack.pop()
            if id(node) in number:
                continue
            if node.__class__ is AccumulateGrad:
                if node.hooks or node.pre_hooks or node.post_hooks:
                    return False
                number[id(node)] = -1 - len(self.leaves)
                self.leaves.append(node)
                continue
            if not isinstance(node, OpNode) or node.hooks or node.pre_hooks or not _is_plain(node):
                return False
            number[id(node)] = len(nodes)
            nodes.append(node)
            for e in node.edges:
                if e is not None and id(e[0]) not in number:
                    stack.append(e[0])
        return True

    def edges_of(self, node: OpNode) -> tuple:
        number = self.number
        return tuple([None if e is None else (number[id(e[0])], e[1]) for e in node.edges])


class Backward(Macro):
    """A backward pass that accumulates into leaves."""

    rows: Any = None  # for C
    gifts: Any = None  # too
    one: Any = None  # the gradient that the last such pass began with, where the next may be compared quickly
    key: Any = None  # by which that is known

    def __init__(self, recorder: Any, roots: Sequence[Any], keep: bool) -> None:
        self.keep = keep
        self.walk: Any = GraphWalk(roots)
        self.why: str | None = None
        if not self.walk.usual:
            self.why = "a hook or a function of the user takes part in backward"
            return
        w = self.walk
        self.roots = tuple([None if e is None else (w.number[id(e[0])], e[1]) for e, _ in roots])
        self.seeds = [recorder.slot_of(g._a) for _, g in roots]
        self.nodes = [self._seen(recorder, node) for node in w.nodes]
        self.found = [(node, node.leaf()) for node in w.leaves]
        if any(t is not None and t._edge is None for _, t in self.found):
            self.why = "a leaf was frozen after the forward pass"
        self.before = [None if t is None else t._grad for _, t in self.found]
        self.homes = [None if t is None else recorder.slot_of(t._a) for _, t in self.found]
        self.old = [None if g is None else recorder.slot_of(g._a) for g in self.before]
        self.versions = [0 if g is None else g._version for g in self.before]

    def _seen(self, recorder: Any, node: OpNode) -> SeenNode:
        if FREED in (node.saved, node.outputs):
            self.why = "the graph was freed before"
        elif any(map(_is_replaced, (node.saved or {}).values())):
            self.why = "the data of a tensor was set after the forward pass"
        saved = [_kept(recorder, key, v) for key, v in (node.saved or {}).items()] if not self.why else []
        outputs = [_kept(recorder, i, v) for i, v in enumerate(node.outputs or ())] if not self.why else []
        return SeenNode(
            node.op, node.plan, node.attrs, self.walk.edges_of(node), tuple(saved), tuple(outputs),
            _broadcast(node.shapes),
        )  # fmt: skip

    def done(self, recorder: Any) -> None:
        """After the pass: note which gradients the leaves have now, and what the nodes still hold."""
        self.freed = [i for i, n in enumerate(self.walk.nodes) if FREED in (n.saved, n.outputs)]
        self.new: list[Any] = []  # per leaf: the slot of a gradient that was made, or None
        self.bumps: list[int] = []
        self.shared: list[tuple[int, int]] = []  # leaves whose gradients share a version counter
        taken: set[int] = set()
        cells: dict[int, int] = {}
        after: Any
        found = self.found
        for (_, t), before, version in zip(found, self.before, self.versions):
            after = None if t is None else t._grad
            slot = None
            if after is not None and after is not before:
                slot = recorder.slots.get(id(after._a))
                if before is not None or slot is None or slot.storage.kind != "made":
                    self.why = "a gradient was replaced in backward"
                elif slot.storage.number in taken or after.__class__ is not Tensor:
                    self.why = "two gradients share memory"
                else:
                    taken.add(slot.storage.number)
            self.new.append(slot)
            kept = after is not None and after is before
            bumps = 0 if after is None or not kept else after._version - version
            if bumps and cells.setdefault(id(after._ver), len(self.bumps)) != len(self.bumps):
                self.shared.append((cells[id(after._ver)], len(self.bumps)))
                bumps = 0  # the first one counts for both
            self.bumps.append(bumps)
        self.had = [g is not None for g in self.before]
        self.leaves: list[Any] = [n for n, _ in found]  # their tensors are held weakly by themselves
        del self.before, self.walk, self.found

    # -- comparing two stretches ----------------------------------------------------------------

    def slots(self) -> list[Any]:
        found = [*self.seeds, *[k.what for n in self.nodes for k in (*n.saved, *n.outputs) if k.array]]
        return [s for s in (*found, *self.homes, *self.old, *self.new) if s is not None]

    def agrees(self, other: Macro, same_slot: Callable[[Any, Any], bool]) -> bool:
        if not isinstance(other, Backward) or len(self.nodes) != len(other.nodes):
            return False
        if (self.roots, self.keep, self.freed, self.bumps, self.had, self.shared) != (
            other.roots, other.keep, other.freed, other.bumps, other.had, other.shared,
        ):  # fmt: skip
            return False
        if len(self.leaves) != len(other.leaves):
            return False
        if any(a is not b for a, b in zip(self.leaves, other.leaves)):
            return False
        mine, theirs = ([s is None for s in (*b.homes, *b.old, *b.new)] for b in (self, other))
        return (
            mine == theirs
            and all(map(_same_node, self.nodes, other.nodes))
            and all(map(same_slot, self.slots(), other.slots()))
        )

    def settle(self, operand: Callable[[Any], tuple[int, Any]]) -> None:
        self.seeds = [operand(s) for s in self.seeds]
        self.homes = [None if s is None else operand(s) for s in self.homes]
        self.old = [None if s is None else operand(s) for s in self.old]
        self.new = [None if s is None else operand(s)[1] for s in self.new]
        self.nodes = [
            n._replace(
                saved=tuple([k._replace(what=operand(k.what)) if k.array else k for k in n.saved]),
                outputs=tuple([k._replace(what=operand(k.what)) if k.array else k for k in n.outputs]),
            )
            for n in self.nodes
        ]

    # -- comparing what lies there --------------------------------------------------------------

    def matches(self, roots: Sequence[Any], keep: bool, tracer: Any) -> list[OpNode] | None:
        """The graph's nodes if it is the expected one, else None."""
        if keep != self.keep or len(roots) != len(self.roots):
            return None
        if self.shared and not self._share_counters():
            return None
        if self.rows is None:
            self.rows = self._rows()
        given = [(e, g._a) for e, g in roots]
        return native.walk(tracer.cursor, given, *self.rows)

    def remember(self, roots: Sequence[Any]) -> None:
        """The expected pass came: what the next one is compared with by `is_quick`, where that is so simple."""
        if self.one is None and self.rows is not None and not (self.keep or self.shared):
            self.key = key_of_one(roots[0][1]) if len(roots) == 1 else None
            self.one = None if self.key is None else roots[0][1]

    def is_quick(self, loss: Tensor) -> bool:
        """Whether `loss.backward()` would begin with the same one, if its graph is the expected one."""
        if self.one is None or loss._ext is not None or loss._edge is None:
            return False
        return is_usual_one(self.one, self.key)

    def _share_counters(self) -> bool:
        """Whether gradients share version counters as they did."""
        for i, j in self.shared:
            a, b = self.leaves[i].leaf(), self.leaves[j].leaf()
            if a is None or b is None or a._grad is None or b._grad is None:
                return False
            if a._grad._ver is None or a._grad._ver is not b._grad._ver:
                return False
        return True

    def _rows(self) -> tuple:
        """What is expected, as C compares it."""
        ends = tuple(zip(self.roots, self.seeds))
        nodes = [(n.op, n.plan, n.attrs, n.edges, n.saved, n.outputs, n.shapes) for n in self.nodes]
        leaves = zip(self.leaves, self.homes, self.old, self.had)
        return ends, tuple(nodes), tuple(leaves)

    def _gifts(self, pools: dict[int, Any]) -> tuple:
        """Leaves that get a gradient, and where its array comes from."""
        found = [(n.leaf, k, pools[k]) for n, k in zip(self.leaves, self.new) if k is not None]
        return tuple([(leaf, k, p, p.arrays, p.free) for leaf, k, p in found])

    def carry_out(self, nodes: list[OpNode], tracer: Any) -> None:
        """Make the changes that the pass makes apart from computing values: gradients are set, nodes are freed."""
        if not any(self.bumps):
            if self.gifts is None:
                self.gifts = self._gifts(tracer.cursor.path.pools), tuple(self.freed)
            native.give(tracer.cursor, self.gifts[0], nodes, self.gifts[1])
            return
        leaves = [node.leaf() for node in self.leaves]
        # all of them before anything is changed: memory may run out
        made = [None if k is None or t is None else tracer.hand_out(k) for t, k in zip(leaves, self.new)]
        for t, grad, bump in zip(leaves, made, self.bumps):
            if t is None:
                continue
            if grad is not None:
                t._grad = grad
            elif bump:
                bump_version(t._grad, bump)
        for i in self.freed:
            nodes[i].release()


def _is_plain(node: OpNode) -> bool:
    """Whether a node keeps what it saved itself: no hook has packed it, no checkpoint will compute it again."""
    if isinstance(node, PackedNode):
        return False
    saved, outputs = node.saved, node.outputs
    return (saved is None or saved is FREED or saved.__class__ is dict) and (
        outputs is None or outputs is FREED or outputs.__class__ is list
    )


def _is_array(value: Any) -> bool:
    return value.__class__ is tuple and len(value) == 3 and value[1].__class__ is list


def _is_replaced(value: Any) -> bool:
    return _is_array(value) and read_later(*value[:2])[0] is not value[0]


def _kept(recorder: Any, key: Any, value: Any) -> SavedByNode:
    if _is_array(value):
        return SavedByNode(key, True, recorder.slot_of(value[0]))
    return SavedByNode(key, False, value)


def _broadcast(shapes: Any) -> Any:
    """The inputs' shapes where they differ: two that are alike are not kept by every way to call an op."""
    if shapes is None or (len(shapes) == 2 and shapes[0] == shapes[1]):
        return None
    return list(shapes)


def _same_node(a: SeenNode, b: SeenNode) -> bool:
    if a.op is not b.op or a.plan is not b.plan or a.edges != b.edges or a.shapes != b.shapes:
        return False
    if len(a.saved) != len(b.saved) or len(a.outputs) != len(b.outputs):
        return False
    if not same(a.attrs, b.attrs):
        return False
    return all(
        x.key == y.key and x.array == y.array and (x.array or same(x.what, y.what))
        for x, y in zip((*a.saved, *a.outputs), (*b.saved, *b.outputs))
    )
