"""`torch.fx._pytree`: containers flattened by a spec, as traced programs with nested inputs do."""

from __future__ import annotations

from ..utils._pytree import register_pytree_node, tree_flatten, tree_unflatten

__all__ = ["register_pytree_node", "tree_flatten", "tree_unflatten"]
