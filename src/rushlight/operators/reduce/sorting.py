"""Order along one dim: sort, argsort, msort, topk, kthvalue."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule, Shaped
from ...base.shapes import whole, wrap_dim
from ...core.op import Op
from ...core.public import check_out, into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.guards import unsupported
from ..made_of.precision import widen
from ..made_of.return_types import named
from ..made_of.spelling import numpy_names
from .extremes import pick_meta, send_to_index
from .scan import along

_BACKWARDS = slice(None, None, -1)


def order_of(xp: ArrayModule, x: Array, dim: int, descending: bool) -> Any:
    """The stable order of `x` along `dim`; nan counts as larger than everything, as in PyTorch."""
    if not descending:
        return xp.argsort(x, axis=dim, kind="stable")
    turned = along(dim, _BACKWARDS)
    order = x.shape[dim] - 1 - xp.argsort(x[turned], axis=dim, kind="stable")
    return xp.ascontiguousarray(order[turned])


def _send_back(gs: Any, x_shape: tuple, out1: Tensor, dim: int) -> tuple:
    g = gs[0]
    if g is None or not x_shape:
        return (g,)
    return (g.new_zeros(x_shape).scatter(dim, out1, g),)


# -- sort ---------------------------------------------------------------------------------------


def _sort_body(xp: ArrayModule, x: Array, *, dim: int, descending: bool) -> tuple:
    if x.ndim == 0:
        return x.copy(), xp.zeros((), xp.int64)
    index = order_of(xp, widen(xp, x), dim, descending)
    return xp.take_along_axis(x, index, axis=dim), index


def _pair_meta(x: Shaped, **attrs: Any) -> list:
    return [(x.shape, x.dtype), (x.shape, np.dtype(np.int64))]


_sort = Op(_sort_body, "sort", meta=_pair_meta, facts=Facts(vmap="along", layout="first", onnx="topk"))
_sort.backward(_send_back)
_SORT = named("sort", "values", "indices")


def _no_complex(x: Tensor) -> None:
    if x._a.dtype.kind == "c":
        raise RuntimeError(" Sort does not support complex dtypes on CPU")


@public()
@numpy_names
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False, *, out: Any = None) -> Any:
    """The elements in order along a dimension, and where each one was.

    Args:
        descending: the largest first.
        stable: keep the order of equal elements; it is always kept here.

    Example:
        >>> values, indices = torch.tensor([3, 1, 2]).sort()
        >>> values, indices
        (tensor([1, 2, 3]), tensor([1, 2, 0]))
    """
    _no_complex(input)
    at = wrap_dim(dim, input._a.ndim)
    pair = _sort(input, dim=at, descending=bool(descending))
    return into_same(out, _SORT(*pair))


@public()
@numpy_names
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False, *, out: Any = None) -> Tensor:
    """As `sort`: the positions alone."""
    return into_same(out, sort(input.detach(), dim, descending, stable)[1])


@public()
def msort(input: Tensor, *, out: Any = None) -> Tensor:
    """The elements in order along the first dimension.

    Example:
        >>> torch.tensor([3, 1, 2]).msort()
        tensor([1, 2, 3])
    """
    return into_same(out, sort(input, 0)[0])


# -- topk ---------------------------------------------------------------------------------------


def _topk_body(xp: ArrayModule, x: Array, *, k: int, dim: int, largest: bool) -> tuple:
    if x.ndim == 0:
        values, index = _topk_body(xp, x.reshape(1), k=k, dim=0, largest=largest)
        return (values.reshape(()), index.reshape(())) if k else (values, index)
    n = x.shape[dim]
    key = widen(xp, x)
    if k == 1 and (largest or x.dtype.kind in "iub" or not xp.isnan(key).any()):
        # The first of equal ones, as `argmax` and, in longer rows, PyTorch.
        index = xp.expand_dims((key.argmax if largest else key.argmin)(axis=dim), dim)
    elif 0 < k < n:
        at = n - k if largest else k - 1
        kept = slice(at, None) if largest else slice(0, k)
        some = xp.sort(xp.argpartition(key, at, axis=dim)[along(dim, kept)], axis=dim)
        order = order_of(xp, xp.take_along_axis(key, some, axis=dim), dim, largest)
        index = xp.take_along_axis(some, order, axis=dim)
    else:
        index = order_of(xp, key, dim, largest)[along(dim, slice(0, k))]
    return xp.take_along_axis(x, index, axis=dim), index


def _topk_meta(x: Shaped, *, k: int, dim: int, largest: bool) -> list:
    shape = x.shape[:dim] + (k,) + x.shape[dim + 1 :] if x.shape or not k else ()
    return [(shape, x.dtype), (shape, np.dtype(np.int64))]


_topk = Op(_topk_body, "topk", meta=_topk_meta, facts=Facts(vmap="along", onnx="topk"))
_topk.backward(_send_back)
_TOPK = named("topk", "values", "indices")


@public()
@numpy_names
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *, out: Any = None) -> Any:
    """The largest elements along a dimension, in order, and where they are.

    Args:
        k: how many.
        largest: False for the smallest ones.
        sorted: for PyTorch's signature; the result is always in order.

    Raises:
        RuntimeError: if there are fewer than `k`.

    Example:
        >>> values, indices = torch.tensor([3, 1, 4, 2]).topk(2)
        >>> values, indices
        (tensor([4, 3]), tensor([2, 0]))
    """
    at = wrap_dim(dim, input._a.ndim)
    k = whole(k, "k")
    if not 0 <= k <= (input._a.shape[at] if input._a.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if input._a.dtype.kind == "c":
        raise RuntimeError(" topk does not support complex dtypes on CPU")
    pair = _topk(input, k=k, dim=at, largest=bool(largest))
    return into_same(out, _TOPK(*pair))


# -- kthvalue -----------------------------------------------------------------------------------


def _kthvalue_body(xp: ArrayModule, x: Array, *, k: int, dim: int, keepdim: bool) -> tuple:
    if x.ndim == 0:
        return x.copy(), xp.zeros((), xp.int64)
    index = xp.argpartition(widen(xp, x), k - 1, axis=dim)[along(dim, slice(k - 1, k))].copy()
    values = xp.take_along_axis(x, index, axis=dim)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


_kthvalue = Op(_kthvalue_body, "kthvalue", meta=pick_meta, facts=Facts(vmap="along"))
_kthvalue.backward(send_to_index)
_KTHVALUE = named("kthvalue", "values", "indices")


@public()
@numpy_names
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The `k`-th smallest element along a dimension, and where it is.

    Args:
        k: counted from 1.

    Example:
        >>> torch.tensor([3, 1, 4, 2]).kthvalue(2).values
        tensor(2)
    """
    at = wrap_dim(dim, input._a.ndim)
    if not 1 <= whole(k, "k") <= (input._a.shape[at] if input._a.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {at}")
    if input._a.dtype.kind == "c":
        raise unsupported("kthvalue_cpu", input.dtype)
    check_out(out, input)
    pair = _kthvalue(input, k=int(k), dim=at, keepdim=keepdim)
    return into_same(out, _KTHVALUE(*pair))
