"""`torch.sparse`: functions of sparse tensors in coordinate form."""

from __future__ import annotations

from typing import Any

from .base import dtypes as _dtypes
from .core.tensor import Tensor
from .operators.matrix.sparse import SparseTensor, sparse_coo_tensor, spmm

__all__ = ["SparseTensor", "addmm", "log_softmax", "mm", "softmax", "sum"]


def mm(mat1: Any, mat2: Any) -> Tensor:
    """The product of a sparse matrix with a dense one."""
    return spmm(mat1, mat2)


def addmm(mat: Tensor, mat1: Any, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """beta * mat + alpha * (mat1 @ mat2)."""
    return beta * mat + alpha * spmm(mat1, mat2)


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of the values; along dims it is sparse, unless all sparse dims are summed over."""
    input = input if dtype is None else input.to(dtype)
    if dim is None:
        return input.sum()
    dims = {d % input.ndim for d in ([dim] if isinstance(dim, int) else dim)}
    one = input.coalesce()
    listed = one.sparse_dim()
    values = one.values()
    inner = sorted([d - listed + 1 for d in dims if d >= listed])
    values = values.sum(inner) if inner else values
    left = [d for d in range(listed) if d not in dims]
    if not left:
        return values.sum(0)
    size = [n for d, n in enumerate(one.shape) if d not in dims]
    return sparse_coo_tensor(one.indices()[left], values, size)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> SparseTensor:
    """Softmax over the values that are there; what is not listed counts as minus infinity."""
    return _over_listed(input, dim, "softmax")


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> SparseTensor:
    """The logarithm of `softmax`, over the values that are there."""
    return _over_listed(input, dim, "log_softmax")


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
    make.__doc__ = f"The older spelling of `sparse_coo_tensor(..., dtype={dtype.name})`."
    return make


FloatTensor = _typed("FloatTensor", _dtypes.float32)
DoubleTensor = _typed("DoubleTensor", _dtypes.float64)
LongTensor = _typed("LongTensor", _dtypes.int64)
