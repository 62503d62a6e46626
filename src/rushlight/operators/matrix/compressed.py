"""Sparse matrices in compressed form: rows (CSR) or columns (CSC) one after the other, with a pointer to each."""

from __future__ import annotations

from typing import Any

from ...base import dtypes
from ...base.errors import NotYet
from ...base.formats import layout as layout_class
from ...base.formats import sparse_csc, sparse_csr
from ...core.public import public
from ...core.shown.describe import describe_parts
from ...core.tensor import Tensor
from ..create.from_data import tensor
from ..create.ranges import arange
from ..shape.join import cat, stack
from .sparse import SparseTensor

_NAMES = {sparse_csr: ("crow_indices", "col_indices"), sparse_csc: ("ccol_indices", "row_indices")}
_KINDS = {sparse_csr: ("SparseCsr", "row"), sparse_csc: ("SparseCsc", "column")}


class CompressedTensor(SparseTensor):
    """A sparse matrix whose values stand row by row (or column by column); as coordinates it is a SparseTensor.

    Args:
        compressed: where each row begins among the values, and at the end their count.
        plain: the column of each value.
        values: the values.
        size: rows and columns.
        layout: `sparse_csr`, or `sparse_csc` with columns for rows.
    """

    is_sparse = False
    is_sparse_csr = property(lambda self: self.layout is sparse_csr)

    def __init__(self, compressed: Tensor, plain: Tensor, values: Tensor, size: Any, layout: Any) -> None:
        counts = compressed[1:] - compressed[:-1]
        along = arange(counts.numel(), device=values.device).repeat_interleave(counts)
        both = (along, plain) if layout is sparse_csr else (plain, along)
        super().__init__(stack([b.to(dtypes.int64) for b in both]), values, size, coalesced=True)
        self._compressed, self._plain = compressed, plain
        self.layout = layout

    def values(self) -> Tensor:
        """The values, row by row or column by column."""
        return self._v

    def _asked(self, name: str, layout: Any, which: Tensor) -> Tensor:
        if self.layout is not layout:
            raise RuntimeError(
                f"{name} expected sparse {_KINDS[layout][1]} compressed tensor layout but got {_KINDS[self.layout][0]}"
            )
        return which

    def crow_indices(self) -> Tensor:
        """Where each row begins among the values, and at the end how many values there are."""
        return self._asked("crow_indices", sparse_csr, self._compressed)

    def col_indices(self) -> Tensor:
        """The column of each value."""
        return self._asked("col_indices", sparse_csr, self._plain)

    def ccol_indices(self) -> Tensor:
        """Where each column begins among the values, and at the end how many values there are."""
        return self._asked("ccol_indices", sparse_csc, self._compressed)

    def row_indices(self) -> Tensor:
        """The row of each value."""
        return self._asked("row_indices", sparse_csc, self._plain)

    def _no_coordinates(self, name: str) -> RuntimeError:
        kind = _KINDS[self.layout][0]
        return RuntimeError(f"{name} expected sparse coordinate tensor layout but got {kind}")

    def indices(self) -> Tensor:
        """Refused: these are coordinates; see `to_sparse`."""
        raise self._no_coordinates("indices")

    def is_coalesced(self) -> bool:
        """Refused: this is asked of coordinates."""
        raise self._no_coordinates("is_coalesced")

    def coalesce(self) -> SparseTensor:
        """Refused: this is done with coordinates; see `to_sparse`."""
        raise self._no_coordinates("coalesce")

    # -- other forms -------------------------------------------------------------------------------

    def to_sparse(self, sparse_dim: int | None = None, *, layout: Any = None) -> SparseTensor:
        """The same matrix as coordinates, or in the layout that is named."""
        if layout is None or layout.name == "sparse_coo":
            csr = self if self.layout is sparse_csr else self.to_sparse_csr()
            return SparseTensor(csr._at, csr._v, self._size, coalesced=True)
        return compress(SparseTensor(self._at, self._v, self._size), layout)

    def to_sparse_csr(self, dense_dim: int | None = None) -> CompressedTensor:
        """The same matrix row by row."""
        return self if self.layout is sparse_csr else self.to_sparse(layout=sparse_csr)  # type: ignore[return-value]

    def to_sparse_csc(self, dense_dim: int | None = None) -> CompressedTensor:
        """The same matrix column by column."""
        return self if self.layout is sparse_csc else self.to_sparse(layout=sparse_csc)  # type: ignore[return-value]

    def _with(self, values: Tensor) -> CompressedTensor:
        return CompressedTensor(self._compressed, self._plain, values, self._size, self.layout)

    def to(self, *args: Any, **kwargs: Any) -> CompressedTensor:
        """On another device, or with values of another dtype."""
        values = self._v.to(*args, **kwargs)
        compressed, plain = (t.to(values.device) for t in (self._compressed, self._plain))
        return CompressedTensor(compressed, plain, values, self._size, self.layout)

    def clone(self, *, memory_format: Any = None) -> CompressedTensor:
        """A copy in memory of its own."""
        compressed, plain, values = (t.clone() for t in (self._compressed, self._plain, self._v))
        return CompressedTensor(compressed, plain, values, self._size, self.layout)

    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        """Rows and columns exchanged: CSR becomes CSC over the same memory."""
        if self.dense_dim():
            raise RuntimeError("transpose(): hybrid sparse compressed tensors with dense dimensions are not supported")
        if dim0 % 2 == dim1 % 2:
            return self
        other = sparse_csc if self.layout is sparse_csr else sparse_csr
        size = (self._size[1], self._size[0])
        return CompressedTensor(self._compressed, self._plain, self._v, size, other)

    # -- what coordinates do otherwise -------------------------------------------------------------

    def matmul(self, other: Any, *, out: Any = None) -> Any:
        """The product with a dense matrix or vector; with a sparse matrix it is compressed, too."""
        found = super().matmul(other)
        return compress(found, sparse_csr) if isinstance(found, SparseTensor) else found

    mm = mv = spmm = __matmul__ = matmul  # type: ignore[assignment]

    def __getitem__(self, row: Any) -> SparseTensor:
        """One row, as a sparse vector."""
        if not isinstance(row, int):
            raise NotYet("compressed sparse matrices give single rows only; use .to_dense()[...]")
        csr = self.to_sparse_csr()
        start, end = csr._compressed[row % self._size[0]], csr._compressed[row % self._size[0] + 1]
        part = slice(int(start), int(end))
        at = csr._plain[part].to(dtypes.int64).unsqueeze(0)
        return SparseTensor(at, csr._v[part], self._size[1:], coalesced=True)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        tensors = (self._compressed, self._plain, self._v)
        return describe_parts(self, list(zip((*_NAMES[self.layout], "values"), tensors)), apart=False)


