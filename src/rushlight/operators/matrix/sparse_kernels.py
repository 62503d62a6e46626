"""What ops, and operations in place, do where one of their arguments is a sparse tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import ArrayModule
from ...base.formats import sparse_coo
from ...core.inplace import check_writable
from ...core.op import OPS, Op
from ...core.tensor import Tensor, wrap
from ...runtime.door import Kernel, run
from ...runtime.sparse_array import refused, sparse
from ...runtime.thread import GRAD, TAPE, here
from ..shape.join import cat
from .sparse import SparseTensor

# -- sums ------------------------------------------------------------------------------------------


def _plus(x: Any, y: Any) -> Any:
    """x + y: sparse with sparse, dense where the first is dense."""
    if not isinstance(y, SparseTensor):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if isinstance(x, SparseTensor):
        return add_sparse(x, y)
    if not isinstance(x, Tensor) or not x.dim():
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    _check_sizes(x, y)
    return x.index_put(tuple(y._at), y._v, accumulate=True)


def _check_sizes(x: Tensor, y: Tensor) -> None:
    if x.shape != y.shape:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(x.shape)} "
            f"while other has size {list(y.shape)} (FYI: dense-sparse addition does not currently "
            "support broadcasting)"
        )


def add_sparse(x: SparseTensor, y: SparseTensor) -> SparseTensor:
    """x + y. The CPU goes along both once and joins places that meet, as PyTorch does; else all are kept."""
    if x.shape != y.shape:
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(x.shape)} != {list(y.shape)}"
        )
    if x.sparse_dim() != y.sparse_dim():
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same density, but 'self' has "
            f"{x.sparse_dim()} sparse dimensions while 'other' has {y.sparse_dim()} sparse dimensions"
        )
    if not y._nnz():
        return x.clone()
    if not x._nnz():
        return y.clone()
    if x.is_cpu and x._v.is_contiguous() and y._v.is_contiguous():
        return _merged(x, y)
    both = SparseTensor(cat([x._at, y._at], 1), cat([x._v, y._v]), x.shape)
    return both.coalesce()._coalesced_(False) if both._nnz() > both.numel() else both


def _merged(x: SparseTensor, y: SparseTensor) -> SparseTensor:
    found = run(_MEETING, np.ndarray, (x._flat()._a, y._flat()._a), {})
    n = int(max([where[-1] for where in found])) + 1
    indices = x._at.new_zeros((x.sparse_dim(), n))
    values = x._v.new_zeros((n, *x._v.shape[1:]))
    for one, where in zip((x, y), map(wrap, found)):
        indices.index_copy_(1, where, one._at)
        values = values.index_add(0, where, one._v)
    return SparseTensor(indices, values, x.shape, x._coalesced and y._coalesced)


def _meeting(xp: ArrayModule, a: Any, b: Any) -> tuple[Any, Any]:
    """Where the elements of two lists go when the smaller of their heads is taken, equal ones together."""
    if (a[1:] > a[:-1]).all() and (b[1:] > b[:-1]).all():
        _, where = np.unique(np.concatenate([a, b]), return_inverse=True)
        return where[: a.size], where[a.size :]
    left, right = a.tolist(), b.tolist()
    wfounda, wfoundb = [0] * len(left), [0] * len(right)
    i = j = n = 0
    while i < len(left) and j < len(right):
        p, q = left[i], right[j]
        if p <= q:
            wfounda[i] = n
            i += 1
        if q <= p:
            wfoundb[j] = n
            j += 1
        n += 1
    for rest, start in ((wfounda, i), (wfoundb, j)):
        count = len(rest) - start
        rest[start:] = range(n, n + count)
        n += count
    return np.asarray(wfounda, np.int64), np.asarray(wfoundb, np.int64)


_MEETING = Kernel("sparse_meeting", _meeting, meta=lambda a, b: [(a.shape, a.dtype), (b.shape, b.dtype)])


def _minus(x: Any, y: Any) -> Any:
    return _plus(x, -y if isinstance(y, SparseTensor) else y)


# -- products --------------------------------------------------------------------------------------


def _times(x: Any, y: Any) -> Any:
    if not isinstance(x, SparseTensor):
        x, y = y, x
    if isinstance(y, SparseTensor):
        return _times_sparse(x, y)
    if isinstance(y, Tensor) and y.dim():
        at = tuple(x._at)
        return x._with(x._v * y.expand(x.shape)[at])
    return x._with(x._v * y)


def _times_sparse(x: SparseTensor, y: SparseTensor) -> SparseTensor:
    """The product of two sparse tensors at the places of the first, where the second has any."""
    if x.shape != y.shape:
        raise RuntimeError(
            f"mul: expected 'self' and 'other' to have same sizes, but {list(x.shape)} != {list(y.shape)}"
        )
    if y._nnz() > x._nnz() and not (x._coalesced and not y._coalesced):
        x, y = y, x
    y = y.coalesce()
    there = x._flat().unsqueeze(1).eq(y._flat()).any(1) if y._nnz() else x._flat().ne(x._flat())
    kept = there.nonzero().squeeze(1)
    at, v = x._at.index_select(1, kept), x._v.index_select(0, kept)
    return SparseTensor(at, v * y.to_dense()[tuple(at)], x.shape, x._coalesced)


def _over(x: Any, y: Any) -> Any:
    if not isinstance(x, SparseTensor):
        raise refused("reciprocal", y.device)
    if isinstance(y, SparseTensor):
        raise RuntimeError("Sparse division requires a dense divisor")
    if isinstance(y, Tensor) and y.dim():
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(y.shape)} for divisor)"
        )
    return x._with(x._v / y)


def _rounded(op: Op) -> Any:
    def divide(x: Any, y: Any) -> Any:
        if not isinstance(x, SparseTensor) or (isinstance(y, Tensor) and y.dim()):
            return _over(x, y)
        one = x.coalesce()
        return one._with(op(one._v, y))

    return divide


def _power(x: Any, y: Any) -> Any:
    if not isinstance(x, SparseTensor) or isinstance(y, Tensor):
        raise refused("pow", x.device)
    if y == 0:
        raise RuntimeError("pow: the 0th power of a sparse tensor is not sparse")
    one = x.coalesce()
    return one._with(one._v**y)


def _product(x: Any, y: Any) -> Any:
    return x.matmul(y) if isinstance(x, SparseTensor) else y.__rmatmul__(x)


def _affine(x: Any, w: Any, b: Tensor | None) -> Any:
    if b is not None and not isinstance(x, SparseTensor):
        raise RuntimeError(
            "addmm_sparse_dense: expected either 'mat1' to have sparse layout and 'mat2' to have strided layout, "
            "got 'mat1' with layout Strided and 'mat2' with layout Sparse"
        )
    y = _product(x, w.t())
    return y if b is None else y + b


# -- one argument ----------------------------------------------------------------------------------


def _of_values(op: Op, coalesces: bool) -> Any:
    def call(x: SparseTensor, *args: Any, **attrs: Any) -> SparseTensor:
        one = x.coalesce() if coalesces else x
        return one._with(op(one._v, *args, **attrs))

    return call


def summed(x: SparseTensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The sum of the values; along dims it is sparse, unless all sparse dims are summed over."""
    if dim is None:
        return x._v.sum()
    dims = {d % x.dim() for d in ([dim] if isinstance(dim, int) else dim)}
    one = x.coalesce()
    listed = one.sparse_dim()
    inner = sorted([d - listed + 1 for d in dims if d >= listed])
    values = one._v.sum(inner) if inner else one._v
    left = [d for d in range(listed) if d not in dims]
    if not left:
        result: Any = values.sum(0)
    else:
        size = [n for d, n in enumerate(one.shape) if d not in dims]
        result = SparseTensor(one._at[left], values, size, len(left) == listed).coalesce()
    if keepdim:
        for d in sorted(dims):
            result = result.unsqueeze(d)
    return result


