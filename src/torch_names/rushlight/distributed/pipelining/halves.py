"""Backward in two halves: the gradients of a stage's inputs, and later those of its weights.

Where a node of the tape leads both to an input and to weights, its gradient is kept when the first half comes by; the
second half goes on from there to the weights. Nothing is computed twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd import backward
from ...autograd.graph import GradientEdge

__all__ = ["in_halves"]


def in_halves(ends: list[Any], grads: list[Any], inputs: list[Any]) -> Callable[[], None]:
    """Compute the gradients of the inputs; the answer computes those of all other leaves."""
    if not inputs:  # nobody waits for anything
        return lambda: backward(ends, grads)
    found = _crossings([end.grad_fn for end in ends], {id(x) for x in inputs})
    if found is None:
        backward(ends, grads)
        return lambda: None
    kept: dict[int, Any] = {}
    handles = []
    for k, (node, _) in enumerate(found):
        handles.append(node.register_prehook(lambda came, k=k: kept.__setitem__(k, came)))
    backward(ends, grads, retain_graph=True, inputs=inputs)
    for handle in handles:
        handle.remove()

    def weights() -> None:
        for k, (node, leaves) in enumerate(found):
            came = [(GradientEdge(node, i), g) for i, g in enumerate(kept.get(k, ())) if g is not None]
            if came:
                backward([edge for edge, _ in came], [g for _, g in came], inputs=leaves)

    return weights


def _crossings(roots: list[Any], inputs: set[int]) -> list[tuple[Any, list[Any]]] | None:
    """Nodes above inputs with the other leaves right below them; None where a leaf lies below two of them."""
    leads: dict[Any, bool] = {}
    below: dict[Any, set[Any]] = {}  # the leaves of a node that leads to no input

    def visit(root: Any) -> None:
        stack = [root]
        while stack:
            node = stack[-1]
            after = [n for n, _ in node.next_functions if n is not None]
            waiting = [n for n in after if n not in leads]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            own = getattr(node, "variable", None)
            leads[node] = any(leads[n] for n in after) or (own is not None and id(own) in inputs)
            below[node] = set().union(*(below[n] for n in after)) if not leads[node] else set()
            if own is not None and not leads[node]:
                below[node].add(own)

    found: list[tuple[Any, list[Any]]] = []
    seen: set[Any] = set()
    for root in roots:
        if root is None or root in leads:
            continue
        visit(root)
        if not leads[root]:
            return None  # an output that no input has a part in
    for node, led in leads.items():
        leaves = (
            set().union(*(below[n] for n, _ in node.next_functions if n is not None and not leads[n])) if led else set()
        )
        if leaves & seen:
            return None
        seen |= leaves
        if leaves:
            found.append((node, list(leaves)))
    return found
