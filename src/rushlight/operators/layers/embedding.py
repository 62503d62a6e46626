"""Embeddings: rows of a table picked by index."""

from __future__ import annotations

from ...core.public import public
from ...core.tensor import Tensor
from .embedding_kernels import (
    check_indices,
    embedding_op,
    embedding_sparse,
    padding_row,
    renorm_rows,
)


@public("functional")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Look rows of a table up by index.

    Args:
        input: whole numbers, any shape.
        weight: the table, (rows, width).
        padding_idx: the row that gets no gradient.
        max_norm: rows that are looked up and are longer than this are scaled down, in place.
        norm_type: which norm `max_norm` means.
        scale_grad_by_freq: divide a row's gradient by how often it is in the input.
        sparse: make the gradient of `weight` a sparse tensor.

    Returns:
        the input's shape with `width` at the end.

    Raises:
        IndexError: if an index is not in the table.

    Example:
        >>> F.embedding(torch.tensor([2, 0]), torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 4.0]]))
        tensor([[2., 4.],
                [0., 0.]])
    """
    if weight._a.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    padding = padding_row(padding_idx, weight._a.shape[0])
    check_indices(input, "embedding")
    if max_norm is not None:
        renorm_rows(weight, input, max_norm, norm_type)
    lookup = embedding_sparse if sparse else embedding_op
    return lookup(weight, input, padding_idx=padding, scale_by_freq=bool(scale_grad_by_freq))


@public("torch", name="embedding")
def _torch_embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """As `nn.functional.embedding`, with the table first."""
    padding = None if padding_idx == -1 else padding_idx
    return embedding(indices, weight, padding, None, 2.0, scale_grad_by_freq, sparse)
