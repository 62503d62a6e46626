"""Sparse tensors in coordinate form: indices, values, and the products graph networks need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...base import dtypes
from ...base.config import settings
from ...base.errors import NotYet
from ...base.formats import sparse_coo, sparse_csc, sparse_csr
from ...base.shapes import Size
from ...core.public import public, publish
from ...core.tensor import Tensor
from ..create.filled import empty
from ..create.from_data import tensor
from ..shape.join import cat


def load_compressed() -> Any:
    """The module of compressed matrices, which is built on this one."""
    return import_module(".compressed", __package__)


class SparseTensor:
    """A tensor of which only the elements that are not zero are stored; places that repeat add up.

    Made by `torch.sparse_coo_tensor` and `Tensor.to_sparse`.

    Args:
        indices: (dimensions, elements), the place of every element.
        values: the elements.
        size: the shape.
        coalesced: the places are in order and none occurs twice.

    Example:
        >>> x = torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (3,))
        >>> x.to_dense(), x._nnz()
        (tensor([3., 0., 0.]), 2)
    """

    is_sparse, is_sparse_csr = True, False
    layout = sparse_coo

    def __init__(self, indices: Tensor, values: Tensor, size: Any, coalesced: bool = False) -> None:
        self._at, self._v = indices, values
        self._size = Size(size)
        self._coalesced = coalesced

    # -- what it is -----------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The shape of the whole."""
        return self._size

    def size(self, dim: int | None = None) -> Any:
        """The shape, or its size along `dim`."""
        return self._size if dim is None else self._size[dim]

    def dim(self) -> int:
        """How many dimensions it has."""
        return len(self._size)

    ndim = property(dim)

    def numel(self) -> int:
        """How many elements the whole has, zeros included."""
        return self._size.numel()

    def sparse_dim(self) -> int:
        """How many dimensions the indices name."""
        return self._at.shape[0]

    def dense_dim(self) -> int:
        """How many dimensions each value has."""
        return self.dim() - self.sparse_dim()

    dtype = property(lambda self: self._v.dtype)
    device = property(lambda self: self._v.device)
    is_cuda = property(lambda self: self._v.is_cuda)
    requires_grad = property(lambda self: self._v.requires_grad)

    def _nnz(self) -> int:
        return self._v.shape[0]

    def is_coalesced(self) -> bool:
        """Whether the places are in order, each once."""
        return self._coalesced

    def _indices(self) -> Tensor:
        return self._at

    def _values(self) -> Tensor:
        return self._v

    def indices(self) -> Tensor:
        """The places of the values, in order and without repetition."""
        self._need_coalesced("indices")
        return self._at

    def values(self) -> Tensor:
        """The values, one for each place."""
        self._need_coalesced("values")
        return self._v

    def _need_coalesced(self, what: str) -> None:
        if not self._coalesced:
            raise RuntimeError(
                f"Cannot get {what} on an uncoalesced tensor, please call .coalesce() first"
            )

    # -- other forms ----------------------------------------------------------------------------

    def _flat(self) -> Tensor:
        """Each place as one number, in the order of rows."""
        at = self._at[0]
        for row, n in zip(self._at[1:], self._size[1:]):
            at = at * n + row
        return at

    def coalesce(self) -> SparseTensor:
        """The same tensor with its places in order, each once."""
        if self._coalesced:
            return self
        places, where = self._flat().unique(return_inverse=True)
        values = self._v.new_zeros((places.numel(), *self._v.shape[1:])).index_add(
            0, where, self._v
        )
        rows = []
        for n in reversed(self._size[1 : self.sparse_dim()]):
            rows.append(places % n)
            places = places.div(n, rounding_mode="floor")
        indices = cat([r.unsqueeze(0) for r in (places, *reversed(rows))])
        return SparseTensor(indices, values, self._size, coalesced=True)

    def to_dense(self, dtype: Any = None) -> Tensor:
        """The tensor with its zeros written out."""
        n = self.sparse_dim()
        flat = self._v.new_zeros((self._size[:n].numel(), *self._size[n:]))
        dense = flat.index_add(0, self._flat(), self._v).reshape(self._size)
        return dense if dtype is None else dense.to(dtype)

    def to_sparse(self, *, layout: Any = None) -> SparseTensor:
        """The tensor itself, or in the layout that is named."""
        return self if layout in (None, sparse_coo) else load_compressed().compress(self, layout)

    def to_sparse_csr(self) -> SparseTensor:
        """The matrix row by row."""
        return self.to_sparse(layout=sparse_csr)

    def to_sparse_csc(self) -> SparseTensor:
        """The matrix column by column."""
        return self.to_sparse(layout=sparse_csc)

    def _with(self, values: Tensor) -> SparseTensor:
        return SparseTensor(self._at, values, self._size, self._coalesced)

    def to(self, *args: Any, **kwargs: Any) -> SparseTensor:
        """On another device, or with values of another dtype."""
        values = self._v.to(*args, **kwargs)
        return SparseTensor(self._at.to(values.device), values, self._size, self._coalesced)

    def cuda(self, device: Any = None) -> SparseTensor:
        """On a GPU."""
        return self.to("cuda" if device is None else device)

    def cpu(self) -> SparseTensor:
        """On the CPU."""
        return self.to("cpu")

    def float(self) -> SparseTensor:
        """With values of float32."""
        return self.to(dtypes.float32)

    def double(self) -> SparseTensor:
        """With values of float64."""
        return self.to(dtypes.float64)

    def detach(self) -> SparseTensor:
        """Without a history of gradients."""
        return self._with(self._v.detach())

    def clone(self) -> SparseTensor:
        """With values of its own."""
        return SparseTensor(self._at.clone(), self._v.clone(), self._size, self._coalesced)

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Record gradients of the values, or no longer."""
        self._v.requires_grad_(requires_grad)
        return self

    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        """Two sparse dims exchanged."""
        dims = list(range(self.sparse_dim()))
        dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
        size = list(self._size)
        size[dim0], size[dim1] = size[dim1], size[dim0]
        return SparseTensor(self._at[dims], self._v, size)

    def t(self) -> SparseTensor:
        """The transposed matrix."""
        return self.transpose(0, 1)

    T = property(t)

    # -- arithmetic -----------------------------------------------------------------------------

    def matmul(self, other: Any) -> Tensor:
        """The product with a dense matrix or vector."""
        if isinstance(other, SparseTensor):
            return self.matmul(other.to_dense())
        if self.dim() != 2 or self.sparse_dim() != 2 or other.dim() not in (1, 2):
            raise RuntimeError(
                "sparse matmul: expected a sparse matrix and a dense matrix or vector, but got "
                f"{self.dim()}D and {other.dim()}D"
            )
        if self._size[1] != other.shape[0]:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({self._size[0]}x{self._size[1]} and "
                f"{'x'.join(map(str, other.shape))})"
            )
        rows, columns = self._at[0], self._at[1]
        picked = other.index_select(0, columns)
        weights = self._v if other.dim() == 1 else self._v.unsqueeze(1)
        shape = (self._size[0], *other.shape[1:])
        return other.new_zeros(shape).index_add(0, rows, weights * picked)

    mm = spmm = __matmul__ = matmul

    def __rmatmul__(self, other: Tensor) -> Tensor:
        if other.dim() == 1:
            return self.t().matmul(other)
        return self.t().matmul(other.t()).t()

    def mul(self, other: Any) -> Any:
        """The product with a number, or place by place."""
        if isinstance(other, SparseTensor):
            return (self.to_dense() * other.to_dense()).to_sparse()
        if isinstance(other, Tensor) and other.dim():
            one = self.coalesce()
            return one._with(one._v * other.expand(self._size)[tuple(one._at)])
        return self._with(self._v * other)

    __mul__ = __rmul__ = mul

    def div(self, other: Any) -> SparseTensor:
        """Every value divided by a number."""
        return self._with(self._v / other)

    __truediv__ = div

    def __neg__(self) -> SparseTensor:
        return self._with(-self._v)

    def add(self, other: Any) -> Any:
        """The sum: sparse with sparse, dense with dense."""
        if isinstance(other, SparseTensor):
            if self._size != other._size:
                raise RuntimeError(
                    f"add: expected 'self' and 'other' to have same size, but {tuple(self._size)} != "
                    f"{tuple(other._size)}"
                )
            indices = cat([self._at, other._at], 1)
            return SparseTensor(indices, cat([self._v, other._v]), self._size)
        return self.to_dense() + other

    __add__ = __radd__ = add

    def __sub__(self, other: Any) -> Any:
        return self.add(-other)

    def sum(self, dim: Any = None) -> Tensor:
        """The sum of all values, or along `dim`."""
        return self._v.sum() if dim is None else self.to_dense().sum(dim)

    @property
    def _a(self) -> Any:
        raise NotYet(
            "this function is not implemented for sparse tensors; use .to_dense(), or ._values() for the "
            "values alone"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "_repr_")) or not hasattr(Tensor, name):
            raise AttributeError(f"'SparseTensor' object has no attribute '{name}'")
        raise NotYet(
            f"{name} is not implemented for sparse tensors; use .to_dense().{name}, or ._values() "
            "for the values alone"
        )

    def __repr__(self) -> str:
        indices = str(self._at.detach()).replace("\n", "\n" + " " * 15)
        values = str(self._v.detach()).replace(f", dtype={self.dtype})", ")")
        values = values.replace("\n", "\n" + " " * 14)
        dtype = (
            ""
            if self.dtype in (dtypes.get_default_dtype(), dtypes.int64)
            else f", dtype={self.dtype}"
        )
        grad = ", requires_grad=True" if self.requires_grad else ""
        return (
            f"tensor(indices={indices},\n       values={values},\n       size={tuple(self._size)}, "
            f"nnz={self._nnz()}{dtype}, layout={settings.module}.sparse_coo{grad})"
        )


@public("torch")
def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: Any = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:
    """A sparse tensor: only the elements that are not zero, with their places.

    Args:
        indices: (dimensions, elements), the place of every element.
        values: the elements; the first dimension runs over them.
        size: the shape; the smallest that holds the places if not given.
        check_invariants: for PyTorch's signature; places are always checked.
        is_coalesced: the places are in order and none occurs twice.

    Raises:
        RuntimeError: if places and values do not fit, or a place is outside of `size`.

    Example:
        >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    if values is None:
        size = indices
        indices = empty((len(size), 0), dtype=dtypes.int64)
        values = empty((0,), dtype=dtype)
    at = (indices if isinstance(indices, Tensor) else tensor(indices)).to(dtypes.int64)
    v = values if isinstance(values, Tensor) else tensor(values)
    if dtype is not None or device is not None:
        v = v.to(device=v.device if device is None else device, dtype=dtype or v.dtype)
    at = at.to(v.device)
    if at.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(at.shape)}")
    if at.shape[1] != v.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {at.shape[1]}, nnz from "
            f"values: {v.shape[0]}"
        )
    size = _checked_size(at, v, size)
    made = SparseTensor(at, v, size, bool(is_coalesced))
    return made.requires_grad_() if requires_grad else made