def _unsqueezed(x: SparseTensor, dim: int) -> SparseTensor:
    dim = dim % (x.dim() + 1)
    size = (*x.shape[:dim], 1, *x.shape[dim:])
    if dim > x.sparse_dim():
        return SparseTensor(x._at, x._v.unsqueeze(dim - x.sparse_dim() + 1), size, x._coalesced)
    row = x._at.new_zeros((1, x._nnz()))
    return SparseTensor(cat([x._at[:dim], row, x._at[dim:]]), x._v, size)


def _selected(x: SparseTensor, window: tuple[Any, ...]) -> Any:
    """One slice; dense where no sparse dim is left."""
    dim, index = len(window) - 1, window[-1]
    if index.__class__ is not int or any(w != (None, None, None) for w in window[:-1]):
        raise refused("as_strided", x.device)
    index = index % x.shape[dim]
    n, size = x.sparse_dim(), (*x.shape[:dim], *x.shape[dim + 1 :])
    if dim >= n:
        return SparseTensor(x._at, x._v.select(dim - n + 1, index), size, x._coalesced)
    found = x._at[dim].eq(index).nonzero().squeeze(1)
    values = x._v.index_select(0, found)
    if n == 1:
        return values.sum(0)
    rest = [d for d in range(n) if d != dim]
    return SparseTensor(x._at[rest].index_select(1, found), values, size, x._coalesced)


