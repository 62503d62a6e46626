"""`torch.sparse`: functions of sparse tensors in coordinate form."""

from __future__ import annotations

from contextlib import ContextDecorator as _ContextDecorator
from typing import Any

from .base import dtypes as _dtypes
from .base.config import settings as _settings
from .base.formats import sparse_csr
from .core.tensor import Tensor
from .operators.index.scatter_reduce import SUMS_AND_EXTREMES
from .operators.matrix.sparse import SparseTensor, sparse_coo_tensor, spmm
from .operators.matrix.sparse_kernels import summed
from .operators.shape.join import stack

__all__ = ["SparseTensor", "addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "softmax", "spdiags", "sum"]


class check_sparse_tensor_invariants(_ContextDecorator):  # noqa: N801 - PyTorch's name
    """A switch, block or decorator that asks for the checks of new sparse tensors, which are always made here.

    Args:
        enable: what it says from then on, or inside of the block.

    Example:
        >>> with torch.sparse.check_sparse_tensor_invariants():
        ...     torch.sparse.check_sparse_tensor_invariants.is_enabled()
        True
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether the checks are asked for."""
        return _settings.sparse_invariants

    @staticmethod
    def enable() -> None:
        """Ask for the checks."""
        _settings.sparse_invariants = True

    @staticmethod
    def disable() -> None:
        """Ask for no checks."""
        _settings.sparse_invariants = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager instance for context nesting."
            )
        self.saved_state, _settings.sparse_invariants = _settings.sparse_invariants, self.state

    def __exit__(self, *_: object) -> None:
        assert self.saved_state is not None
        _settings.sparse_invariants, self.saved_state = self.saved_state, None


def mm(mat1: Any, mat2: Any, reduce: str | None = None) -> Tensor:
    """The product of a sparse matrix with a dense one, or with a sparse one.

    Args:
        mat1: sparse, (n, m); with `reduce` in compressed rows.
        mat2: (m, p).
        reduce: what becomes of the products that would be added: "sum", "mean", "amax" (or "max") or "amin" (or "min"); rows without values are 0.

    Example:
        >>> a = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
        >>> torch.sparse.mm(a, torch.ones(2, 2))
        tensor([[2., 2.],
                [3., 3.]])
    """
    return spmm(mat1, mat2) if reduce is None else _reduced(mat1, mat2, reduce)


def _reduced(csr: Any, dense: Tensor, reduce: str) -> Tensor:
    if getattr(csr, "layout", None) is not sparse_csr:
        raise NotImplementedError(
            "Could not run 'aten::_sparse_mm_reduce_impl' with these arguments: mat1 must be a matrix in compressed rows "
            "(.to_sparse_csr())"
        )
    if isinstance(dense, SparseTensor):
        raise RuntimeError(
            "Expected tensor to have Strided Layout, but got tensor with SparseCsr Layout (while checking arguments "
            "for sparse_mm_reduce)"
        )
    reduce = {"min": "amin", "max": "amax"}.get(reduce, reduce)
    if reduce not in SUMS_AND_EXTREMES:
        raise RuntimeError(f"sparse_mm_reduce: reduce type of {reduce} has not been enabled.")
    if csr.shape[1] != dense.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({csr.shape[0]}x{csr.shape[1]} and "
            f"{dense.shape[0]}x{dense.shape[1]})"
        )
    rows, columns = csr._at
    products = csr.values().unsqueeze(1) * dense.index_select(0, columns)
    places = rows.unsqueeze(1).expand(products.shape)
    zeros = products.new_zeros((csr.shape[0], dense.shape[1]))
    return zeros.scatter_reduce(0, places, products, reduce, include_self=False)