# -- making them -----------------------------------------------------------------------------------


def compress(coordinates: Any, layout: Any) -> CompressedTensor:
    """A matrix of coordinates (a SparseTensor, which stubs call a Tensor) in compressed form."""
    if layout not in _NAMES:
        raise NotYet(f"rushlight has sparse_coo, sparse_csr and sparse_csc matrices, not {layout}")
    if coordinates.sparse_dim() != 2:
        raise NotYet("compressed sparse tensors have rows and columns; use sparse_coo_tensor")
    first = 0 if layout is sparse_csr else 1
    one = coordinates.transpose(0, 1).coalesce() if first else coordinates.coalesce()
    pointers = _convert_indices_from_coo_to_csr(one._at[0], coordinates.shape[first])
    return CompressedTensor(pointers, one._at[1], one._v, coordinates.shape, layout)


def _check(compressed: Tensor, plain: Tensor, values: Tensor, size: Any, layout: Any) -> None:
    """PyTorch's invariants, which it leaves unchecked unless asked: memory is written by these numbers."""
    ptr, ind = _NAMES[layout]
    n, m = (size[0], size[1]) if layout is sparse_csr else (size[1], size[0])
    counts = compressed[1:] - compressed[:-1]
    said = (
        (compressed.numel() != n + 1, f"{ptr}.shape[-1] must be equal to the number of {_KINDS[layout][1]}s + 1 ({n + 1}), but got {compressed.numel()}"),
        (plain.numel() != values.shape[0], f"number of elements in {ind} ({plain.numel()}) must be equal to the number of values ({values.shape[0]})"),
        (int(compressed[0]) != 0, f"`{ptr}[..., 0] == 0` is not satisfied."),
        (int(compressed[-1]) != plain.numel(), f"`{ptr}[..., -1] == nnz` is not satisfied."),
        (bool(((counts < 0) | (counts > m)).any()), f"`0 <= {ptr}[..., 1:] - {ptr}[..., :-1] <= {m}` is not satisfied."),
        (bool(((plain < 0) | (plain >= m)).any()), f"`0 <= {ind} < {m}` is not satisfied."),
    )  # fmt: skip
    for wrong, message in said:
        if wrong:
            raise RuntimeError(message)


