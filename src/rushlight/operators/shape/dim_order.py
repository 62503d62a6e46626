"""Dimensions in another order, as views: permute, transpose, movedim."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ...base.shapes import as_size, by_name, wrap_dim
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from .reshape import _view

_permute = Op(
    lambda xp, x, *, dims: x.transpose(dims),
    "permute",
    view=True,
    facts=Facts(vmap="permute", onnx="permute", aten="permute ordered dims"),
)
_permute.derivative(x=lambda g, dims: _permute(g, dims=_inverse(dims)))
_transpose = Op(
    lambda xp, x, *, dim0, dim1: x.swapaxes(dim0, dim1),
    "transpose",
    view=True,
    facts=Facts(
        vmap="transpose", onnx="transpose", aten="transpose ordered dim0 dim1 overload=int", sparse="transposed"
    ),
)
_transpose.derivative(x=lambda g, dim0, dim1: _transpose(g, dim0=dim0, dim1=dim1))
_t = Op(lambda xp, x: x.T, "t", view=True, facts=Facts(vmap="t", onnx="transpose", sparse="turned"))
_t.derivative(x=lambda g: _t(g))


def _inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    inverse = [0] * len(dims)
    for i, d in enumerate(dims):
        inverse[d] = i
    return tuple(inverse)


@public("torch")
def permute(input: Tensor, dims: Any) -> Tensor:  # noqa: A002
    """The dimensions in another order, as a view.

    Args:
        dims: every dimension once, in the new order.

    Example:
        >>> torch.permute(torch.zeros(2, 3, 4), (2, 0, 1)).shape
        torch.Size([4, 2, 3])
    """
    return _permute(input, dims=_order(as_size((tuple(dims),)), input._a.ndim))


@lru_cache(1024)
def _order(dims: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """The dims counted from the first, each of them once."""
    order = tuple([wrap_dim(d, ndim) for d in dims])
    if len(order) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length "
            f"of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal "
            f"to len(dims) = {len(order)}"
        )
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return order


@public("Tensor", name="permute")
def _permute_method(self: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """The dimensions in another order, as a view.

    Args:
        order: every dimension once, in the new order; one by one or as a tuple.
        dims: the same, by name.

    Example:
        >>> torch.zeros(2, 3, 4).permute(2, 0, 1).shape
        torch.Size([4, 2, 3])
    """
    return _permute(self, dims=_order(as_size(by_name("dims", order, dims)), self._a.ndim))


@public(aliases=("swapdims",))
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:  # noqa: A002
    """Two dimensions exchanged, as a view.

    Args:
        dim0: the one.
        dim1: the other.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]]).transpose(0, 1)
        tensor([[1, 3],
                [2, 4]])
    """
    n = input._a.ndim
    i, j = wrap_dim(dim0, n), wrap_dim(dim1, n)
    if n == 0:
        return _view(input, shape=())
    return _transpose(input, dim0=i, dim1=j)


@public()
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:  # noqa: A002
    """Two dimensions exchanged, as a view: `transpose` with NumPy's name.

    Args:
        axis0: the one.
        axis1: the other.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]]).swapaxes(axis0=0, axis1=1)
        tensor([[1, 3],
                [2, 4]])
    """
    return transpose(input, axis0, axis1)


@public("torch", "Tensor")
def t(input: Tensor) -> Tensor:  # noqa: A002
    """The transpose of a matrix, as a view; vectors and numbers stay as they are.

    Raises:
        RuntimeError: for more than two dimensions.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]]).t()
        tensor([[1, 3],
                [2, 4]])
    """
    if input._a.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input._a.ndim}D")
    return _t(input)


@public(aliases=("moveaxis",))
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:  # noqa: A002
    """Dimensions moved to new places; the others keep their order.

    Args:
        source: one dimension or several.
        destination: where each of them goes.

    Example:
        >>> torch.zeros(2, 3, 4).movedim(0, -1).shape
        torch.Size([3, 4, 2])
    """
    n = input._a.ndim
    src = [wrap_dim(d, n) for d in (source if isinstance(source, (tuple, list)) else [source])]
    dst = [wrap_dim(d, n) for d in (destination if isinstance(destination, (tuple, list)) else [destination])]
    if len(src) != len(dst):
        first, last = (list(d) if isinstance(d, (tuple, list)) else [d] for d in (source, destination))
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({first} dims) should contain the same number of "
            f"dims as destination ({last} dims)"
        )
    for name, dims, given in (("source", src, source), ("destination", dst, destination)):
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(given)})")
    if n == 0:
        return _view(input, shape=())
    order = [d for d in range(n) if d not in src]
    for place, d in sorted(zip(dst, src)):
        order.insert(place, d)
    return _permute(input, dims=tuple(order))


def _transposed(self: Tensor) -> Tensor:
    """All dimensions in reverse order, as a view: the transpose of a matrix.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]]).T
        tensor([[1, 3],
                [2, 4]])
    """
    return _permute(self, dims=tuple(range(self._a.ndim))[::-1])


def _mt(self: Tensor) -> Tensor:
    """The transpose of the last two dimensions, as a view.

    Raises:
        RuntimeError: for fewer than two dimensions.

    Example:
        >>> torch.zeros(5, 2, 3).mT.shape
        torch.Size([5, 3, 2])
    """
    if self._a.ndim == 0:
        return self
    if self._a.ndim < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {self._a.ndim}-D tensor."
        )
    return transpose(self, -2, -1)


Tensor.T = property(_transposed)  # type: ignore[method-assign, assignment]
Tensor.mT = property(_mt)  # type: ignore[method-assign, assignment]
