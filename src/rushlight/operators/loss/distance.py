"""Distances and similarities between vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import title
from ...base.shapes import broadcast_shapes
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ...runtime.thread import GRAD, TAPE, here
from ..layers.embedding import embedding_op
from ..made_of.constants import on_device
from ..made_of.guards import one_dtype
from ..made_of.promotion import promote
from ..reduce.vector_norm import norm_slopes


@public("torch", "functional")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Cosine of the angle between two vectors.

    Args:
        x1, x2: shapes that broadcast.
        dim: along which dimension the vectors lie.
        eps: the smallest norm that is divided by.

    Example:
        >>> F.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.6, 0.8]]))
        tensor([0.6000])
    """
    x1, x2 = promote((x1, x2))
    shape = broadcast_shapes(x1._a.shape, x2._a.shape)
    x1, x2 = x1.expand(shape), x2.expand(shape)
    first = x1 / x1.norm(2, dim, keepdim=True).clamp(min=eps)
    second = x2 / x2.norm(2, dim, keepdim=True).clamp(min=eps)
    return (first * second).sum(dim)


@public("torch", "functional")
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of the difference of two vectors.

    Args:
        x1, x2: (N, D) or (D,).
        p: which norm.
        eps: added to differences, so that the distance can be differentiated at 0.

    Example:
        >>> F.pairwise_distance(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
        tensor([5.0000])
    """
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim)


def _euclidean_by_product(x1: Tensor, x2: Tensor) -> Tensor:
    """|a - b| from |a|^2 + |b|^2 - 2ab: one matrix product, less exact for close points."""
    squares = (x1 * x1).sum(-1, keepdim=True) + (x2 * x2).sum(-1).unsqueeze(-2)
    squares = (squares - 2 * (x1 @ x2.transpose(-2, -1))).clamp(min=0)
    zero = squares == 0  # where the square root has no derivative
    return squares.masked_fill(zero, 1.0).sqrt().masked_fill(zero, 0.0)


# -- distances of all pairs ------------------------------------------------------------------------


def _pair_distances(xp: ArrayModule, x: Array, y: Array, *, p: float) -> Any:
    apart: Any = x[..., :, None, :] - y[..., None, :, :]
    if p == 2:
        return xp.sqrt((apart * apart).sum(-1))
    if p == 0:
        return (apart != 0).sum(-1).astype(x.dtype)
    size = xp.abs(apart)
    return size.sum(-1) if p == 1 else size.max(-1)


def _pair_distances_grad(xp: ArrayModule, g: Array, x: Array, y: Array, out: Array, *, p: float) -> Any:
    """The gradient of x; none where two points meet, and all of it for each that is farthest."""
    if p == 0:
        return xp.zeros_like(x)
    apart: Any = x[..., :, None, :] - y[..., None, :, :]
    if p == 2:
        slopes = xp.where(out == 0, 0, g / xp.where(out == 0, 1, out))
        return (slopes[..., None] * apart).sum(-2)
    if p != 1:
        farthest = (xp.abs(apart) == out[..., None]).astype(x.dtype)
        return (g[..., None] * xp.sign(apart) * farthest).sum(-2)
    return (g[..., None] * xp.sign(apart)).sum(-2)


_pairs_op = Op(
    _pair_distances, "pair_distances", grad_name="CdistBackward0",
    meta=lambda x, y, *, p: ((*x.shape[:-1], y.shape[-2]), x.dtype), facts=Facts(one_kernel={"cpu": True}))  # fmt: skip
_pairs_grad = Op(_pair_distances_grad, "pair_distances_grad", meta=lambda g, x, y, out, *, p: (x.shape, x.dtype))


def _pairs_dx(g: Tensor, x: Tensor, y: Tensor, out: Tensor, p: float) -> Tensor:
    if here.state & TAPE == GRAD and p:  # somebody wants its derivative, too
        apart = x.unsqueeze(-2) - y.unsqueeze(-3)
        if p == math.inf:
            return (g.unsqueeze(-1) * apart.sign() * (apart.abs() == out.unsqueeze(-1))).sum(-2)
        return norm_slopes(g, apart, out, p, (apart.ndim - 1,), False).sum(-2)
    return _pairs_grad(g, x, y, out, p=p)


def _pairs_dy(g: Tensor, x: Tensor, y: Tensor, out: Tensor, p: float) -> Tensor:
    return _pairs_dx(g.transpose(-2, -1), y, x, out.transpose(-2, -1), p)


_pairs_op.derivative(x=_pairs_dx, y=_pairs_dy)


def _all_pairs(x1: Tensor, x2: Tensor, p: float) -> Tensor:
    """The p-norms of all differences, in one kernel on the CPU for the usual norms, and for those whose gradient is no norm's."""
    plain = p in (0, math.inf) or (_pairs_op.is_whole(x1) and p in (1, 2))
    if not plain or not x1._a.size or not x2._a.size or x1._a.dtype.itemsize < 4:
        return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).norm(p, -1)
    if x1._a.shape[:-2] != x2._a.shape[:-2]:
        batch = broadcast_shapes(x1._a.shape[:-2], x2._a.shape[:-2])
        x1 = x1.expand(*batch, *x1._a.shape[-2:])
        x2 = x2.expand(*batch, *x2._a.shape[-2:])
    return _pairs_op(x1, x2, p=float(p))


_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@public("torch")
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The p-norm distance of every row of one matrix to every row of another.

    Args:
        x1: (..., P, D).
        x2: (..., R, D).
        p: which norm.
        compute_mode: when Euclidean distances are computed by a matrix product, which is quicker
            and less exact: "use_mm_for_euclid_dist_if_necessary" (more than 25 rows),
            "use_mm_for_euclid_dist" or "donot_use_mm_for_euclid_dist".

    Returns:
        (..., P, R).

    Example:
        >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
        tensor([[5., 1.]])
    """
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, x in (("X1", x1), ("X2", x2)):
        if x._a.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
        if x._a.dtype.kind not in "fV":
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {title(x.dtype)}")
    if x1._a.shape[-1] != x2._a.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1._a.shape[-1]} X2: {x2._a.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    one_dtype(x1, x2)
    rows = max(x1._a.shape[-2], x2._a.shape[-2])
    by_product = compute_mode == _MODES[1] or (compute_mode == _MODES[0] and rows > 25)
    if p == 2 and by_product:
        return _euclidean_by_product(x1, x2)
    return _all_pairs(x1, x2, p)


@public("torch", "functional")
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The p-norm distances of all pairs of rows.

    Args:
        input: (N, D).
        p: which norm.

    Returns:
        (N (N - 1) / 2,): rows 0 and 1, 0 and 2, ..., 1 and 2, ...

    Example:
        >>> F.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]]))
        tensor([5., 3., 4.])
    """
    if input._a.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    count = input._a.shape[0]
    sides = []
    for index in np.triu_indices(count, 1):
        rows = on_device(index.astype(np.int64), input.device)
        sides.append(embedding_op(input, rows, padding_idx=-1, scale_by_freq=False).unsqueeze(-2))
    return _all_pairs(sides[0], sides[1], p).flatten()