def _slices(x: SparseTensor, dim: int) -> tuple[Any, ...]:
    """All slices: what a loop over a sparse matrix sees are its rows."""
    lead = ((None, None, None),) * dim
    return tuple([_selected(x, (*lead, i)) for i in range(x.shape[dim])])


def _picked(x: SparseTensor, index: Tensor, dim: int) -> SparseTensor:
    """Slices by their numbers, each as often as it is named."""
    n, size = x.sparse_dim(), (*x.shape[:dim], index.numel(), *x.shape[dim + 1 :])
    if dim >= n:
        return SparseTensor(x._at, x._v.index_select(dim - n + 1, index), size, x._coalesced)
    pairs = index.reshape(-1, 1).eq(x._at[dim]).nonzero()
    at = x._at.index_select(1, pairs[:, 1])
    at[dim] = pairs[:, 0]
    return SparseTensor(at, x._v.index_select(0, pairs[:, 1]), size)


def _joined(*tensors: Any, dim: int) -> Any:
    """Sparse tensors one behind the other along a sparse dim."""
    first = tensors[0]
    if not all(isinstance(t, SparseTensor) for t in tensors) or dim >= first.sparse_dim():
        raise refused("cat", first.device)
    rows, offset = [], 0
    for t in tensors:
        at = t._at.clone()
        at[dim] += offset
        rows.append(at)
        offset += t.shape[dim]
    size = (*first.shape[:dim], offset, *first.shape[dim + 1 :])
    return SparseTensor(cat(rows, 1), cat([t._v for t in tensors]), size)


# Ways to answer, by the names in ops' records: (op) -> what is called with its inputs and attributes.
_WAYS: dict[str, Any] = {
    "plus": lambda op: _plus, "minus": lambda op: _minus, "times": lambda op: _times, "over": lambda op: _over,
    "power": lambda op: _power, "product": lambda op: _product, "affine": lambda op: _affine, "rounded": _rounded, "summed": lambda op: summed,
    "unsqueezed": lambda op: lambda x, *, dim: _unsqueezed(x, dim), "joined": lambda op: _joined,
    "stacked": lambda op: lambda *tensors, dim: _joined(*[_unsqueezed(t, dim) for t in tensors], dim=dim),
    "selected": lambda op: lambda x, *, index: _selected(x, index),
    "picked": lambda op: lambda x, i, *, dim: _picked(x, i, dim), "slices": lambda op: lambda x, *, dim: _slices(x, dim),
    "summed_to": lambda op: lambda x, *, shape: x.to_dense().sum_to_size(shape),
    "any": lambda op: lambda x, **_: x.coalesce()._v.any(), "turned": lambda op: lambda x: x.t(),
    "zeros": lambda op: lambda x: x.detach().clone().zero_(),
    "transposed": lambda op: lambda x, **dims: x.transpose(*dims.values()), "cloned": lambda op: lambda x, **_: x.clone(),
    "values": lambda op: _of_values(op, True), "values_as_they_are": lambda op: _of_values(op, False),
}  # fmt: skip
# PyTorch's names of ops that are refused, where they are not ours.
_NAMES = {"vector_norm": "linalg_vector_norm"}


