"""Shapes of trees as text: to read, and to write into files."""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, deque
from importlib import import_module
from typing import Any

from ..base.trees import _KINDS, LeafSpec, TreeSpec, tree_unflatten

_PROTOCOL = 1
_NAMES = {
    list: "builtins.list",
    tuple: "builtins.tuple",
    dict: "builtins.dict",
    OrderedDict: "collections.OrderedDict",
    defaultdict: "collections.defaultdict",
    deque: "collections.deque",
}


class _Star:
    """Stands for a leaf in a tree that is printed."""

    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """The tree with a star for every leaf."""
    return repr(tree_unflatten([_Star()] * treespec.num_leaves, treespec))


def _described(spec: TreeSpec) -> dict[str, Any]:
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    kind = _KINDS.get(spec.type)
    name = _NAMES.get(spec.type) or (kind and kind.serialized_name)
    if kind is None:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    if not name:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your "
            "_register_pytree_node call with a `serialized_type_name` kwarg."
        )
    context: Any = None
    if spec.type is defaultdict:
        make, keys = spec.context
        context = {
            "default_factory_module": make.__module__,
            "default_factory_name": make.__qualname__,
            "dict_context": keys,
        }
    else:
        context = json.dumps(spec.context)
    return {
        "type": name,
        "context": context,
        "children_spec": [_described(c) for c in spec.children_specs],
    }


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A shape as text, in PyTorch's format."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"Expected `treespec` to be an instance of TreeSpec but got item of type {type(treespec)}."
        )
    if protocol not in (None, _PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")
    return json.dumps((_PROTOCOL, _described(treespec)))


def treespec_loads(serialized: str) -> TreeSpec:
    """The shape that `treespec_dumps` wrote."""
    protocol, described = json.loads(serialized)
    if protocol != _PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")
    return _read(described)


def _read(described: dict[str, Any]) -> TreeSpec:
    name, context = described["type"], described["context"]
    if name is None:
        return LeafSpec()
    given = {kind.serialized_name: cls for cls, kind in _KINDS.items() if kind.serialized_name}
    cls = {**{n: c for c, n in _NAMES.items()}, **given}.get(name)
    if cls is None:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    if cls is defaultdict:
        home = import_module(context["default_factory_module"])
        context = [getattr(home, context["default_factory_name"]), context["dict_context"]]
    else:
        context = json.loads(context)
    return TreeSpec(cls, context, [_read(child) for child in described["children_spec"]])