def addmm(mat: Tensor, mat1: Any, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """beta * mat + alpha * (mat1 @ mat2).

    Args:
        mat: dense, (n, p).
        mat1: sparse, (n, m).
        mat2: dense, (m, p).
        beta, alpha: factors.

    Example:
        >>> a = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
        >>> torch.sparse.addmm(torch.ones(2, 2), a, torch.ones(2, 2))
        tensor([[3., 3.],
                [4., 4.]])
    """
    return beta * mat + alpha * spmm(mat1, mat2)


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of the values; along dims it is sparse, unless all sparse dims are summed over.

    Args:
        input: a sparse tensor.
        dim: one dimension or several; all if not given.
        dtype: that of the result.

    Example:
        >>> a = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
        >>> torch.sparse.sum(a), torch.sparse.sum(a, 0).to_dense()
        (tensor(5.), tensor([3., 2.]))
    """
    return summed(input if dtype is None else input.to(dtype), dim)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> SparseTensor:
    """Softmax over the values that are there; what is not listed counts as minus infinity.

    Args:
        input: a sparse tensor.
        dim: along which values sum to 1.

    Example:
        >>> a = torch.sparse_coo_tensor([[0, 0, 1], [0, 1, 0]], [1.0, 1.0, 5.0], (2, 2))
        >>> torch.sparse.softmax(a, 1).to_dense()
        tensor([[0.5000, 0.5000],
                [1.0000, 0.0000]])
    """
    return _over_listed(input if dtype is None else input.to(dtype), dim, "softmax")


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> SparseTensor:
    """As `softmax`: its logarithm."""
    return _over_listed(input if dtype is None else input.to(dtype), dim, "log_softmax")


def _over_listed(input: Any, dim: int, name: str) -> SparseTensor:
    one = input.coalesce()
    at = tuple(one.indices())
    full = one.values().new_full(one.shape, float("-inf")).index_put(at, one.values())
    return one._with(getattr(full, name)(dim)[at])


def _typed(name: str, dtype: Any) -> Any:
    def make(*args: Any) -> SparseTensor:
        if len(args) > 1:
            return sparse_coo_tensor(*args, dtype=dtype)
        return sparse_coo_tensor(args[0], dtype=dtype)

    make.__name__ = name
    make.__doc__ = f"""The older spelling of `sparse_coo_tensor(..., dtype={dtype.name})`.

    Args:
        args: indices, values and the size; or a size alone.

    Example:
        >>> a = torch.sparse.{name}(torch.tensor([[0, 1]]), torch.tensor([2, 3]), (3,))
        >>> a.to_dense().tolist()
        {[dtype.np.type(v).item() for v in (2, 3, 0)]}
    """
    return make


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> SparseTensor:
    """A sparse matrix from its diagonals: row k of `diagonals`, by column, on the diagonal `offsets[k]`.

    Args:
        diagonals: one row for each diagonal.
        offsets: how far each is above the main diagonal; below it is negative.
        shape: rows and columns of the matrix.
        layout: `torch.sparse_csr` or `torch.sparse_csc` for a compressed matrix.

    Example:
        >>> torch.sparse.spdiags(torch.ones(1, 2), torch.tensor([1]), (2, 2)).to_dense()
        tensor([[0., 1.],
                [0., 0.]])
    """
    diagonals = diagonals.reshape(1, -1) if diagonals.dim() < 2 else diagonals
    offsets = offsets.reshape(-1)
    if offsets.numel() != diagonals.shape[0]:
        raise RuntimeError(
            f"spdiags(): Number of diagonals ({diagonals.shape[0]}) does not match the number of offsets "
            f"({offsets.numel()})"
        )
    if len(set(offsets.tolist())) != offsets.numel():
        raise RuntimeError("spdiags(): Offset tensor contains duplicate values")
    columns = offsets.new_tensor(range(diagonals.shape[1])).expand(diagonals.shape)
    rows = columns - offsets.unsqueeze(1)
    inside = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    places = stack([rows[inside], columns[inside]])
    return sparse_coo_tensor(places, diagonals[inside], shape).to_sparse(layout=layout)


FloatTensor = _typed("FloatTensor", _dtypes.float32)
DoubleTensor = _typed("DoubleTensor", _dtypes.float64)
HalfTensor = _typed("HalfTensor", _dtypes.float16)
LongTensor = _typed("LongTensor", _dtypes.int64)
