"""Scattering that combines what meets in one place: sum, mean, product and extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import title
from ...base.shapes import wrap_dim
from ...core.op import Op
from ...core.public import into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.guards import unsupported
from .gather import along, as_vectors, check_scatter, corner, has_number
from .scatter_kernels import flat_places

SUMS_AND_EXTREMES = ("sum", "mean", "amax", "amin")
_UFUNC = {"prod": "multiply", "amax": "maximum", "amin": "minimum"}


def _neutral(kind: str, dtype: Any) -> Any:
    """The number that leaves others unchanged."""
    if kind == "prod":
        return 1
    if dtype.kind == "b":
        return kind == "amin"
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return info.min if kind == "amax" else info.max
    return -np.inf if kind == "amax" else np.inf


def _scatter_fold_body(
    xp: ArrayModule, x: Array, index: Array, src: Array, *, dim: int, kind: str, include_self: bool
) -> Any:
    out = x.copy("C")
    flat = out.reshape(-1)
    if x.ndim:
        places = flat_places(xp, x.shape, along(xp, index, dim)).reshape(-1)
    else:
        places = index.reshape(-1)
    if not include_self:
        flat[places] = _neutral(kind, x.dtype)
    getattr(xp, _UFUNC[kind]).at(flat, places, corner(src, index.shape).reshape(-1))
    return out


_scatter_fold = Op(
    _scatter_fold_body,
    "scatter_reduce",
    meta=lambda x, index, src, *, dim, kind, include_self: (x.shape, x.dtype),
    facts=Facts(refuses=True, vmap="gather"),
)


@_scatter_fold.backward
def _scatter_fold_backward(
    g: Tensor, x: Tensor, index: Tensor, src: Tensor, out: Tensor, dim: int, kind: str, include_self: bool
) -> tuple:
    rule = _prod_grads if kind == "prod" else _extreme_grads
    part = _trimmed(src, index._a.shape)
    gx, gpart = rule(g, x, index, part, out, dim, include_self)
    if part is not src:
        from ..shape.windows import unwindow

        window = tuple([(0, n, 1) for n in part._a.shape])
        gpart = unwindow(gpart, index=window, shape=src._a.shape)
    return gx, None, gpart


def _trimmed(src: Tensor, shape: tuple) -> Tensor:
    if src._a.shape == shape:
        return src
    return src[tuple([slice(n) for n in shape])]


def _extreme_grads(
    g: Tensor, x: Tensor, index: Tensor, src: Tensor, out: Tensor, dim: int, include_self: bool
) -> tuple:
    """The gradient goes to whatever equals the result, in equal parts."""
    mine = x.eq(out).to(g.dtype)
    if not include_self:
        mine = mine.scatter(dim, index, 0)
    theirs = src.eq(out.gather(dim, index)).to(g.dtype)
    share = g / mine.scatter_add(dim, index, theirs).clamp(min=1)
    return share * mine, share.gather(dim, index) * theirs


def _prod_grads(g: Tensor, x: Tensor, index: Tensor, src: Tensor, out: Tensor, dim: int, include_self: bool) -> tuple:
    """Each factor gets the product of the others; zeros are counted so as not to divide by them."""
    ones = g.new_ones(x._a.shape)
    others = ones.scatter_reduce(dim, index, src, "prod")
    gx = g * others if include_self else g.scatter(dim, index, 0)
    zero = src.eq(0)
    start = x if include_self else ones
    nonzero = start.scatter_reduce(dim, index, src.masked_fill(zero, 1), "prod")
    count = g.new_zeros(x._a.shape).scatter_add(dim, index, zero.to(g.dtype)).gather(dim, index)
    alone = (nonzero.gather(dim, index)).masked_fill(count.ne(1), 0)  # the only zero among factors
    usual = out.gather(dim, index) / src.masked_fill(zero, 1)
    rest = usual.masked_fill(zero, 0) + alone.masked_fill(~zero, 0)
    return gx, g.gather(dim, index) * rest


def _mean(x: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool) -> Tensor:
    ones = src.new_ones(index._a.shape)
    count = x.new_ones(x._a.shape)
    if not include_self:
        count, x = count.scatter(dim, index, 0), x.scatter(dim, index, 0)
    count = count.scatter_add(dim, index, ones)
    if not include_self:
        count = count.clamp(min=1)
    total = x.scatter_add(dim, index, src)
    if x.is_floating_point() or x.is_complex():
        return total / count
    return total.div(count, rounding_mode="floor")


@public(inplace=True)
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True, out: Any = None
) -> Tensor:  # noqa: A002
    """A copy with values combined into it at positions along a dimension.

    Args:
        index: the positions, of the shape of `src` or smaller.
        src: the values.
        reduce: "sum", "prod", "mean", "amax" (or "max"), "amin" (or "min").
        include_self: the elements of `input` take part.

    Example:
        >>> torch.ones(2).scatter_reduce(0, torch.tensor([0, 0, 1]), torch.tensor([1.0, 5.0, 3.0]), "amax")
        tensor([5., 3.])
    """
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in (*SUMS_AND_EXTREMES, "prod"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    dim = check_scatter(input, dim, index, src)
    if reduce == "mean" and input._a.dtype.kind == "b":
        raise unsupported("scatter_gather_tensor_cpu_reduce_mean", input.dtype)
    if not index._a.size and not src.requires_grad:
        return into_same(out, input.clone())
    if has_number(input, index, src):
        flat = as_vectors(input, index, src)
        done = scatter_reduce(flat[0], 0, *flat[1:], reduce, include_self=include_self)
        return into_same(out, done.reshape(input._a.shape))
    if reduce == "sum":
        start = input if include_self else input.scatter(dim, index, 0)
        return into_same(out, start.scatter_add(dim, index, src))
    if reduce == "mean":
        return into_same(out, _mean(input, dim, index, src, include_self))
    return into_same(out, _scatter_fold(input, index, src, dim=dim, kind=reduce, include_self=include_self))


@public(inplace=True)
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True, out: Any = None
) -> Tensor:  # noqa: A002
    """A copy with slices combined into those at some positions.

    Args:
        index: a vector of positions.
        source: the slices, one for each position.
        reduce: "prod", "mean", "amax" or "amin".
        include_self: the elements of `input` take part.

    Example:
        >>> torch.ones(2).index_reduce(0, torch.tensor([0, 0]), torch.tensor([2.0, 3.0]), "prod")
        tensor([6., 1.])
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either prod, mean, amax or amin, got {reduce}.")
    _check_slices(input, dim, index, source)
    shape = [1] * max(source._a.ndim, 1)
    shape[dim] = index._a.size
    places = index.reshape(shape).expand(source._a.shape if source._a.ndim else (1,))
    result = scatter_reduce(input, dim, places, source, reduce, include_self=include_self)
    return into_same(out, result)


def _check_slices(x: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    """RuntimeError unless there is a slice for each position, of the shape of those of `x`."""
    if index._a.ndim > 1:
        raise RuntimeError(
            f"index_reduce_(): Index is supposed to be a vector, but got dim: {index._a.ndim} with "
            f"type: {title(index.dtype)} and size: {list(index._a.shape)}"
        )
    dim = wrap_dim(dim, x._a.ndim)
    mine, given = list(x._a.shape), list(source._a.shape)
    size = given[dim] if dim < len(given) else 1
    if index._a.size != size:
        raise RuntimeError(
            f"index_reduce_(): Number of indices ({index._a.size}) should be equal to "
            f"source.size(dim): ({size}), for dim: {dim}"
        )
    if len(mine) != len(given) or mine[:dim] + mine[dim + 1 :] != given[:dim] + given[dim + 1 :]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {mine} source.shape = {given}"
        )
