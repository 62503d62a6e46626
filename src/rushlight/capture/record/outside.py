"""Graphs that were there before a recorded call: a backward pass inside of it that goes on into them cannot be replayed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...core.op import FREED
from ...core.tensor import Tensor
from ..state.keys import HOOKED, RESULT, role


@contextmanager
def graphs_end_at(
    tensors: Sequence[Tensor], arguments: Sequence[Tensor], recorder: Any
) -> Iterator[None]:
    """Complain when a derivative arrives at a result of an earlier graph, or at an argument with hooks of the user."""
    entries = {id(t): t for t in tensors if role(t) == RESULT}
    entries.update({id(t): t for t in arguments if role(t) == HOOKED})

    def arrived(_: Tensor) -> None:
        recorder.complain("goes back into a graph, or to hooks, that a tensor from outside brings")

    handles = [t.register_hook(arrived) for t in entries.values()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def spent(node: Any) -> bool:
    """Whether backward has run through this graph already."""
    stack, seen = [node], set()
    while stack:
        node = stack.pop()
        if node.seq in seen:
            continue
        seen.add(node.seq)
        if FREED in (getattr(node, "saved", None), getattr(node, "outputs", None)):
            return True
        stack.extend([e[0] for e in node.edges if e is not None])
    return False


def first_failure(node: Any) -> tuple[int, str] | None:
    """Which node of a graph a backward pass would fail at first, by its number, and why; None where it would not."""
    nodes, stack = {}, [node]
    while stack:
        node = stack.pop()
        if node.seq not in nodes:
            nodes[node.seq] = node
            stack.extend([e[0] for e in node.edges if e is not None])
    for seq in sorted(nodes, reverse=True):  # the order in which a pass comes to them
        saved, outputs = (getattr(nodes[seq], name, None) for name in ("saved", "outputs"))
        if FREED in (saved, outputs):
            return seq, "freed"
        kept = [*(saved.values() if isinstance(saved, dict) else ()), *(outputs or ())]
        for k in kept:
            if k.__class__ is tuple and len(k) == 3 and k[1].__class__ is list and k[1][0] != k[2]:
                return seq, f"a tensor {list(k[0].shape)} that a compiled function used"
    return None
