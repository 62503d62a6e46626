"""The tape: nodes that remember how a tensor was made, and the pass that walks them newest first."""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from heapq import heappop, heappush
from sys import getrefcount
from typing import TYPE_CHECKING, Any

from ...base.locks import new_rlock
from ...runtime.thread import CASTING, GRAD, here
from ..modes import switches
from .hooks import RemovableHandle, check_nan, run_hooks, run_node_hooks, run_tensor_hooks, watched

if TYPE_CHECKING:
    from ..tensor import Tensor

Edge = Any  # (Node, output number) or None

_CORE = os.path.dirname(os.path.dirname(__file__)) + os.sep

# A node is made after the nodes it depends on, so its number alone orders the backward pass.
numbers = itertools.count()


# Passes in several threads may bring gradients to one leaf; reading and adding is one step.
_accumulating = new_rlock()


class Node:
    """One recorded operation, a tensor's `grad_fn`; its edges lead to the nodes that made its inputs.

    Args:
        edges: one for each input: (node, number of its output), or None where no gradient is wanted.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> node = (x * 2).sum().grad_fn
        >>> node.name(), node.next_functions[0][0].name()
        ('SumBackward0', 'MulBackward0')
    """

    __slots__ = ("seq", "edges", "hooks", "pre_hooks", "where", "__weakref__", "__dict__")

    n_outputs = 1

    def __init__(self, edges: Sequence[Edge]) -> None:
        self.seq = next(numbers)
        self.edges = edges
        self.hooks: Any = None  # called as hook(grad_inputs, grad_outputs) after the node ran
        self.pre_hooks: Any = None  # per output: tensor hooks, called on the incoming gradient
        self.where: Any = None
        if switches.anomaly:
            self.remember_where()

    def remember_where(self) -> None:
        """Keep the lines that led here from outside of `core`, for anomaly mode."""
        from traceback import extract_stack

        stack = extract_stack()
        while len(stack) > 1 and stack[-1].filename.startswith(_CORE):
            stack.pop()
        self.where = stack

    def apply(self, gs: list[Any]) -> Sequence[Any]:
        """The gradients of the inputs from those of the outputs."""
        raise NotImplementedError

    def release(self) -> None:
        """Drop what was saved for backward."""

    def name(self) -> str:
        """The name of the kind of node, as PyTorch spells it."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """For each input: the node that made it and the number of its output; (None, 0) where there is none."""
        return tuple((None, 0) if e is None else (e[0].shown(), e[1]) for e in self.edges)

    def shown(self) -> Any:
        """The node as users see it; `OpNode` takes the name of its op first."""
        return self

    def register_hook(self, fn: Callable) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after this node has run in a backward pass."""
        if self.hooks is None:
            self.hooks = {}
        return RemovableHandle(self.hooks, fn)

    def register_prehook(self, fn: Callable) -> RemovableHandle:
        """Call `fn(grad_outputs)` before this node runs in a backward pass."""
        return self.add_pre_hook(None, fn)

    def add_pre_hook(self, index: int | None, fn: Callable) -> RemovableHandle:
        """Call `fn` on the gradient of output `index`, or of all outputs, before this node runs."""
        if self.pre_hooks is None:
            self.pre_hooks = {}
        return RemovableHandle(self.pre_hooks, (index, fn))

    def __call__(self, *gs: Any) -> Any:
        if len(gs) != self.n_outputs:
            raise TypeError(f"expected {self.n_outputs} arguments, got {len(gs)} instead")
        with _keeping(here.walk):
            out = tuple(self.apply(list(gs)))
        return out[0] if len(out) == 1 else out

    def __repr__(self) -> str:
        return f"<{self.name()} object at {hex(id(self))}>"


