"""Trees of containers: their leaves as a list, and the way back."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

from .shapes import Size

__all__ = [
    "LeafSpec", "PyTree", "TreeSpec", "register_pytree_node", "tree_all", "tree_any", "tree_flatten",
    "tree_is_leaf", "tree_iter", "tree_leaves", "tree_map", "tree_map_", "tree_map_only",
    "tree_structure", "tree_unflatten", "broadcast_prefix",
]  # fmt: skip

PyTree = Any


class _Container(NamedTuple):
    """How one kind of container is taken apart and put together."""

    flatten: Callable[[Any], tuple[list, Any]]
    unflatten: Callable[[Iterable, Any], Any]
    flatten_with_keys: Callable[[Any], tuple[Iterable, Any]] | None = None  # given to `register_pytree_node`
    serialized_name: str | None = None

    @property
    def flatten_fn(self) -> Callable:
        """PyTorch's name of `flatten`."""
        return self.flatten

    @property
    def unflatten_fn(self) -> Callable:
        """PyTorch's name of `unflatten`."""
        return self.unflatten


def _from_dict(make: Callable) -> _Container:
    return _Container(lambda d: (list(d.values()), list(d)), lambda vs, ks: make(zip(ks, vs)))


_KINDS: dict[type, _Container] = {
    list: _Container(lambda x: (list(x), None), lambda vs, _: list(vs)),
    tuple: _Container(lambda x: (list(x), None), lambda vs, _: tuple(vs)),
    dict: _from_dict(dict),
    OrderedDict: _from_dict(OrderedDict),
    defaultdict: _Container(
        lambda d: (list(d.values()), [d.default_factory, list(d)]),
        lambda vs, context: defaultdict(context[0], zip(context[1], vs)),
    ),
    deque: _Container(lambda d: (list(d), d.maxlen), lambda vs, maxlen: deque(vs, maxlen=maxlen)),
    Size: _Container(lambda x: (list(x), None), lambda vs, _: tuple(vs)),
}
_NAMED = _Container(lambda x: (list(x), type(x)), lambda vs, cls: cls(*vs))


def register_pytree_node(cls: type, flatten_fn: Callable, unflatten_fn: Callable, **described: Any) -> None:
    """Let objects of a class count as containers."""
    if cls in _KINDS:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _KINDS[cls] = _Container(
        lambda x: _listed(flatten_fn(x)),
        unflatten_fn,
        described.get("flatten_with_keys_fn"),
        described.get("serialized_type_name"),
    )


_register_pytree_node = register_pytree_node


def _listed(flat: tuple) -> tuple[list, Any]:
    return list(flat[0]), flat[1]


def _kind(value: Any) -> _Container | None:
    found = _KINDS.get(type(value))
    if found is None and isinstance(value, tuple) and hasattr(type(value), "_fields"):
        return _NAMED
    return found


