"""Reductions that look at bits: what is not zero (any, all, count_nonzero), and a hash of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule, Shaped
from ...base.dtypes import title
from ...base.shapes import wrap_dims
from ...core.op import Op
from ...core.public import into, into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.guards import unsupported
from ..made_of.spelling import numpy_names
from .extremes import check_filled
from .sums import Dims, result_shape

# -- any and all --------------------------------------------------------------------------------


def _truth(x: Array) -> Any:
    return x if x.dtype.kind == "b" else x != 0


def _bool_meta(x: Shaped, *, dim: Dims, keepdim: bool) -> tuple:
    dtype = x.dtype if x.dtype == np.uint8 else np.dtype(bool)
    return result_shape(x.shape, dim, keepdim), dtype


def _truth_op(name: str, **facts: Any) -> Op:
    """`any` or `all` as an op."""

    def body(xp: ArrayModule, x: Array, *, dim: Dims, keepdim: bool) -> Any:
        out = x != 0 if dim == () else getattr(xp, name)(_truth(x), axis=dim, keepdims=keepdim)
        return out.astype(x.dtype) if x.dtype == xp.uint8 else out

    told = Facts(vmap="reduction", layout="plain", onnx="truth", **facts)
    return Op(body, name, meta=_bool_meta, facts=told)


def _truth_dims(x: Tensor, dim: Any) -> Dims:
    # PyTorch reduces nothing for an empty tuple here, unlike sum, which reduces all.
    return () if isinstance(dim, (tuple, list)) and not dim else wrap_dims(dim, x._a.ndim)


def _truth_into(out: Any, result: Tensor) -> Tensor:
    """`out=` of truth values is bool, or bytes of 0 and 1."""
    return (into if out is not None and out._a.dtype == np.uint8 else into_same)(out, result)


def _truth_function(op: Op, what: str, example: str) -> None:
    """`any` or `all` as a function."""

    def truth(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Tensor:
        return _truth_into(out, op(input, dim=_truth_dims(input, dim), keepdim=keepdim))

    truth.__name__ = truth.__qualname__ = op.name
    truth.__doc__ = f"""{what} true (not zero).

    Args:
        dim: one dimension or several; all of them if not given.
        keepdim: keep these dimensions with size 1.

    Example:
        {example}
    """
    public()(numpy_names(truth))


_truth_function(
    _truth_op("any", sparse="any"), "Whether at least one element, or one along dimensions, is",
    """>>> torch.tensor([[True, False], [False, False]]).any(1)
        tensor([ True, False])""",
)  # fmt: skip
_truth_function(
    _truth_op("all"), "Whether all elements, or all along dimensions, are",
    """>>> x = torch.tensor([[True, False], [True, True]])
        >>> x.all(), x.all(1)
        (tensor(False), tensor([False,  True]))""",
)  # fmt: skip


# -- count_nonzero -----------------------------------------------------------------------------


def _count_nonzero_body(xp: ArrayModule, x: Array, *, dim: Dims) -> Any:
    return xp.add.reduce(x != 0, axis=dim, dtype=xp.int64)


_count_nonzero = Op(
    _count_nonzero_body,
    "count_nonzero",
    meta=lambda x, *, dim: (result_shape(x.shape, dim, False), np.dtype(np.int64)),
    facts=Facts(vmap="reduction", layout="plain"),
)


@public()
@numpy_names
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many elements are not zero.

    Example:
        >>> torch.tensor([[0, 1], [2, 3]]).count_nonzero(0)
        tensor([1, 2])
    """
    return _count_nonzero(input, dim=wrap_dims(dim, input._a.ndim))


# -- hash_tensor -------------------------------------------------------------------------------


def _hash_body(xp: ArrayModule, x: Array, *, dim: Dims, keepdim: bool) -> Any:
    bits = x.astype(xp.int64 if x.dtype.kind in "biu" else xp.float64).view("uint64")
    for d in range(x.ndim) if dim is None else dim:
        rows = xp.moveaxis(bits, d, 0)
        while len(rows) > 1:  # by halves: arrays of a GPU have no reduction of bits
            half = len(rows) // 2
            pairs = rows[:half] ^ rows[half : 2 * half]
            pairs[:1] ^= rows[2 * half :] if len(rows) % 2 else 0
            rows = pairs
        bits = xp.moveaxis(rows, 0, d)
    return bits.reshape(result_shape(x.shape, dim, keepdim))


_hash = Op(
    _hash_body,
    "hash_tensor",
    meta=lambda x, *, dim, keepdim: (result_shape(x.shape, dim, keepdim), np.dtype(np.uint64)),
    facts=Facts(vmap="reduction", layout="plain"),
)


@public()
@numpy_names
def hash_tensor(input: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0, out: Any = None) -> Tensor:
    """One number for all elements, or for those along dimensions: the exclusive or of their bits.

    Args:
        input: numbers, taken as float64 or int64.
        mode: 0, the only way to hash.

    Example:
        >>> torch.hash_tensor(torch.tensor([[1, 2], [7, 7]]), 1)
        tensor([3, 0], dtype=torch.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    kind, size = input._a.dtype.kind, input._a.dtype.itemsize
    if kind == "c" or (kind == "u" and size > 1):
        raise unsupported("xor_sum_cpu", input.dtype)
    dims = wrap_dims(dim, input._a.ndim)
    check_filled(input, dims, "hash_tensor")
    if out is not None and out._a.dtype != np.uint64:
        raise RuntimeError(f"Expected result to be of dtype uint64, but got {title(out.dtype)}")
    return into(out, _hash(input, dim=dims, keepdim=keepdim))