def _checked_size(at: Tensor, v: Tensor, size: Any) -> tuple[int, ...]:
    top = [int(n) + 1 for n in at.max(1).values.tolist()] if at.shape[1] else [0] * at.shape[0]
    if size is None:
        return (*top, *v.shape[1:])
    size = tuple(size)
    if len(size) != at.shape[0] + v.dim() - 1:
        raise RuntimeError(
            "number of dimensions must be sparse_dim "
            f"({at.shape[0]}) + dense_dim ({v.dim() - 1}), but got {len(size)}"
        )
    for dim, (n, m) in enumerate(zip(top, size)):
        if n > m:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {m} but found index {n - 1}"
            )
    if at.numel() and int(at.min()) < 0:
        raise RuntimeError(f"found negative index {int(at.min())}")
    return size


@public("Tensor")
def to_sparse(self: Tensor, sparse_dim: int | None = None, *, layout: Any = None) -> SparseTensor:
    """The elements that are not zero, with their places, as a sparse tensor.

    Args:
        sparse_dim: how many leading dimensions are sparse; all of them if not given.
        layout: `torch.sparse_csr` or `torch.sparse_csc` for a compressed matrix.

    Example:
        >>> torch.tensor([[0.0, 5.0], [0.0, 0.0]]).to_sparse().values()
        tensor([5.])
    """
    if sparse_dim not in (None, self.dim()):
        raise NotYet("to_sparse: only with all dims sparse; use sparse_coo_tensor for the rest")
    at = self.detach().nonzero()
    made = SparseTensor(at.t(), self[tuple(at.unbind(1))], self.shape, coalesced=True)
    return made.to_sparse(layout=layout)


@public("Tensor")
def to_dense(self: Tensor, dtype: Any = None) -> Tensor:
    """The tensor with all its elements stored: itself, if it is not sparse.

    Example:
        >>> torch.tensor([0.0, 5.0]).to_dense()
        tensor([0., 5.])
    """
    return self if dtype is None else self.to(dtype)


@public("torch")
def spmm(input: Any, mat2: Tensor) -> Tensor:
    """As `torch.sparse.mm`.

    Args:
        mat2: the dense matrix.
    """
    return input.matmul(mat2) if isinstance(input, SparseTensor) else input.mm(mat2)


publish("torch", "dsmm", spmm)