@public("torch")
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: layout_class = sparse_csr,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> CompressedTensor:
    """A sparse matrix from its compressed form, row by row (`sparse_csr`) or column by column (`sparse_csc`).

    Args:
        compressed_indices: where each row begins among the values, and at the end how many there are.
        plain_indices: the column of each value.
        values: the values, numbers or tensors.
        size: rows and columns, then the shape of a value; the smallest that holds the values without it.
        layout: `torch.sparse_csr` or `torch.sparse_csc`.
        check_invariants: accepted; the indices are always checked.

    Example:
        >>> torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [5.0, 6.0], layout=torch.sparse_csr).to_dense()
        tensor([[0., 5.],
                [6., 0.]])
    """
    if layout not in _NAMES:
        raise NotYet(f"rushlight has sparse_coo, sparse_csr and sparse_csc matrices, not {layout}")
    compressed, plain, v = (
        t if isinstance(t, Tensor) else tensor(t) for t in (compressed_indices, plain_indices, values)
    )
    if compressed.dim() != 1:
        raise NotYet("batches of compressed matrices are not implemented; use one matrix")
    v = v.to(device=v.device if device is None else device, dtype=dtype or v.dtype)
    compressed, plain = compressed.to(v.device), plain.to(v.device)
    if size is None:
        top = int(plain.max()) + 1 if plain.numel() else 0
        size = (compressed.numel() - 1, top)
        size = (*(size if layout is sparse_csr else size[::-1]), *v.shape[1:])
    _check(compressed, plain, v, size, layout)
    if pin_memory:
        compressed, plain, v = compressed.pin_memory(), plain.pin_memory(), v.pin_memory()
    made = CompressedTensor(compressed, plain, v, size, layout)
    return made.requires_grad_() if requires_grad else made  # type: ignore[return-value]


@public("torch")
def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, **options: Any
) -> CompressedTensor:
    """A sparse matrix row by row.

    Args:
        crow_indices: where each row begins among the values, and at the end how many there are.
        col_indices: the column of each value.
        values: the values, numbers or tensors.
        size: rows and columns, then the shape of a value; the smallest that holds the values without it.
        options: `dtype=`, `device=` and `requires_grad=`.

    Example:
        >>> torch.sparse_csr_tensor([0, 1, 2], [1, 0], [5.0, 6.0]) @ torch.ones(2)
        tensor([5., 6.])
    """
    options.pop("layout", None)
    return sparse_compressed_tensor(crow_indices, col_indices, values, size, layout=sparse_csr, **options)


@public("torch")
def sparse_csc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any
) -> CompressedTensor:
    """As `sparse_csr_tensor`, column by column."""
    options.pop("layout", None)
    return sparse_compressed_tensor(ccol_indices, row_indices, values, size, layout=sparse_csc, **options)


@public("Tensor")
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> CompressedTensor:
    """The elements of a matrix that are not zero, row by row.

    Args:
        dense_dim: how many of the last dimensions belong to a value.

    Example:
        >>> torch.tensor([[0.0, 5.0], [6.0, 0.0]]).to_sparse_csr().crow_indices()
        tensor([0, 1, 2])
    """
    return compress(self.to_sparse(self.dim() - (dense_dim or 0)), sparse_csr)


@public("Tensor")
def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> CompressedTensor:
    """As `to_sparse_csr`, by columns."""
    return compress(self.to_sparse(self.dim() - (dense_dim or 0)), sparse_csc)


@public("torch")
def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:  # noqa: A002
    """Of row numbers in order, where each of `size` rows begins, and at the end how many there are."""
    counts = input.new_zeros(size).index_add(0, input, input.new_ones(input.shape))
    pointers = cat([input.new_zeros(1), counts.cumsum(0)])
    return pointers.to(dtypes.int32 if out_int32 else dtypes.int64)


@public("torch")
def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The row and the column of each value, from where rows begin and the columns."""
    counts = crow_indices[1:] - crow_indices[:-1]
    rows = arange(counts.numel(), device=counts.device).repeat_interleave(counts)
    both = (col_indices, rows) if transpose else (rows, col_indices)
    return stack([b.to(dtypes.int32 if out_int32 else dtypes.int64) for b in both])
