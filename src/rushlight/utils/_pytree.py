"""`torch.utils._pytree`: trees of containers, from the base layer."""

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
    "LeafSpec", "PyTree", "TreeSpec", "register_pytree_node", "tree_all", "tree_any", "tree_flatten",
    "tree_is_leaf", "tree_iter", "tree_leaves", "tree_map", "tree_map_", "tree_map_only",
    "tree_structure", "tree_unflatten",
]  # fmt: skip
