"""Finding a pattern of nodes in a graph and putting another in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .graph import Graph
from .graph_module import GraphModule
from .node import Node

__all__ = ["Match", "replace_pattern"]


class Match(NamedTuple):
    """Where a pattern was found: its last node there, and each node of the pattern with its counterpart."""

    anchor: Node
    nodes_map: dict[Node, Node]


def _graph_of(thing: Callable[..., Any] | Graph | GraphModule) -> Graph:
    from ._symbolic_trace import symbolic_trace

    if isinstance(thing, GraphModule):
        return thing.graph
    return thing if isinstance(thing, Graph) else symbolic_trace(thing).graph


def replace_pattern(
    gm: GraphModule,
    pattern: Callable[..., Any] | Graph | GraphModule,
    replacement: Callable[..., Any] | Graph | GraphModule,
) -> list[Match]:
    """Put `replacement` wherever `pattern` is found; both are functions or modules of the same inputs.

    Args:
        gm: the `GraphModule`, which is changed.
        pattern, replacement: functions, modules or graphs; the pattern returns one value.

    Returns:
        The places where it was found.

    Raises:
        RuntimeError: if the pattern returns several values.

    Example:
        >>> net = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
        >>> len(torch.fx.replace_pattern(net, lambda x: torch.relu(x), lambda x: torch.tanh(x)))
        1
        >>> net(torch.tensor(-1.0))
        tensor(0.2384)
    """
    wanted, instead = _graph_of(pattern), _graph_of(replacement)
    anchor = wanted.output_node().args[0]
    if not isinstance(anchor, Node):
        raise RuntimeError("replace_pattern: the pattern has to return one value")
    found: list[Match] = []
    taken: set[Node] = set()
    for node in list(gm.graph.nodes):
        mapping: dict[Node, Node] = {}
        if node.op == "output" or not _fits(anchor, node, mapping, gm):
            continue
        inner = [m for p, m in mapping.items() if p.op not in ("placeholder", "get_attr")]
        if taken & set(inner) or not _contained(anchor, mapping):
            continue
        taken.update(inner)
        found.append(Match(node, mapping))
    swapped: dict[Node, Node] = {}
    for match in found:
        _replace(gm, wanted, instead, match, swapped)
    gm.recompile()
    return found


def _fits(p: Node, n: Any, mapping: dict[Node, Node], gm: GraphModule) -> bool:
    """Whether node `n` is what `p` describes, with everything it takes."""
    if p in mapping:
        return mapping[p] is n
    if isinstance(n, Node) and n in mapping.values():
        return False
    if p.op == "placeholder":
        mapping[p] = n
        return True
    if not isinstance(n, Node) or p.op != n.op or not _same_target(p, n, gm):
        return False
    mapping[p] = n
    return _alike(p.args, n.args, mapping, gm) and _alike(p.kwargs, n.kwargs, mapping, gm)


def _same_target(p: Node, n: Node, gm: GraphModule) -> bool:
    if p.op == "call_module":
        mine, theirs = p.graph.owning_module, gm
        if mine is not None:
            return type(mine.get_submodule(p.target)) is type(theirs.get_submodule(n.target))
    return p.target == n.target


def _alike(a: Any, b: Any, mapping: dict[Node, Node], gm: GraphModule) -> bool:
    if isinstance(a, Node):
        return _fits(a, b, mapping, gm)
    if isinstance(a, (list, tuple)):
        same = isinstance(b, (list, tuple)) and len(a) == len(b)
        return same and all(_alike(x, y, mapping, gm) for x, y in zip(a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_alike(a[k], b[k], mapping, gm) for k in a)
    return type(a) is type(b) and bool(a == b)


def _contained(anchor: Node, mapping: dict[Node, Node]) -> bool:
    """Whether nobody outside takes a value from the inside of what was found."""
    inside = {m for m in mapping.values() if isinstance(m, Node)}
    for p, m in mapping.items():
        if p is not anchor and p.op not in ("placeholder", "get_attr") and set(m.users) - inside:
            return False
    return True


def _replace(gm: GraphModule, wanted: Graph, instead: Graph, match: Match, swapped: dict[Node, Node]) -> None:
    anchor, mapping = match
    given = [mapping[p] for p in wanted.nodes if p.op == "placeholder"]
    given = [swapped.get(g, g) for g in given]
    values: dict[Node, Any] = dict(zip([p for p in instead.nodes if p.op == "placeholder"], given))
    with gm.graph.inserting_before(anchor):
        result = gm.graph.graph_copy(instead, values)
    for node in instead.nodes:
        if node.op in ("call_module", "get_attr") and instead.owning_module is not None:
            from .graph_module import _copy_attr

            _copy_attr(instead.owning_module, gm, node.target)
    anchor.replace_all_uses_with(result)
    swapped[anchor] = result
    for p in reversed(wanted.nodes):
        if p.op not in ("placeholder", "output") and not mapping[p].users:
            if not mapping[p]._erased:
                gm.graph.erase_node(mapping[p])
