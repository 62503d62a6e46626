"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.device import get_default_device
from ...base.dtypes import as_dtype, int64
from ...base.shapes import whole, wrap_dim
from ...core.op import Op
from ...core.public import into_same, public
from ...core.tensor import Tensor, wrap
from ...runtime.facts import Facts
from ..memory.casting import cast_to, move_to


def _diagonal_body(xp: ArrayModule, x: Array, *, offset: int, dim1: int, dim2: int) -> Any:
    out = x.diagonal(offset, dim1, dim2)
    if hasattr(out.flags, "writeable") and not out.flags.writeable and x.flags.writeable:
        out.flags.writeable = True  # NumPy's diagonals are read-only by convention, not by need
    return out


def _embed_body(xp: ArrayModule, x: Array, *, offset: int, dim1: int, dim2: int, shape: tuple) -> Any:
    out = xp.zeros(shape, x.dtype)
    _diagonal_body(xp, out, offset=offset, dim1=dim1, dim2=dim2)[...] = x
    return out


_diagonal = Op(_diagonal_body, "diagonal", view=True, facts=Facts(vmap="diagonal"))
_diag_embed = Op(
    _embed_body, "diag_embed", moves_only=True, meta=lambda x, *, offset, dim1, dim2, shape: (shape, x.dtype)
)
_diagonal.derivative(
    x=lambda g, x_shape, offset, dim1, dim2: _diag_embed(g, offset=offset, dim1=dim1, dim2=dim2, shape=x_shape)
)
_diag_embed.derivative(x=lambda g, offset, dim1, dim2: _diagonal(g, offset=offset, dim1=dim1, dim2=dim2))


def _two_dims(ndim: int, dim1: int, dim2: int, name: str) -> tuple[int, int]:
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"{name} dimensions cannot be identical {dim1}, {dim2}")
    return first, second


@public()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:  # noqa: A002
    """The diagonals of matrices, as a view; they become the last dimension.

    Args:
        offset: which diagonal; 0 is the main one, positive ones lie above it.
        dim1: the dimension of the rows.
        dim2: the dimension of the columns.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]]).diagonal()
        tensor([1, 4])
    """
    first, second = _two_dims(input._a.ndim, dim1, dim2, "diagonal")
    return _diagonals(input, offset, first, second)


def _diagonals(x: Tensor, offset: int, first: int = 0, second: int = 1) -> Tensor:
    rows, columns = x._a.shape[first], x._a.shape[second]
    offset = max(-rows, min(whole(offset, "offset"), columns))  # those beyond are as empty
    return _diagonal(x, offset=offset, dim1=first, dim2=second)


@public()
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:  # noqa: A002
    """Matrices with the last dimension of a tensor on their diagonal, and zeros elsewhere.

    Args:
        offset: which diagonal; 0 is the main one.
        dim1: the first dimension of the new matrices.
        dim2: the second one.

    Example:
        >>> torch.diag_embed(torch.tensor([[1, 2], [3, 4]])).shape
        torch.Size([2, 2, 2])
    """
    ndim = input._a.ndim + 1
    first, second = _two_dims(ndim, dim1, dim2, "diagonal")
    side = input._a.shape[-1] + abs(whole(offset, "offset"))
    shape = list(input._a.shape[:-1])
    for d in sorted((first, second)):
        shape.insert(d, side)
    return _diag_embed(input, offset=offset, dim1=first, dim2=second, shape=tuple(shape))


@public()
def diag(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:  # noqa: A002
    """A matrix with a vector on its diagonal, or the diagonal of a matrix as a vector.

    Args:
        diagonal: which one; 0 is the main diagonal, positive ones lie above it.

    Example:
        >>> torch.diag(torch.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
        >>> torch.diag(torch.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    if input._a.ndim == 1:
        return into_same(out, diag_embed(input, diagonal))
    if input._a.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input._a.ndim}D")
    return into_same(out, _diagonals(input, diagonal).clone())


@public()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:  # noqa: A002
    """A matrix with all elements of a tensor on its diagonal.

    Args:
        offset: which diagonal; 0 is the main one.

    Example:
        >>> torch.diagflat(torch.tensor([1, 2]))
        tensor([[1, 0],
                [0, 2]])
    """
    return diag_embed(input.reshape(-1), offset)


@public()
def trace(input: Tensor) -> Tensor:  # noqa: A002
    """The sum of the main diagonal of a matrix.

    Raises:
        RuntimeError: for anything but a matrix.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]]).trace()
        tensor(5)
    """
    if input._a.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input._a.ndim}")
    return _diagonal(input, offset=0, dim1=0, dim2=1).sum()


@public("Tensor")
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write one value on the main diagonal; returns the tensor itself.

    Args:
        fill_value: the value.
        wrap: in a tall matrix go on below, one row after the end of the first diagonal.

    Example:
        >>> torch.zeros(2, 2).fill_diagonal_(7)
        tensor([[7., 0.],
                [0., 7.]])
    """
    shape = self._a.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    step = sum(self.stride())
    rows = shape[0]
    top = 0
    while top < rows:
        count = min(rows - top, *shape[1:])
        offset = self.storage_offset() + top * self.stride(0)
        self.as_strided((count,), (step,), offset).fill_(fill_value)
        if not wrap or len(shape) > 2:
            break
        top += shape[1] + 1
    return self


# -- triangles ----------------------------------------------------------------------------------


