"""Masks and reductions of sparse tensors: over their entries, since what a mask leaves out has none."""

from __future__ import annotations

from typing import Any

from ..base import dtypes
from ..base.formats import sparse_coo, sparse_csr, strided
from ..core.public import NAMESPACES
from ..operators.matrix.compressed import compress
from ..operators.matrix.sparse import SparseTensor

_NEEDS_MASK = ("prod", "amax", "amin", "mean")
_HALVES = (dtypes.float16, dtypes.bfloat16)


def as_input(mask: Any, input: Any) -> Any:
    """The mask in the shape and the layout of the input."""
    if input.layout not in (strided, sparse_coo, sparse_csr):
        raise ValueError(f"_input_mask expects strided or sparse COO or sparse CSR tensor but got {input.layout}")
    layout = mask.layout
    if mask.shape != input.shape:
        if mask.ndim > input.ndim:
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
            )
        mask = (mask.clone() if layout is strided else mask.to_dense()).broadcast_to(input.shape)
    if input.layout is strided:
        mask = mask.to_dense()
    elif input.layout is sparse_csr:
        mask = mask.to_sparse_csr()
    else:
        mask = (mask.to_sparse(input.sparse_dim()) if mask.layout is strided else mask.to_sparse()).coalesce()
    return mask.to(dtypes.bool_)


def where(mask: Any, input: Any, fill: Any) -> Any:
    """An entry for each that the mask lets through: the input's, 0 where it has none."""
    if mask.layout is strided:
        return NAMESPACES["torch"]["where"](mask, input, fill)
    if mask.layout is sparse_csr:
        return compress(where(mask.to_sparse(), input.to_sparse(), fill), sparse_csr)
    input = input.coalesce()
    inside = mask._v.flatten(1).any(1) if mask.dense_dim() else mask._v
    kept = inside.nonzero().squeeze(1)
    at, among = mask._at.index_select(1, kept), mask._v.index_select(0, kept)
    known, wanted = input._flat(), mask._flat().index_select(0, kept)
    values = input._v.new_zeros(among.shape)
    if known.numel():
        place = NAMESPACES["torch"]["searchsorted"](known, wanted).clamp(max=known.numel() - 1)
        there = known.index_select(0, place).eq(wanted).reshape(-1, *[1] * mask.dense_dim())
        found = input._v.index_select(0, place)
        if mask.dense_dim():
            found = NAMESPACES["torch"]["where"](among, found, fill)
        values = NAMESPACES["torch"]["where"](there, found, values)
    return SparseTensor(at, values, input.shape, coalesced=True)


def reduced(name: str, x: Any, dims: tuple[int, ...], keepdim: bool, dtype: Any, mask: Any, neutral: Any) -> Any:
    """A reduction over the entries of a tensor that a mask has gone over."""
    if x.layout not in (sparse_coo, sparse_csr) or (name == "mean" and x.layout is sparse_coo):
        kinds = "strided or sparse_csr" if name == "mean" else "strided, sparse_coo or sparse_csr"
        raise ValueError(f"masked {name} expects {kinds} tensor (got {x.layout} tensor)")
    if mask is None and name in _NEEDS_MASK:
        raise ValueError(f"masked {name} expects explicit mask for {x.layout.name} tensor input")
    values = x._v.to(dtype)
    coordinates = SparseTensor(x._at, values.float() if dtype in _HALVES else values, x.shape)
    if x.layout is sparse_coo:
        found = _coordinates(name, coordinates, dims, keepdim, neutral)
    else:
        found = _rows(name, coordinates, dims, keepdim)
    return found if found.dtype is dtype else found.to(dtype)


def _coordinates(name: str, x: SparseTensor, dims: tuple[int, ...], keepdim: bool, neutral: Any) -> Any:
    listed, values = x.sparse_dim(), x._v
    for d in reversed([d for d in dims if listed <= d < x.dim()]):
        values = getattr(values, name)(d - listed + 1, keepdim)
    left = [d for d in range(listed) if d not in dims]
    if not left:
        single = getattr(values, name)(0) if len(values) or neutral is None else neutral.expand(values.shape[1:])
        return (single[(None,) * listed] if keepdim else single).to_sparse()
    if keepdim:
        at = x._at * x._at.new_tensor([d not in dims for d in range(listed)]).unsqueeze(1)
    else:
        at = x._at[left]
    size = [1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims]
    if len(values):
        at, group = at.unique(dim=1, return_inverse=True)
        group = group.reshape(-1, *[1] * (values.ndim - 1)).expand(values.shape)
        one = values.new_zeros((at.shape[1], *values.shape[1:]))
        values = one.scatter_reduce(0, group, values, name, include_self=False)
    return SparseTensor(at, values, size, coalesced=True)


def _rows(name: str, x: SparseTensor, dims: tuple[int, ...], keepdim: bool) -> Any:
    """The same for a matrix in compressed form, which keeps its two dims."""
    if not keepdim:
        kind = RuntimeError if name in ("sum", "prod") else AssertionError
        raise kind("reduction operations on CSR tensors with keepdim=False is unsupported")
    if name == "mean":
        total, count = (_rows("sum", one, dims, True) for one in (x, x._with(NAMESPACES["torch"]["ones_like"](x._v))))
        return total._with(total._v / count._v)
    if len(dims) == 1:
        return compress(_coordinates(name, x, dims, True, None), sparse_csr)
    any_of = min(1, x._nnz())
    values = getattr(x._v, name)(0, keepdim=True) if any_of else x._v
    return compress(SparseTensor(x._at[:, :any_of] * 0, values, (1, any_of), coalesced=True), sparse_csr)
