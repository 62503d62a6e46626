"""Names of `torch.utils._pytree`: paths, texts of shapes, kinds of tuples; beside PyTorch's."""

from __future__ import annotations

import time
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest

import rushlight
import rushlight.fx
import rushlight.utils._pytree as ours

theirs = pytest.importorskip("torch.utils._pytree")
torch = pytest.importorskip("torch")
Pair = namedtuple("Pair", "left right")
TREES: list[Any] = [
    1,
    [1, (2, 3), []],
    {"a": 1, "b": [2, {"c": 3}]},
    OrderedDict(x=1, y=(2,)),
    defaultdict(list, {"a": 1}),
    deque([1, [2]], maxlen=3),
    (Pair(1, [2]), None),
]


@pytest.mark.parametrize("tree", TREES, ids=[type(t).__name__ for t in TREES])
def test_paths(tree: Any) -> None:
    """The same paths, as text and as steps, and what they lead to."""
    flat, spec = ours.tree_flatten_with_path(tree)
    other, _ = theirs.tree_flatten_with_path(tree)
    assert [(str(p), leaf) for p, leaf in flat] == [(str(p), leaf) for p, leaf in other]
    assert [ours.keystr(p) for p, _ in flat] == [theirs.keystr(p) for p, _ in other]
    assert flat == ours.tree_leaves_with_path(tree)
    assert ours.tree_unflatten([leaf for _, leaf in flat], spec) == tree
    for path, leaf in flat:
        if not isinstance(tree, deque):
            assert ours.key_get(tree, path) == leaf

    def said(p: Any, x: Any, y: Any) -> str:
        return f"{''.join(map(str, p))}: {x} {y}"

    mapped = ours.tree_map_with_path(said, tree, tree)
    assert mapped == theirs.tree_map_with_path(said, tree, tree)


@pytest.mark.parametrize("tree", TREES[:-1], ids=[type(t).__name__ for t in TREES[:-1]])
def test_texts(tree: Any) -> None:
    """Shapes are written as PyTorch writes them, and read again; PyTorch reads ours."""
    spec = ours.tree_structure(tree)
    text = ours.treespec_dumps(spec)
    assert text == theirs.treespec_dumps(theirs.tree_structure(tree))
    assert ours.treespec_loads(text) == spec
    assert theirs.treespec_loads(text) == theirs.tree_structure(tree)
    assert ours.treespec_pprint(spec) == theirs.treespec_pprint(theirs.tree_structure(tree))


@pytest.mark.parametrize(
    "make",
    [
        lambda lib: lib.Size([2, 3]),
        lambda lib: lib.fx.immutable_collections.immutable_list([1, (2,)]),
        lambda lib: lib.fx.immutable_collections.immutable_dict(a=1),
    ],
    ids=["Size", "immutable_list", "immutable_dict"],
)
def test_own_containers(make: Any) -> None:
    """Shapes and the containers of a graph's arguments are taken apart, and put together as PyTorch does."""
    mine, its = make(rushlight), make(torch)
    assert ours.tree_leaves(mine) == theirs.tree_leaves(its)
    back, expected = (lib.tree_map(lambda x: x + 1, v) for lib, v in ((ours, mine), (theirs, its)))
    assert back == expected and type(back).__name__ == type(expected).__name__


def test_errors() -> None:
    for lib in (ours, theirs):
        with pytest.raises(ValueError, match=r"Unknown protocol 5. Available protocols: \[1\]"):
            lib.treespec_dumps(lib.tree_structure([1]), 5)
        with pytest.raises(NotImplementedError, match="Deserializing builtins.nothing in pytree"):
            lib.treespec_loads('[1, {"type": "builtins.nothing", "context": "null", "children_spec": []}]')


def test_classes_that_somebody_registers() -> None:
    """Their own steps and their own name in texts."""
    for lib in (ours, theirs):

        class Box:
            def __init__(self, inside: Any) -> None:
                self.inside = inside

        name = f"tests.Box.{lib.__name__}"
        lib.register_pytree_node(
            Box,
            lambda box: ([box.inside], None),
            lambda values, _: Box(*values),
            serialized_type_name=name,
            flatten_with_keys_fn=lambda box, g=lib.GetAttrKey: ([(g("inside"), box.inside)], None),
        )
        flat, spec = lib.tree_flatten_with_path([Box({"k": 5})])
        assert [(lib.keystr(p), leaf) for p, leaf in flat] == [("[0].inside['k']", 5)]
        assert lib.treespec_loads(lib.treespec_dumps(spec)) == spec

        class Shut(Box):
            pass

        lib.register_pytree_node(Shut, lambda b: ([b.inside], None), lambda v, _: Shut(*v))
        with pytest.raises(ValueError, match="Did not find a flatten_with_keys_fn"):
            lib.tree_flatten_with_path(Shut(1))
        with pytest.raises(NotImplementedError, match="No registered serialization name"):
            lib.treespec_dumps(lib.tree_structure(Shut(1)))


@pytest.mark.parametrize("thing", [Pair, Pair(1, 2), (1, 2), tuple, time.gmtime(0), time.struct_time, 3], ids=str)
def test_kinds_of_tuples(thing: Any) -> None:
    for name in ("is_namedtuple", "is_namedtuple_instance", "is_structseq", "is_structseq_instance"):
        assert getattr(ours, name)(thing) == getattr(theirs, name)(thing), name
    if isinstance(thing, type):
        assert ours.is_namedtuple_class(thing) == theirs.is_namedtuple_class(thing)
        assert ours.is_structseq_class(thing) == theirs.is_structseq_class(thing)


def test_only_some_types() -> None:
    tree = [1, "a", (2, "b")]
    for lib in (ours, theirs):
        assert lib.tree_all_only(int, lambda x: x > 0, tree)
        assert not lib.tree_all_only(int, lambda x: x > 1, tree)
        assert lib.tree_any_only(str, lambda x: x == "b", tree)
        assert not lib.tree_any_only(float, lambda x: True, tree)
        seen: list[Any] = []
        assert lib.tree_map_only_(int, seen.append, tree) is tree
        assert seen == [1, 2]
    assert issubclass(ours.LeafSpec, ours.PyTreeSpec)


@pytest.mark.parametrize(
    ("tree", "other"),
    [
        ([1, (2, 3)], [3, 4]), ([1, 2], [3, (4, 5)]), ((1, 2), [3, 4]), ({"a": 1}, {"b": 1}), ([1, 2], [1, 2, 3]),
        (1, [1, 2]), (Pair(1, 2), (1, 2)), ((1, 2), Pair(1, 2)), ({"a": 1}, OrderedDict(a=2)), (OrderedDict(a=1), [1]),
        (defaultdict(list, a=1), {"a": 2}), (deque([1], maxlen=2), deque([3])), ([], ()), (None, None),
    ],
)  # fmt: skip
def test_two_trees_of_other_shapes(tree: Any, other: Any) -> None:
    def told(lib: Any) -> Any:
        try:
            return lib.tree_map(lambda a, b: (a, b), tree, other)
        except ValueError as error:
            return str(error)

    assert told(ours) == told(theirs)