def _triangle(name: str, doc: str) -> None:
    op = Op(
        lambda xp, x, *, diagonal: getattr(xp, name)(x, diagonal),
        name,
        moves_only=True,
        meta=lambda x, *, diagonal: (x.shape, x.dtype),
        facts=Facts(vmap="triangle", layout="plain", onnx="triangle"),
    )
    op.derivative(x=lambda g, diagonal: op(g, diagonal=diagonal))

    def triangle(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:  # noqa: A002
        if input._a.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        most = sum(input._a.shape[-2:])  # beyond it nothing changes, and nothing is too large for an index
        diagonal = min(max(whole(diagonal, "diagonal"), -most), most)
        return into_same(out, op(input, diagonal=diagonal))

    triangle.__name__ = triangle.__qualname__ = name
    triangle.__doc__ = doc
    public(inplace=True)(triangle)


_triangle(
    "tril",
    """The lower triangle of a matrix, or of each in a batch: zeros above a diagonal.

    Args:
        diagonal: which one; 0 is the main diagonal, positive ones lie above it.

    Raises:
        RuntimeError: for fewer than two dimensions.

    Example:
        >>> torch.ones(3, 3).tril()
        tensor([[1., 0., 0.],
                [1., 1., 0.],
                [1., 1., 1.]])
    """,
)
_triangle(
    "triu",
    """The upper triangle of a matrix, or of each in a batch: zeros below a diagonal.

    Args:
        diagonal: which one; 0 is the main diagonal, positive ones lie above it.

    Raises:
        RuntimeError: for fewer than two dimensions.

    Example:
        >>> torch.ones(3, 3).triu(1)
        tensor([[0., 1., 1.],
                [0., 0., 1.],
                [0., 0., 0.]])
    """,
)


def _triangle_indices(name: str, below: bool, example: str) -> None:
    def indices(
        row: int, col: int, offset: int = 0, *, dtype: Any = int64, device: Any = None,
        layout: Any = None, pin_memory: bool = False,
    ) -> Tensor:  # fmt: skip
        whole(offset, "offset")
        for label, n in (("row", row), ("col", col)):
            if whole(n, label) < 0:
                raise RuntimeError(f"{label} must be non-negative, got{n}")
        if below:  # rows that have nothing and columns that nobody has are not looked at
            col = min(col, max(row + offset, 0))
        else:
            row = min(row, max(col - offset, 0))
        found = getattr(np, f"{name}_indices")(row, offset, col)
        where = get_default_device() if device is None else device
        return cast_to(move_to(wrap(np.stack(found)), where), as_dtype(dtype))

    indices.__name__ = indices.__qualname__ = f"{name}_indices"
    indices.__doc__ = f"""The positions of the elements that `{name}` keeps: their rows, and their columns.

    Args:
        row: how many rows the matrix has.
        col: how many columns.
        offset: the diagonal; 0 is the main one, positive ones lie above it.

    Example:
        >>> torch.{name}_indices(2, 2)
        {example}
    """
    public("torch")(indices)


_triangle_indices("tril", True, "tensor([[0, 1, 1],\n                [0, 0, 1]])")
_triangle_indices("triu", False, "tensor([[0, 0, 1],\n                [0, 1, 1]])")


# -- writing a part of a copy -------------------------------------------------------------------


def _scattered(x: Tensor, part: Any, src: Tensor, name: str) -> Tensor:
    """A copy of `x` with `src` in the part that the function `part` shows."""
    out = x.clone()
    place = part(out)
    if place._a.shape != src._a.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the {name} of self. src size = "
            f"{list(src._a.shape)}, {name} size = {list(place._a.shape)}"
        )
    place.copy_(src)
    return out


@public()
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:  # noqa: A002
    """A copy with other values on a diagonal.

    Args:
        src: the values, in the shape that `diagonal` gives.
        offset: which diagonal; 0 is the main one.
        dim1: the dimension of the rows.
        dim2: the dimension of the columns.

    Example:
        >>> torch.zeros(2, 2).diagonal_scatter(torch.tensor([1.0, 2.0]))
        tensor([[1., 0.],
                [0., 2.]])
    """
    return _scattered(input, lambda t: diagonal(t, offset, dim1, dim2), src, "slice")


@public()
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:  # noqa: A002
    """A copy with other values at one position of a dimension.

    Args:
        src: the values, in the shape that `select` gives.
        index: the position.

    Example:
        >>> torch.zeros(2, 2).select_scatter(torch.tensor([1.0, 2.0]), 0, 1)
        tensor([[0., 0.],
                [1., 2.]])
    """
    return _scattered(input, lambda t: t.select(dim, index), src, "slice")


@public()
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Any = None,
) -> Tensor:  # noqa: A002
    """A copy with other values in a range of a dimension.

    Args:
        src: the values, in the shape of the range.
        start: the first position; 0 if not given.
        end: the one behind the last; the size if not given.
        step: the distance of positions.

    Example:
        >>> torch.zeros(3).slice_scatter(torch.ones(2), start=1)
        tensor([0., 1., 1.])
    """
    at = wrap_dim(dim, input._a.ndim)
    for name, n in (("start", start), ("end", end), ("step", step)):
        if n is not None:
            whole(n, name)
    window = (slice(None),) * at + (slice(start, end, step),)
    return into_same(out, _scattered(input, lambda t: t[window], src, "slice"))


@public()
def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A copy with other values where `as_strided` would show them.

    Args:
        src: the values, of the shape `size`.
        size: as for `as_strided`.
        stride: as for `as_strided`.
        storage_offset: as for `as_strided`.

    Example:
        >>> torch.zeros(2, 2).as_strided_scatter(torch.ones(2), (2,), (3,))
        tensor([[1., 0.],
                [0., 1.]])
    """
    return _scattered(input, lambda t: t.as_strided(size, stride, storage_offset), src, "slice")
