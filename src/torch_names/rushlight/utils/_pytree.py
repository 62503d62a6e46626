"""`torch.utils._pytree`: trees of containers, from the base layer."""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ..base.trees import (
    _KINDS,
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
from ..base.trees import _KINDS as SUPPORTED_NODES

__all__ = [
    "PyTreeSpec", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq",
    "is_structseq_class", "is_structseq_instance", "key_get", "keystr", "tree_all_only", "tree_any_only",
    "tree_flatten_with_path", "tree_leaves_with_path", "tree_map_only_", "tree_map_with_path",
    "treespec_dumps", "treespec_loads", "treespec_pprint",
    "SUPPORTED_NODES", "Context", "GetAttrKey", "LeafSpec", "MappingKey", "PyTree", "SequenceKey", "TreeSpec",
    "register_pytree_node", "tree_all", "tree_any", "tree_flatten",
    "tree_is_leaf", "tree_iter", "tree_leaves", "tree_map", "tree_map_", "tree_map_only",
    "tree_structure", "tree_unflatten",
]  # fmt: skip


_PROTOCOL = 1
_is_leaf = tree_is_leaf
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
    return {"type": name, "context": context, "children_spec": [_described(c) for c in spec.children_specs]}


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A shape as text, in PyTorch's format."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of TreeSpec but got item of type {type(treespec)}.")
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


PyTreeSpec = TreeSpec
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


def _tuple_flatten_with_keys(values: tuple[Any, ...]) -> tuple[list[tuple[SequenceKey, Any]], None]:
    return [(SequenceKey(i), v) for i, v in enumerate(values)], None


def _namedtuple_flatten_with_keys(values: Any) -> tuple[list[tuple[GetAttrKey, Any]], type]:
    return [(GetAttrKey(n), v) for n, v in zip(type(values)._fields, values)], type(values)


def is_namedtuple(obj: Any) -> bool:
    """Whether something is a named tuple, or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class is one of named tuples."""
    fields = getattr(cls, "_fields", None)
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(fields, tuple)
        and all(type(field) is str for field in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether something is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_structseq(obj: Any) -> bool:
    """Whether something is a structure of Python's own, as `time.localtime()` is, or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: type) -> bool:
    """Whether a class is one of structures of Python's own: tuples that also count their fields."""
    counts = ("n_fields", "n_sequence_fields", "n_unnamed_fields")
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(isinstance(getattr(cls, name, None), int) for name in counts)
    )


def is_structseq_instance(obj: Any) -> bool:
    """Whether something is a structure of Python's own."""
    return is_structseq_class(type(obj))


def tree_all_only(types: Any, /, pred: Any, tree: Any, is_leaf: Any = None) -> bool:
    """Whether pred holds at all leaves of some types."""
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, types))


def tree_any_only(types: Any, /, pred: Any, tree: Any, is_leaf: Any = None) -> bool:
    """Whether pred holds at some leaf of some types."""
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, types))


def tree_map_only_(types_or_pred: Any, /, func: Any, tree: Any, is_leaf: Any = None) -> Any:
    """Call func at every leaf of some types, and return the tree itself."""
    tree_map_only(types_or_pred, func, tree, is_leaf)
    return tree


def _children_with_keys(tree: Any) -> Iterable[tuple[Any, Any]]:
    """The children of a container with the steps that lead to them."""
    kind = SUPPORTED_NODES.get(type(tree))
    if kind is not None and kind.flatten_with_keys is not None:
        return kind.flatten_with_keys(tree)[0]
    if isinstance(tree, dict):
        return [(MappingKey(k), v) for k, v in tree.items()]
    if is_namedtuple_instance(tree):
        return [(GetAttrKey(n), v) for n, v in zip(type(tree)._fields, tree)]
    if isinstance(tree, (list, tuple, deque)):
        return [(SequenceKey(i), v) for i, v in enumerate(tree)]
    raise ValueError(
        f"Did not find a flatten_with_keys_fn for type: {type(tree)}. "
        "Please pass a flatten_with_keys_fn argument to register_pytree_node."
    )


def tree_leaves_with_path(tree: Any, is_leaf: Any = None) -> list[tuple[tuple, Any]]:
    """The leaves in order, each with the steps that lead to it."""
    if tree_is_leaf(tree, is_leaf):
        return [((), tree)]
    found = []
    for key, child in _children_with_keys(tree):
        found += [((key, *path), leaf) for path, leaf in tree_leaves_with_path(child, is_leaf)]
    return found


def tree_flatten_with_path(tree: Any, is_leaf: Any = None) -> tuple[list[tuple[tuple, Any]], Any]:
    """The leaves with the steps that lead to them, and the shape that puts them back."""
    spec = tree_structure(tree, is_leaf)
    return tree_leaves_with_path(tree, is_leaf), spec


def tree_map_with_path(func: Any, tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """A tree with func(path, leaf, leaves of the other trees in the same place)."""
    steps = [path for path, _ in tree_leaves_with_path(tree, is_leaf)]
    paths = iter(steps)  # tree_map goes through the leaves in this order
    return tree_map(lambda *leaves: func(next(paths), *leaves), tree, *rests, is_leaf=is_leaf)


def keystr(kp: tuple) -> str:
    """A path as it is written in Python, such as `['a'][0].x`."""
    return "".join(str(step) for step in kp)


def key_get(obj: Any, kp: tuple) -> Any:
    """What a path leads to."""
    for step in kp:
        obj = step.get(obj)
    return obj