class TreeSpec:
    """The shape of a tree: a container, what it needs besides its children, and these."""

    __slots__ = ("children_specs", "context", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type, self.context, self.children_specs = type, context, children_specs
        self.num_leaves: int = sum(c.num_leaves for c in children_specs) if type is not None else 1
        self.num_nodes: int = 1 + sum(c.num_nodes for c in children_specs)

    @property
    def num_children(self) -> int:
        return len(self.children_specs)

    def is_leaf(self) -> bool:
        return self.type is None

    def unflatten(self, leaves: Iterable) -> Any:
        """The tree of this shape with these leaves."""
        return tree_unflatten(leaves, self)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TreeSpec)
            and (self.type, self.context) == (other.type, other.context)
            and self.children_specs == other.children_specs
        )

    def __hash__(self) -> int:
        return hash((self.type, repr(self.context), tuple(self.children_specs)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        pad = ",\n" + " " * (indent + 2)
        inside = pad.join(c.__repr__(indent + 2) for c in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{inside}])"


class LeafSpec(TreeSpec):
    """The shape of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF = LeafSpec()


def tree_is_leaf(tree: Any, is_leaf: Callable | None = None) -> bool:
    """Whether a value is no container."""
    return (is_leaf is not None and is_leaf(tree)) or _kind(tree) is None


def _walk(tree: Any, leaves: list, is_leaf: Callable | None) -> TreeSpec:
    kind = None if is_leaf is not None and is_leaf(tree) else _kind(tree)
    if kind is None:
        leaves.append(tree)
        return _LEAF
    children, context = kind.flatten(tree)
    cls: Any = namedtuple if kind is _NAMED else type(tree)  # its class is the context
    return TreeSpec(cls, context, [_walk(c, leaves, is_leaf) for c in children])


def tree_flatten(tree: Any, is_leaf: Callable | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves in order, and the shape that puts them back."""
    leaves: list[Any] = []
    spec = _walk(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves: Iterable, treespec: TreeSpec) -> Any:
    """The tree of a shape with the given leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(
            f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a "
            f"pytree that holds {treespec.num_leaves} items ({treespec})."
        )
    return _build(iter(leaves), treespec)


def _build(leaves: Any, spec: TreeSpec) -> Any:
    if spec.type is None:
        return next(leaves)
    children = [_build(leaves, c) for c in spec.children_specs]
    kind = _KINDS.get(spec.type, _NAMED)
    return kind.unflatten(children, spec.context)


def tree_leaves(tree: Any, is_leaf: Callable | None = None) -> list[Any]:
    """The leaves in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: Callable | None = None) -> Any:
    """The leaves one after the other."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: Callable | None = None) -> TreeSpec:
    """The shape of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable, tree: Any, *rests: Any, is_leaf: Callable | None = None) -> Any:
    """A tree with func(leaf, leaves of the other trees in the same place)."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [_flatten_like(r, spec) for r in rests]
    return tree_unflatten([func(*xs) for xs in zip(leaves, *others)], spec)


_DICTS = {dict, OrderedDict, defaultdict}


def _flatten_like(tree: Any, spec: TreeSpec) -> list[Any]:
    """The subtrees of `tree` that stand where the shape has leaves."""
    if spec.type is None:
        return [tree]
    kind = _kind(tree)
    cls: Any = namedtuple if kind is _NAMED else type(tree)
    both_dicts = {cls, spec.type} <= _DICTS
    if cls is not spec.type and not both_dicts:
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {cls!r}.")
    children, context = cast(_Container, kind).flatten(tree)
    if len(children) != spec.num_children:
        raise ValueError(f"Node arity mismatch; expected {spec.num_children}, but got {len(children)}.")
    if both_dicts:
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        missing, extra = set(keys).difference(tree), set(tree).difference(keys)
        if missing or extra:
            said = f"; missing key(s): {missing}" if missing else ""
            said += f"; extra key(s): {extra}" if extra else ""
            raise ValueError(f"Node keys mismatch{said}.")
        children = [tree[k] for k in keys]
    elif cls is not deque and context != spec.context:  # of a deque it is the most it holds
        raise ValueError(
            f"Node context mismatch for node type {spec.type!r}; expected {spec.context!r}, but got {context!r}."
        )
    parts = zip(children, spec.children_specs)
    return [leaf for child, part in parts for leaf in _flatten_like(child, part)]


def tree_map_(func: Callable, tree: Any, *rests: Any, is_leaf: Callable | None = None) -> Any:
    """Call func at every leaf, and return the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(
    type_or_types_or_pred: Any, func: Any = None, tree: Any = None, is_leaf: Callable | None = None
) -> Any:
    """A tree with func(leaf) in place of leaves of some types."""
    wanted = type_or_types_or_pred

    def change(leaf: Any) -> Any:
        plain = isinstance(wanted, (type, tuple))
        return func(leaf) if (isinstance(leaf, wanted) if plain else wanted(leaf)) else leaf

    return tree_map(change, tree, is_leaf=is_leaf)


def tree_all(pred: Callable, tree: Any, is_leaf: Callable | None = None) -> bool:
    """Whether pred holds at all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable, tree: Any, is_leaf: Callable | None = None) -> bool:
    """Whether pred holds at some leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def broadcast_prefix(prefix: Any, tree: Any, is_leaf: Callable | None = None) -> list[Any] | None:
    """One value of `prefix` per leaf of `tree`, which may branch further; None if they do not fit."""
    kind = _kind(prefix)
    if kind is None:
        return [prefix] * len(tree_leaves(tree, is_leaf))
    if tree_is_leaf(tree, is_leaf):
        return None
    (parts, context), (subtrees, other) = kind.flatten(prefix), _kind(tree).flatten(tree)  # type: ignore[union-attr]
    alike = isinstance(prefix, dict) == isinstance(tree, dict)
    if len(parts) != len(subtrees) or not alike or (isinstance(prefix, dict) and context != other):
        return None
    found: list[Any] = []
    for part, subtree in zip(parts, subtrees):
        values = broadcast_prefix(part, subtree, is_leaf)
        if values is None:
            return None
        found += values
    return found