class AccumulateGrad(Node):
    """The end of a path: adds what arrives to the `.grad` of a leaf it only holds weakly."""

    __slots__ = ("leaf", "post_hooks")

    def __init__(self, leaf: Tensor) -> None:
        super().__init__(())
        self.leaf = weakref.ref(leaf)
        self.post_hooks: Any = None

    @property
    def variable(self) -> Any:
        return self.leaf()

    def has_hooks(self) -> bool:
        return bool(self.hooks or self.pre_hooks or self.post_hooks)

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"  # as PyTorch spells it, in whatever namespace

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {hex(id(self))}>"

    def apply(self, gs: list[Any]) -> Sequence[Any]:
        leaf = self.leaf()
        g = gs[0]
        gs[0] = None  # so that the gradient's only owner is this frame, and its array can be taken
        if leaf is not None and g is not None and leaf._edge is not None:  # else it was frozen since
            with _accumulating:
                leaf._accumulate(g)
            if self.post_hooks:
                for hook in list(self.post_hooks.values()):
                    if hook(leaf) is not None:
                        raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        return ()


def both(held: Any, g: Any) -> Any:
    """The sum of two gradients of one tensor; a sparse one is added to a dense one, never the other way.

    DeZero's gradients are Variables, or bare arrays, which do not know of sparse ones.
    """
    return g + held if getattr(held, "is_sparse", False) else held + g


