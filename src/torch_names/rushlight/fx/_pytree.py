"""`torch.fx._pytree`: containers flattened by a spec, as traced programs with nested inputs do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..utils._pytree import TreeSpec, register_pytree_node, tree_flatten, tree_unflatten

__all__ = [
    "register_pytree_flatten_spec",
    "register_pytree_node",
    "tree_flatten",
    "tree_flatten_spec",
    "tree_unflatten",
]

_BY_SPEC: dict[type, Callable[[Any, TreeSpec], list[Any]]] = {}  # of classes that somebody registered


def register_pytree_flatten_spec(
    cls: type, flatten_fn_spec: Callable[[Any, TreeSpec], list[Any]], flatten_fn_exact_match_spec: Any = None
) -> None:
    """Say how a container is taken apart in the order of a spec."""
    _BY_SPEC[cls] = flatten_fn_spec


def _dict_flatten_spec(d: dict, spec: TreeSpec) -> list[Any]:
    return [d[key] for key in spec.context]


def tree_flatten_spec(pytree: Any, spec: TreeSpec) -> list[Any]:
    """The leaves of a tree in the order of a spec, whose keys it has."""
    if spec.is_leaf():
        return [pytree]
    own = _BY_SPEC.get(spec.type)
    if own is not None:
        parts = own(pytree, spec)
    else:
        parts = _dict_flatten_spec(pytree, spec) if isinstance(pytree, dict) else list(pytree)
    return [leaf for p, s in zip(parts, spec.children_specs) for leaf in tree_flatten_spec(p, s)]