def of_op(op: Op, inputs: tuple, attrs: dict[str, Any]) -> Any:
    """The result of an op of which an input is sparse."""
    way = op.kernel.facts.sparse
    if way is None:
        place = next(t.device for t in inputs if isinstance(t, SparseTensor))
        raise refused(_NAMES.get(op.name, op.name), place)
    body = _WAYS[way](op)
    layouts = [t.layout for t in inputs if isinstance(t, SparseTensor)]
    if way in ("turned", "transposed") or all(layout is sparse_coo for layout in layouts):
        return body(*inputs, **attrs)
    layout = next(found for found in layouts if found is not sparse_coo)
    listed = [t.to_sparse() if isinstance(t, SparseTensor) else t for t in inputs]
    result = body(*listed, **attrs)
    return result.to_sparse(layout=layout) if isinstance(result, SparseTensor) else result


# -- in place --------------------------------------------------------------------------------------


def changed(t: Tensor, fn: Any, args: tuple, kwargs: dict[str, Any]) -> Tensor:
    """`t` after `fn(t, ...)` was written into it, where `t` or an argument is sparse."""
    name = fn.name if isinstance(fn, Op) else fn.__name__
    if not isinstance(t, SparseTensor):
        return _changed_dense(t, name, fn, args, kwargs)
    check_writable(t._v)
    if t.layout is not sparse_coo:
        raise refused(f"{name}_", t.device)
    if name in ("pow", "clamp", "clamp_min", "clamp_max"):
        raise refused(f"{name}_", t.device)
    op = OPS.get(name)
    if op is not None and op.kernel.facts.sparse == "values" and not t._coalesced:
        raise RuntimeError(f"{name}_ requires coalesced input")
    r = fn(t, *args, **kwargs)
    if not isinstance(r, SparseTensor):
        raise RuntimeError(f"{name}_: a sparse tensor cannot hold a dense result")
    r = r if r.dtype is t.dtype else r.to(t.dtype)
    if name in ("div", "neg"):  # who holds the values sees them change, as in PyTorch
        t._v.copy_(r._v)
        return t
    t._hold(r._at, r._v, t.shape, r._coalesced and name != "mul")  # which PyTorch does not say
    return t


def _changed_dense(t: Tensor, name: str, fn: Any, args: tuple, kwargs: dict[str, Any]) -> Tensor:
    if name in ("add", "sub", "subtract") and isinstance(args[0], SparseTensor):
        _check_sizes(t, args[0])
        alpha = kwargs.get("alpha", 1) * (1 if name == "add" else -1)
        other = args[0].to(t.dtype)
        scaled = other._v if alpha.__class__ is int and alpha == 1 else other._v * alpha
        return t.index_put_(tuple(other._at), scaled, accumulate=True)
    result = fn(t, *args, **kwargs)
    return t.copy_(result.to_dense() if isinstance(result, SparseTensor) else result)


# -- the gradient of a leaf ------------------------------------------------------------------------


def gradient(leaf: Tensor, held: Any, g: Any) -> Any:
    """What a leaf's `.grad` becomes when `g` arrives and one of both is sparse."""
    if held is None:
        # A copy: the values may be part of a gradient that goes elsewhere, the places are the batch.
        return g if here.state & TAPE == GRAD else g.clone()._coalesced_(g._nnz() < 2)
    dense_arrives = not isinstance(g, SparseTensor)
    if dense_arrives or here.state & TAPE == GRAD:
        return g + held if dense_arrives else held + g
    return held.add_(g)


def like(kernel: str, x: SparseTensor, dtype: Any, device: Any, attrs: dict[str, Any]) -> Any:
    """A new sparse tensor of the size of another: without elements, as only zeros can be."""
    if kernel != "empty" and attrs.get("value") != 0:
        raise refused("fill_" if kernel == "full" else f"{attrs.get('kind', kernel)}_", x.device)
    made = x.detach().to(device or x.device, dtype or x.dtype)
    return SparseTensor(made._at, made._v, x.shape).zero_()


sparse.of_op, sparse.changed, sparse.gradient, sparse.like = of_op, changed, gradient, like