class Pass:
    """One backward pass: gradients on their way, the nodes that wait for them, the leaves."""

    def __init__(self, keep: bool, targets: dict[tuple[int, int], Any] | None, only: set | None):
        self.heap: list[int] = []
        self.waiting: dict[int, tuple[Node, list[Any]]] = {}
        self.leaves: dict[AccumulateGrad, Any] = {}
        self.keep = keep
        self.targets = targets
        self.only = only  # numbers of the nodes on a path to a target; None means all
        self.hooked = False  # whether a leaf that got a gradient has hooks; then each leaf is finished when it can be
        self.uses: dict[Node, int] | None = None  # of the leaves then: edges that may still bring a gradient
        self.callbacks: list[Callable[[], None]] = []
        self.keeping = 0  # what is under way inside of this pass and keeps the graph

    def send(self, edges: Sequence[Edge], gradients: Sequence[Any]) -> None:
        """Bring gradients to the nodes at the ends of edges."""
        waiting, only = self.waiting, self.only
        for edge, g in zip(edges, gradients):
            if edge is None or g is None:
                continue
            node, index = edge
            if only is not None and node.seq not in only:
                continue
            # A leaf leads nowhere, so it does not wait in the heap.
            if node.__class__ is AccumulateGrad:
                held = self.leaves.get(node)
                self.leaves[node] = g if held is None else both(held, g)
                if node.has_hooks():
                    self.hooked = True
                continue
            seq = node.seq
            found = waiting.get(seq)
            if found is None:
                arriving = [None] * node.n_outputs
                arriving[index] = g
                waiting[seq] = (node, arriving)
                heappush(self.heap, -seq)
            else:
                arriving = found[1]
                held = arriving[index]
                arriving[index] = g if held is None else both(held, g)

    def run(self) -> None:
        """Walk the nodes that wait, newest first; native/walk.c is the same in C, where nothing is collected."""
        heap, waiting, keep = self.heap, self.waiting, self.keep
        while heap:
            seq = -heappop(heap)
            node, gs = waiting.pop(seq)
            try:
                if node.pre_hooks:
                    run_tensor_hooks(node, gs)
                if self.targets is not None and self._caught(node, gs):
                    continue
                results = self._applied(node, gs)
            except BaseException:
                self.abandon(node)
                raise
            if not keep:
                node.release()
            del gs
            self.send(node.edges, results)
            del results
            if self.hooked:
                self._finish_ready(node)
        self._finish()

    def abandon(self, failed: Node) -> None:
        """Behind a node that raised: leaves for which nothing more could have arrived have their gradients, as in PyTorch."""
        if self.uses is None and self.targets is None and not self.hooked:
            uses = self._count_uses([failed])
            self._finish([n for n in self.leaves if not uses.get(n)])

    def answer(self, node: Node, gs: list[Any]) -> Sequence[Any]:
        """The gradients of a node's inputs, with what hooks and anomaly mode make of them."""
        if node.pre_hooks:
            run_tensor_hooks(node, gs)
        return self._applied(node, gs)

    @staticmethod
    def _applied(node: Node, gs: list[Any]) -> Sequence[Any]:
        if node.pre_hooks:
            run_node_hooks(node, gs)
        results = watched(node, gs) if switches.anomaly else node.apply(gs)
        if node.hooks:
            results = run_hooks(node, results, gs)
        if switches.anomaly:
            check_nan(node, results)
        return results

    def _caught(self, node: Node, gs: list[Any]) -> bool:
        """Store gradients that the caller asked for; True if the walk need not go below this node."""
        targets, only = self.targets, self.only
        assert targets is not None
        for i, g in enumerate(gs):
            if g is not None and (node.seq, i) in targets:
                targets[(node.seq, i)] = g
        return only is not None and not any(e is not None and e[0].seq in only for e in node.edges)

    def _finish_ready(self, done: Node) -> None:
        """Finish leaves as soon as nothing more can arrive for them.

        Ranks exchange gradients, optimisers step, and hooks are called in PyTorch's order, while the rest of the pass goes on.
        """
        edges = [e for e in done.edges if e is not None]
        if getattr(getattr(done, "op", None), "bias_first", False):
            edges.reverse()  # PyTorch's is an `addmm`, whose bias comes first
        if self.uses is None:
            uses = self.uses = self._count_uses([])
            now = dict.fromkeys([e[0] for e in edges if e[0] in self.leaves])
            ready = [n for n in (*(n for n in self.leaves if n not in now), *now) if not uses.get(n)]
        else:
            ready = []
            for node, _ in edges:
                if node in self.uses:
                    self.uses[node] -= 1
                    if not self.uses[node] and node in self.leaves:
                        ready.append(node)
        for node in ready:
            self._finish([node])

    def _count_uses(self, more: list[Node]) -> dict[Node, int]:
        """How many edges lead to each leaf from the nodes that still wait, and from more."""
        uses: dict[Node, int] = {}
        stack = [node for node, _ in self.waiting.values()] + more
        seen = {node.seq for node in stack}
        while stack:
            for edge in stack.pop().edges:
                if edge is None or (self.only is not None and edge[0].seq not in self.only):
                    continue
                node = edge[0]
                if node.__class__ is AccumulateGrad:
                    uses[node] = uses.get(node, 0) + 1
                elif node.seq not in seen:
                    seen.add(node.seq)
                    stack.append(node)
        return uses

    def _finish(self, ready: Sequence[AccumulateGrad] | None = None) -> None:
        """Give the leaves what arrived for them; all, or those that are ready. Hooks find the others' gradients in place."""
        leaves, hooked = self.leaves, []
        for node in list(leaves) if ready is None else ready:
            if self.targets is None and not (node.pre_hooks or node.hooks or node.post_hooks):
                leaf, g = node.leaf(), leaves.pop(node)
                if leaf is not None and leaf._edge is not None:  # None: it was frozen since
                    with _accumulating:
                        leaf._accumulate(g)
            else:
                hooked.append(node)
        for node in hooked:
            gs = [leaves.pop(node)]
            if node.pre_hooks:
                run_tensor_hooks(node, gs)
            if self.targets is not None and self._caught(node, gs):
                continue
            if node.pre_hooks:
                run_node_hooks(node, gs)
            node.apply(gs)
            if node.hooks:
                run_hooks(node, (), gs)


@contextmanager
def _keeping(walk: Pass | None) -> Iterator[None]:
    """Inside of a pass that frees its graph, derivatives that may be asked for once more."""
    if walk is None:
        yield
        return
    walk.keeping += 1
    try:
        yield
    finally:
        walk.keeping -= 1


