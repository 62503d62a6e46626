"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.dtypes import as_dtype, int64
from ...base.shapes import wrap_dim
from ...core.op import Op
from ...core.public import into, public
from ...core.tensor import Tensor, wrap
from ..memory.casting import cast_to, move_to


def _diagonal_body(xp: Any, x: Any, *, offset: int, dim1: int, dim2: int) -> Any:
    out = x.diagonal(offset, dim1, dim2)
    if hasattr(out.flags, "writeable") and not out.flags.writeable and x.flags.writeable:
        out.flags.writeable = True  # NumPy's diagonals are read-only by convention, not by need
    return out


def _embed_body(xp: Any, x: Any, *, offset: int, dim1: int, dim2: int, shape: tuple) -> Any:
    out = xp.zeros(shape, x.dtype)
    _diagonal_body(xp, out, offset=offset, dim1=dim1, dim2=dim2)[...] = x
    return out


_diagonal = Op(_diagonal_body, "diagonal", view=True)
_diag_embed = Op(
    _embed_body,
    "diag_embed",
    moves_only=True,
    meta=lambda x, *, offset, dim1, dim2, shape: (shape, x.dtype),
)
_diagonal.derivative(
    x=lambda g, x_shape, offset, dim1, dim2: _diag_embed(
        g, offset=offset, dim1=dim1, dim2=dim2, shape=x_shape
    )
)
_diag_embed.derivative(
    x=lambda g, offset, dim1, dim2: _diagonal(g, offset=offset, dim1=dim1, dim2=dim2)
)


def _two_dims(ndim: int, dim1: int, dim2: int, name: str) -> tuple[int, int]:
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"{name} dimensions cannot be identical {dim1}, {dim2}")
    return first, second


@public()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:  # noqa: A002
    """A view of a diagonal of the matrices in dims `dim1` and `dim2`, as the last dim."""
    first, second = _two_dims(input._a.ndim, dim1, dim2, "diagonal")
    return _diagonal(input, offset=offset, dim1=first, dim2=second)


@public()
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:  # noqa: A002
    """Matrices whose diagonal is the last dim of `input`, and zero elsewhere."""
    ndim = input._a.ndim + 1
    first, second = _two_dims(ndim, dim1, dim2, "diagonal")
    side = input._a.shape[-1] + abs(offset)
    shape = list(input._a.shape[:-1])
    for d in sorted((first, second)):
        shape.insert(d, side)
    return _diag_embed(input, offset=offset, dim1=first, dim2=second, shape=tuple(shape))


@public()
def diag(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:  # noqa: A002
    """The matrix with a vector on its diagonal, or a copy of a matrix's diagonal."""
    if input._a.ndim == 1:
        return into(out, diag_embed(input, diagonal))
    if input._a.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input._a.ndim}D")
    return into(out, _diagonal(input, offset=diagonal, dim1=0, dim2=1).clone())


@public()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:  # noqa: A002
    """The matrix with all elements of `input` on its diagonal."""
    return diag_embed(input.reshape(-1), offset)


@public()
def trace(input: Tensor) -> Tensor:  # noqa: A002
    """The sum of a matrix's diagonal."""
    if input._a.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input._a.ndim}")
    return _diagonal(input, offset=0, dim1=0, dim2=1).sum()


@public("Tensor")
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write one value on the main diagonal; `wrap` goes on below in tall matrices."""
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
    )
    op.derivative(x=lambda g, diagonal: op(g, diagonal=diagonal))

    def triangle(input: Tensor, diagonal: int = 0, *, out: Any = None) -> Tensor:  # noqa: A002
        if input._a.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return into(out, op(input, diagonal=diagonal))

    triangle.__name__ = triangle.__qualname__ = name
    triangle.__doc__ = doc
    public(inplace=True)(triangle)


_triangle("tril", "`input` with zeros above its `diagonal`-th diagonal.")
_triangle("triu", "`input` with zeros below its `diagonal`-th diagonal.")


def _triangle_indices(name: str) -> None:
    def indices(
        row: int, col: int, offset: int = 0, *, dtype: Any = int64, device: Any = "cpu",
        layout: Any = None, pin_memory: bool = False,
    ) -> Tensor:  # fmt: skip
        for label, n in (("row", row), ("col", col)):
            if n < 0:
                raise RuntimeError(f"{label} must be non-negative, got{n}")
        found = getattr(np, f"{name}_indices")(row, offset, col)
        return cast_to(move_to(wrap(np.stack(found)), device), as_dtype(dtype))

    indices.__name__ = indices.__qualname__ = f"{name}_indices"
    indices.__doc__ = f"The rows and columns of the elements that `{name}` keeps."
    public("torch")(indices)


_triangle_indices("tril")
_triangle_indices("triu")


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
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:  # noqa: A002
    """A copy of `input` with `src` on a diagonal."""
    return _scattered(input, lambda t: diagonal(t, offset, dim1, dim2), src, "slice")


@public()
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:  # noqa: A002
    """A copy of `input` with `src` at one position of a dim."""
    return _scattered(input, lambda t: t.select(dim, index), src, "slice")


@public()
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:  # noqa: A002
    """A copy of `input` with `src` in a range of a dim."""
    at = wrap_dim(dim, input._a.ndim)
    window = (slice(None),) * at + (slice(start, end, step),)
    return _scattered(input, lambda t: t[window], src, "slice")


@public()
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None
) -> Tensor:
    """A copy of `input` with `src` where `as_strided` would show it."""
    return _scattered(input, lambda t: t.as_strided(size, stride, storage_offset), src, "slice")
