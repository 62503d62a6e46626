"""Lookup tables."""

from __future__ import annotations

from typing import Any

from ...base.device import device
from ...base.dtypes import dtype
from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...operators.create.filled import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


def _wrapped(padding_idx: int | None, rows: int) -> int | None:
    """The padding index counted from the start; AssertionError if it is out of range."""
    if padding_idx is None:
        return None
    if padding_idx > 0 and padding_idx >= rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    if padding_idx < 0:
        if padding_idx < -rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        return rows + padding_idx
    return padding_idx


class _RowTable(Module):
    """The base class of tables: a weight with one row per index."""

    def _make_weight(
        self, given: Tensor | None, device: device | str | int | None, dtype: dtype | None, freeze: bool = False
    ) -> None:
        shape = (self.num_embeddings, self.embedding_dim)
        if given is None:
            self.weight = Parameter(empty(shape, device=device, dtype=dtype), requires_grad=not freeze)
            self.reset_parameters()
        else:
            if list(given.shape) != list(shape):
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(given, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draw the table anew from N(0, 1); the padding row is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_RowTable):
    """Look vectors up in a learnt table, by index.

    Args:
        num_embeddings: rows of the table; indices are smaller than this.
        embedding_dim: length of a vector.
        padding_idx: the row that stands for padding: zeros, and it gets no gradient.
        max_norm: rows that are looked up and are longer than this are scaled down, in place.
        norm_type: which norm `max_norm` means.
        scale_grad_by_freq: divide a row's gradient by how often it is in the batch.
        sparse: make the gradient of `weight` a sparse tensor.

    Shape:
        (*) of whole numbers -> (*, embedding_dim).

    Attributes:
        weight: (num_embeddings, embedding_dim), drawn from N(0, 1).

    Raises:
        IndexError: if an index is not in the table.

    Example:
        >>> table = nn.Embedding(10, 3, padding_idx=0)
        >>> table(torch.tensor([[1, 2, 4, 0]])).shape
        torch.Size([1, 4, 3])
        >>> table(torch.tensor([0])).detach()
        tensor([[0., 0., 0.]])
    """

    __constants__ = [
        "num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type",
        "scale_grad_by_freq", "sparse",
    ]  # fmt: skip

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _wrapped(padding_idx, num_embeddings)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._make_weight(_weight, device, dtype, _freeze)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        if self.sparse is not False:
            text += ", sparse=True"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Any:
        """Make an Embedding from a table of vectors.

        Args:
            embeddings: (num_embeddings, embedding_dim).
            freeze: True keeps the table as it is in training.
            padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse: as in `Embedding`.

        Example:
            >>> table = nn.Embedding.from_pretrained(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
            >>> table(torch.tensor([1]))
            tensor([[3., 4.]])
        """
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, cols = embeddings.shape
        return cls(
            num_embeddings=rows,
            embedding_dim=cols,
            _weight=embeddings,
            _freeze=freeze,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
        )


class EmbeddingBag(_RowTable):
    """Look vectors up and reduce each bag of them, without making the vectors.

    Args:
        num_embeddings: rows of the table; indices are smaller than this.
        embedding_dim: length of a vector.
        max_norm: rows that are looked up and are longer than this are scaled down, in place.
        norm_type: which norm `max_norm` means.
        scale_grad_by_freq: divide a row's gradient by how often it is in the batch.
        mode: "sum", "mean" or "max".
        sparse: make the gradient of `weight` a sparse tensor.
        include_last_offset: the offsets end with the number of indices.
        padding_idx: the row that does not count.

    Shape:
        (B, L), B bags of L indices -> (B, embedding_dim); or (M,) and `offsets` (B,), where each
        bag begins -> (B, embedding_dim). `per_sample_weights` has the shape of the indices.

    Attributes:
        weight: (num_embeddings, embedding_dim), drawn from N(0, 1).

    Example:
        >>> table = torch.tensor([[1.0, 1.0], [2.0, 4.0], [5.0, 7.0]])
        >>> bag = nn.EmbeddingBag.from_pretrained(table, mode="sum")
        >>> bag(torch.tensor([0, 1, 2]), torch.tensor([0, 2]))
        tensor([[3., 5.],
                [5., 7.]])
    """

    __constants__ = [
        "num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode",
        "sparse", "include_last_offset", "padding_idx",
    ]  # fmt: skip

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = _wrapped(padding_idx, num_embeddings)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._make_weight(_weight, device, dtype)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings!r}, {self.embedding_dim!r}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm!r}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type!r}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq!r}"
        text += f", mode={self.mode!r}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx!r}"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Any:
        """Make an EmbeddingBag from a table of vectors.

        Args:
            embeddings: (num_embeddings, embedding_dim).
            freeze: True keeps the table as it is in training.
            max_norm, norm_type, scale_grad_by_freq, mode, sparse, include_last_offset, padding_idx: as
                in `EmbeddingBag`.

        Example:
            >>> bag = nn.EmbeddingBag.from_pretrained(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
            >>> bag(torch.tensor([[0, 1]]))
            tensor([[2., 3.]])
        """
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, cols = embeddings.shape
        bag = cls(
            num_embeddings=rows,
            embedding_dim=cols,
            _weight=embeddings,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        bag.weight.requires_grad_(not freeze)
        return bag
