"""Embeddings: rows of a table looked up by index, the op, its derivative and the checks that go before it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import int64
from ...base.shapes import whole
from ...core.inplace import change
from ...core.modes import no_grad
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.facts import Facts, Rows
from ..made_of.precision import in_float32


def _embedding_body(xp: ArrayModule, weight: Array, indices: Array, *, padding_idx: int, scale_by_freq: bool) -> Any:
    # On a GPU an index wraps around: a check would have to wait for the device.
    if xp is np and indices.size:
        if int(indices.min()) < 0 or int(indices.max()) >= weight.shape[0]:
            raise IndexError("index out of range in self")
    return xp.take(weight, indices, axis=0)


@in_float32
def _embedding_grad_body(
    xp: ArrayModule, gy: Array, indices: Array, *, rows: int, padding_idx: int, scale_by_freq: bool
) -> Any:
    flat = indices.reshape(-1)
    width = gy.shape[indices.ndim :]
    g = gy.reshape((flat.size, *width))
    if scale_by_freq:
        counts = xp.bincount(flat, minlength=rows).astype(gy.dtype)
        g = g / counts[flat].reshape((flat.size,) + (1,) * len(width))
    out = xp.zeros((rows, *width), gy.dtype)
    if xp is np and flat.size:  # sums of sorted segments: ten times quicker than NumPy's add.at
        order = flat.argsort(kind="stable")
        sorted_rows = flat[order]
        starts = np.flatnonzero(np.r_[True, sorted_rows[1:] != sorted_rows[:-1]])
        out[sorted_rows[starts]] = np.add.reduceat(g[order], starts, axis=0)
    elif flat.size:
        xp.add.at(out, flat, g)
    if padding_idx >= 0:
        out[padding_idx] = 0
    return out


embedding_op = Op(
    _embedding_body,
    "embedding",
    meta=lambda weight, indices, **_: (indices.shape + weight.shape[1:], weight.dtype),
    facts=Facts(positions=Rows(), vmap="embedding", onnx="embedding", aten="embedding ordered padding_idx"),
)
embedding_grad = Op(
    _embedding_grad_body,
    "embedding_grad",
    meta=lambda gy, indices, *, rows, **_: ((rows, *gy.shape[indices.ndim :]), gy.dtype),
    facts=Facts(refuses="checked", aten="embedding_dense_backward"),
)
embedding_op.derivative(
    weight=lambda g, indices, weight_shape, padding_idx, scale_by_freq: embedding_grad(
        g, indices, rows=weight_shape[0], padding_idx=padding_idx, scale_by_freq=scale_by_freq
    )
)


# The same lookup for a table whose gradient is sparse.
embedding_sparse = Op(_embedding_body, "embedding_sparse", grad_name="EmbeddingBackward0", kernel=embedding_op.kernel)


def _sparse_gradient(
    g: Tensor, indices: Tensor, weight_shape: tuple[int, ...], padding_idx: int, scale_by_freq: bool
) -> Tensor:
    """The rows of `g` as they came, each at the index that looked it up."""
    if scale_by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    places = indices.reshape(-1).to(int64)
    rows = g.reshape((places._a.size, *weight_shape[1:]))
    if padding_idx >= 0:
        counts = places.ne(padding_idx)
        places, rows = places[counts], rows[counts]
    made = import_module("..matrix.sparse", __package__)  # loaded by programs that use it
    return made.SparseTensor(places.unsqueeze(0), rows, weight_shape)


embedding_sparse.derivative(weight=_sparse_gradient)


def _embedding_grad_gy(g: Tensor, indices: Tensor, rows: int, padding_idx: int, scale_by_freq: bool) -> Tensor:
    if scale_by_freq:
        counts = indices.reshape(-1).bincount(minlength=rows).to(g.dtype).clamp(min=1)
        g = g / counts.reshape((rows,) + (1,) * (g.ndim - 1))
    if padding_idx >= 0:
        g = g.clone()
        g[padding_idx] = 0
    return embedding_op(g, indices, padding_idx=padding_idx, scale_by_freq=scale_by_freq)


embedding_grad.derivative(gy=_embedding_grad_gy)


def padding_row(padding_idx: int | None, rows: int) -> int:
    """The padding row as a non-negative index; -1 for none."""
    if padding_idx is None:
        return -1
    if whole(padding_idx, "padding_idx") >= max(rows, 1):
        raise AssertionError("Padding_idx must be within num_embeddings")
    if padding_idx < 0:
        if padding_idx < -rows:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx += rows
    return padding_idx


def check_indices(indices: Any, function: str) -> None:
    if not isinstance(indices, Tensor):
        raise TypeError(f"{function}(): argument 'indices' (position 2) must be Tensor, not {type(indices).__name__}")
    kind = indices._a.dtype
    if kind.kind != "i" or kind.itemsize < 4:  # a dtype's name costs 3 us to ask for
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {indices.dtype} instead (while checking arguments for {function})"
        )


def renorm_rows(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows about to be looked up, in place, so that no norm exceeds `max_norm`."""

    def renormed(w: Tensor) -> Tensor:
        rows = indices.detach().reshape(-1).unique()
        picked = w[rows]
        norms = picked.norm(p=norm_type, dim=tuple(range(1, w.ndim)), keepdim=True)
        scale = (max_norm / (norms + 1e-7)).masked_fill((norms > max_norm).logical_not(), 1.0)
        out = w.clone()
        out[rows] = picked * scale
        return out

    with no_grad():
        change(weight, renormed)


# -- the functions ------------------------------------------------------------------------------


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
    """As `nn.Embedding`, with its table `weight` (rows, width); only a call with `max_norm` changes that."""
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
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """As `nn.functional.embedding`, with the table first."""
    padding = None if padding_idx == -1 else padding_idx
    return embedding(indices, weight, padding, None, 2.0, scale_grad_by_freq, sparse)