def is_last_use() -> bool:
    """Whether the derivative that is being computed may write over what was saved for it: nobody will read that again."""
    walk = here.walk
    return walk is not None and not walk.keep and not walk.keeping


def _reaching(roots: list[Node], targets: set[int]) -> set[int]:
    """Numbers of the nodes from which a target can be reached."""
    nodes: dict[int, Node] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.seq not in nodes:
            nodes[node.seq] = node
            stack.extend(e[0] for e in node.edges if e is not None)
    reach = set(targets)
    for seq in sorted(nodes):  # inputs have smaller numbers, so one sweep upwards is enough
        if any(e is not None and e[0].seq in reach for e in nodes[seq].edges):
            reach.add(seq)
    return reach


def backward(
    roots: Sequence[tuple[Edge, Any]],
    *,
    keep_graph: bool,
    create_graph: bool,
    inputs: Sequence[Edge] | None = None,
    accumulate: bool = True,
) -> list[Any] | None:
    """Push gradients from `roots`; collect those of `inputs`, or accumulate into every leaf.

    Derivatives compute in the dtypes of the forward pass, wherever this is called: without casting.
    """
    tracer = here.tracer
    if tracer is not None and tracer.awake:
        options = (keep_graph, create_graph, inputs, accumulate)
        return tracer.backward(_backward, roots, options)
    return _backward(roots, keep_graph, create_graph, inputs, accumulate)


_MODES = GRAD | CASTING  # what a backward pass sets for itself


def _backward(
    roots: Sequence[tuple[Edge, Any]],
    keep_graph: bool,
    create_graph: bool,
    inputs: Sequence[Edge] | None,
    accumulate: bool,
) -> list[Any] | None:
    targets = only = None
    if inputs is not None:
        ends = {e[0].seq for e in inputs if e is not None}
        only = _reaching([e[0] for e, _ in roots if e is not None], ends)
        if not accumulate:
            targets = {(e[0].seq, e[1]): None for e in inputs if e is not None}
    if here.uses is not None:
        for uses in here.uses:
            uses.look(roots, only, create_graph)
    walk = Pass(keep_graph or here.graphs_kept, targets, only)
    before = here.state  # `swap`, without its calls: small networks are bound by the host
    here.state = before & ~_MODES | (GRAD if create_graph else 0)
    outermost = here.walk is None
    if outermost:
        here.walk = walk
    try:
        walk.send([edge for edge, _ in roots], [g for _, g in roots])
        del roots
        if outermost or not walk.keep:
            walk.run()
        else:
            with _keeping(here.walk):
                walk.run()
        for callback in walk.callbacks:
            callback()
    finally:
        if outermost:
            here.walk = None
        here.state = here.state & ~_MODES | before & _MODES
    if targets is None or inputs is None:
        return None
    return [None if e is None else targets[(e[0].seq, e[1])] for e in inputs]


def at_end(callback: Callable[[], None]) -> None:
    """Call something when the backward pass of this thread is over; inner passes are part of the outer."""
    if here.walk is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    here.walk.callbacks.append(callback)


class _Probe:
    """A leaf that only counts the references to what it is given, as `Tensor._accumulate` does."""

    __slots__ = ("__weakref__", "count")

    _edge = ()  # not frozen

    def _accumulate(self, g: Tensor) -> None:
        self.count = getrefcount(g)


def _measured() -> int:
    """References to a gradient that only the pass holds, on the two ways to a leaf."""
    probe, counts = _Probe(), []
    node = AccumulateGrad(probe)  # type: ignore[arg-type]
    for _ in range(8):  # the interpreter rewrites code that runs again, and might borrow more
        node.apply([object()])
        counts.append(probe.count)
        walk = Pass(False, None, None)
        walk.leaves[node] = object()
        walk._finish()
        counts.append(probe.count)
    return min(counts)


ALONE = _measured()
