"""How callers differentiate the results of recorded calls, so that a replay can be differentiated the same way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.tensor import Tensor
from ...core.views import current_edge
from ...runtime.thread import here

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
