"""Lists and dicts that stay as they are: the arguments of a node, which change only through the node."""

from __future__ import annotations

from typing import Any, NoReturn

from ..base.trees import register_pytree_node

__all__ = ["immutable_dict", "immutable_list"]


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"'{type(self).__name__}' object does not support mutation. If you are attempting to modify the kwargs or args "
        "of a torch.fx.Node object, instead create a new copy of it and assign the copy to the node: "
        "    new_args = ...  # copy and mutate args\n    node.args = new_args"
    )


def _plain(kind: type) -> Any:
    return lambda self, protocol: (type(self), (kind(self),))


class immutable_list(list):  # noqa: N801 - PyTorch's name
    """A list that nobody changes."""

    __reduce_ex__ = _plain(list)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))


class immutable_dict(dict):  # noqa: N801 - PyTorch's name
    """A dict that nobody changes."""

    __reduce_ex__ = _plain(dict)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


for _name in ("__delitem__", "__iadd__", "__imul__", "__setitem__", "append", "clear", "extend", "insert",
              "pop", "remove", "reverse", "sort"):  # fmt: skip
    setattr(immutable_list, _name, _refuse)
for _name in ("__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(immutable_dict, _name, _refuse)

register_pytree_node(immutable_list, lambda x: (list(x), None), lambda vs, _: immutable_list(vs))
register_pytree_node(immutable_dict, lambda d: (list(d.values()), list(d)), lambda vs, ks: immutable_dict(zip(ks, vs)))
