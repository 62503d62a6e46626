"""Grids and products of vectors: meshgrid, cartesian_prod, combinations, block_diag."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor, wrap
from ..memory.casting import move_to
from .join import same_dtype, stack
from .windows import slice_op


def _spread(tensors: tuple) -> list[Tensor]:
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    return list(tensors)


@public("torch")
def meshgrid(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]:
    """The coordinates of all points of a grid, one tensor per axis.

    Args:
        tensors: vectors with the coordinates along each axis.
        indexing: "ij", where the first vector runs along dimension 0, or "xy", where it runs
            along dimension 1. PyTorch warns if it is not given.

    Example:
        >>> x, y = torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")
        >>> x
        tensor([[1, 1],
                [2, 2]])
        >>> y
        tensor([[3, 4],
                [3, 4]])
    """
    xs = _spread(tensors)
    if not xs:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for x in xs:
        if x._a.ndim > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: a tensor of "
                f"shape {list(x._a.shape)}"
            )
    if any(x._a.dtype != xs[0]._a.dtype for x in xs):
        raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(xs) >= 2
    if swap:
        xs[0], xs[1] = xs[1], xs[0]
    shape = tuple([x._a.size for x in xs])
    grids = []
    for d, x in enumerate(xs):
        place = [1] * len(xs)
        place[d] = x._a.size
        grids.append(x.reshape(place).expand(shape))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def _vectors(tensors: list[Tensor]) -> list[Tensor]:
    for x in tensors:
        if x._a.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(x._a.shape)}")
    return tensors


@public("torch")
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Every combination of one element from each vector, as rows.

    Args:
        tensors: vectors.

    Example:
        >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
        tensor([[1, 3],
                [1, 4],
                [2, 3],
                [2, 4]])
    """
    xs = _vectors(_spread(tensors))
    if len(xs) == 1:
        return xs[0]
    return stack([g.reshape(-1) for g in meshgrid(*xs)], 1)


@public()
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:  # noqa: A002
    """Every choice of some elements of a vector, as rows.

    Args:
        r: how many elements a choice has.
        with_replacement: an element may be chosen more than once.

    Example:
        >>> torch.combinations(torch.tensor([1, 2, 3]))
        tensor([[1, 2],
                [1, 3],
                [2, 3]])
    """
    _vectors([input])
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty((0,))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(input._a.size), r))
    at = move_to(wrap(np.asarray(rows, np.int64).reshape(len(rows), r)), input.device)
    return input[at]


# -- block_diag ---------------------------------------------------------------------------------


def _corners(shapes: Any) -> list[tuple[int, int]]:
    """Where each block starts, and last where they end."""
    corners = [(0, 0)]
    for rows, columns in shapes:
        corners.append((corners[-1][0] + rows, corners[-1][1] + columns))
    return corners


def _block_diag_body(xp: ArrayModule, *xs: Array) -> Any:
    corners = _corners([x.shape for x in xs])
    out = xp.zeros(corners[-1], xs[0].dtype)
    for x, (i, j) in zip(xs, corners):
        out[i : i + x.shape[0], j : j + x.shape[1]] = x
    return out


_block_diag = Op(_block_diag_body, "block_diag", moves_only=True)


@_block_diag.backward
def _block_diag_backward(g: Tensor, xs_shape: list, needs: list[bool]) -> tuple:
    corners = _corners(xs_shape)
    grads = []
    for (rows, columns), (i, j), wanted in zip(xs_shape, corners, needs):
        index = ((i, i + rows, 1), (j, j + columns, 1))
        grads.append(slice_op(g, index=index) if wanted else None)
    return tuple(grads)


@public("torch")
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given ones along its diagonal and zeros elsewhere.

    Args:
        tensors: matrices; vectors count as rows, numbers as 1 x 1.

    Example:
        >>> torch.block_diag(torch.ones(1, 2), torch.tensor([[5.0]]))
        tensor([[1., 1., 0.],
                [0., 0., 5.]])
    """
    if not tensors:
        from ..create.filled import zeros

        return zeros(1, 0)
    blocks = []
    for i, x in enumerate(same_dtype(list(tensors))):
        if x._a.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {x._a.ndim} dimensions"
            )
        blocks.append(x.reshape(1, -1) if x._a.ndim < 2 else x)
    return _block_diag(*blocks)
