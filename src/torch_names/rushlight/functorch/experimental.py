"""`functorch.experimental`: a map in a given number of chunks, and older names of `torch.func`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.trees import broadcast_prefix, tree_leaves
from ..core.tensor import Tensor
from ..func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_, vmap

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]


def chunk_vmap(
    func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable:
    """`vmap` of a batch in so many parts, one after the other; the first parts are the larger ones.

    Args:
        func: a function of one sample.
        in_dims, out_dims, randomness: those of `vmap`.
        chunks: how many parts.

    Example:
        >>> from rushlight.functorch.experimental import chunk_vmap
        >>> chunk_vmap(torch.sin, chunks=3)(torch.zeros(4))
        tensor([0., 0., 0., 0.])
    """

    def mapped(*args: Any, **kwargs: Any) -> Any:
        dims = broadcast_prefix(in_dims, args, lambda x: isinstance(x, Tensor)) or []
        sizes = [x.shape[d] for x, d in zip(tree_leaves(args), dims) if d is not None]
        size = -(-sizes[0] // chunks) if sizes and chunks > 1 else None
        return vmap(func, in_dims, out_dims, randomness, chunk_size=size or None)(*args, **kwargs)

    return mapped
