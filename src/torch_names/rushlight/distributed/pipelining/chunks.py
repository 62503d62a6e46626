"""A batch in pieces: arguments are cut, outputs are put together."""

from __future__ import annotations

from typing import Any

from ...base.trees import tree_flatten, tree_map, tree_unflatten
from ...core.tensor import Tensor
from ...operators.shape.join import cat
from ...operators.shape.split import tensor_split

__all__ = ["TensorChunkSpec", "merged", "pieces"]


class TensorChunkSpec:
    """Along which dimension an argument is cut into microbatches; what has no such spec goes whole to each.

    Args:
        split_dim: the dimension.

    Example:
        >>> from torch.distributed.pipelining.microbatch import TensorChunkSpec
        >>> [str(spec) for spec in TensorChunkSpec.from_tuple((0, 1))]
        ['TensorChunkSpec(0)', 'TensorChunkSpec(1)']
    """

    def __init__(self, split_dim: int) -> None:
        self.split_dim = split_dim

    def __str__(self) -> str:
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims: tuple[int, ...]) -> Any:
        """A spec for each of several positional arguments."""
        return tree_map(TensorChunkSpec, chunk_dims)

    @staticmethod
    def from_dict(chunk_dims: dict[str, int]) -> Any:
        """A spec for each of several arguments with a name."""
        return tree_map(TensorChunkSpec, chunk_dims)


def pieces(tree: Any, count: int, specs: Any = None) -> list[Any]:
    """A tree of arguments, cut `count` times: tensors along dim 0 where no spec says otherwise."""
    leaves, form = tree_flatten(tree)
    if specs is None:
        dims = [0 if isinstance(leaf, Tensor) else None for leaf in leaves]
    else:
        told, _ = tree_flatten(specs)
        if len(told) != len(leaves):
            raise ValueError(f"there are {len(leaves)} arguments and {len(told)} chunk specs")
        dims = [spec.split_dim if isinstance(spec, TensorChunkSpec) else None for spec in told]
    cut: list[Any] = []
    for leaf, dim in zip(leaves, dims):
        if dim is not None and leaf.shape[dim] < count:
            raise AssertionError(f"Tensor size {leaf.shape[dim]} is smaller than num_chunks")
        cut.append([leaf] * count if dim is None else tensor_split(leaf, count, dim))
    return [tree_unflatten([parts[i] for parts in cut], form) for i in range(count)]


def merged(chunks: list[Any], specs: Any = None) -> Any:
    """The outputs of all microbatches as the output of the batch."""
    flat = [tree_flatten(chunk)[0] for chunk in chunks]
    form = tree_flatten(chunks[0])[1]
    told = [TensorChunkSpec(0)] * len(flat[0]) if specs is None else tree_flatten(specs)[0]
    parts = zip(told, zip(*flat))
    return tree_unflatten([cat(p, s.split_dim) if isinstance(s, TensorChunkSpec) else p[0] for s, p in parts], form)
