"""`torch.utils._pytree`: trees of containers, from the base layer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..base.trees import (
    _KINDS as SUPPORTED_NODES,
)
from ..base.trees import (
    LeafSpec,
    PyTree,
    TreeSpec,
    _register_pytree_node,  # noqa: F401 - the name older scripts use
    register_pytree_node,
    tree_all,
    tree_any,
    tree_flatten,
    tree_is_leaf,
    tree_iter,
    tree_leaves,
    tree_map,
    tree_map_,
    tree_map_only,
    tree_structure,
    tree_unflatten,
)

__all__ = [
    "SUPPORTED_NODES", "Context", "GetAttrKey", "LeafSpec", "MappingKey", "PyTree", "SequenceKey", "TreeSpec",
    "register_pytree_node", "tree_all", "tree_any", "tree_flatten",
    "tree_is_leaf", "tree_iter", "tree_leaves", "tree_map", "tree_map_", "tree_map_only",
    "tree_structure", "tree_unflatten",
]  # fmt: skip

Context = Any  # what a container needs besides its children


@dataclass(frozen=True)
class MappingKey:
    """A step into a tree: by the key of a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The child of a dict at this key."""
        return mapping[self.key]


@dataclass(frozen=True)
class SequenceKey:
    """A step into a tree: by the place in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The child of a sequence at this place."""
        return sequence[self.idx]


@dataclass(frozen=True)
class GetAttrKey:
    """A step into a tree: by the name of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The child of an object with this name."""
        return getattr(obj, self.name)


def _dict_flatten(d: dict) -> tuple[list[Any], Context]:
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: dict) -> tuple[list[tuple[MappingKey, Any]], Context]:
    return [(MappingKey(k), v) for k, v in d.items()], list(d)


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict:
    return dict(zip(context, values))


def _get_node_type(tree: Any) -> Any:
    """The class that says how a value is taken apart: namedtuple for all named tuples."""
    from collections import namedtuple

    kind = type(tree)
    return namedtuple if isinstance(tree, tuple) and hasattr(kind, "_fields") else kind


def _namedtuple_flatten(values: Any) -> tuple[list[Any], type]:
    """The parts of a named tuple, and its class."""
    return list(values), type(values)


def _namedtuple_unflatten(values: Iterable[Any], context: Any) -> Any:
    return context(*values)


def _list_flatten(values: list[Any]) -> tuple[list[Any], None]:
    return values, None


def _list_unflatten(values: Iterable[Any], context: Any) -> list[Any]:
    return list(values)


def _tuple_flatten(values: tuple[Any, ...]) -> tuple[list[Any], None]:
    return list(values), None


def _tuple_unflatten(values: Iterable[Any], context: Any) -> tuple[Any, ...]:
    return tuple(values)


def _list_flatten_with_keys(values: list[Any]) -> tuple[list[tuple[SequenceKey, Any]], None]:
    return [(SequenceKey(i), v) for i, v in enumerate(values)], None


def _tuple_flatten_with_keys(
    values: tuple[Any, ...],
) -> tuple[list[tuple[SequenceKey, Any]], None]:
    return [(SequenceKey(i), v) for i, v in enumerate(values)], None


def _namedtuple_flatten_with_keys(values: Any) -> tuple[list[tuple[GetAttrKey, Any]], type]:
    return [(GetAttrKey(n), v) for n, v in zip(type(values)._fields, values)], type(values)
