"""Windows: views of a part of a tensor's memory, chosen by position, range or stride."""

from __future__ import annotations

from typing import Any

from ...base.arrays import Array, ArrayModule
from ...base.shapes import whole, wrap_dim
from ...core.op import Op, native
from ...core.public import into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.spelling import axis_for_dim

# A window is a tuple with one entry per dim: an int takes one position, (start, stop, step) a
# range, None makes a new dim of size 1. Slices are spelt as tuples because those can be hashed.
Window = tuple[Any, ...]


def _decode(index: Window) -> tuple:
    # The closing ellipsis makes NumPy answer a 0-d view where it would answer a number.
    return (*[slice(*e) if e.__class__ is tuple else e for e in index], ...)


_bracketed = _decode if native is None else native.bracketed


def _window(xp: ArrayModule, x: Array, *, index: Window) -> Any:
    return x[_bracketed(index)]


def _window_op(name: str, grad_name: str, aten: str, sparse: str | None = None) -> Op:
    facts = Facts(vmap="window", aten=f"{aten} windowed", onnx="window", sparse=sparse)
    op = Op(_window, name, view=True, grad_name=grad_name, facts=facts)
    op.derivative(x=lambda g, x_shape, index: unwindow(g, index=index, shape=x_shape))
    return op


select_op = _window_op("select", "SelectBackward0", "select", sparse="selected")
slice_op = _window_op("slice", "SliceBackward0", "slice")
window_op = _window_op("window", "UnsqueezeBackward0", "")


def _unwindow_body(xp: ArrayModule, g: Array, *, index: Window, shape: tuple[int, ...]) -> Any:
    out = xp.zeros(shape, g.dtype)
    out[_bracketed(index)] = g
    return out


unwindow = Op(
    _unwindow_body,
    "unwindow",
    moves_only=True,
    grad_name="SliceBackward0",
    meta=lambda g, *, index, shape: (shape, g.dtype),
    facts=Facts(vmap="unwindow"),
)
unwindow.derivative(g=lambda g, index: window_op(g, index=index))

_ALL = (None, None, None)


@public()
@axis_for_dim
def select(input: Tensor, dim: int, index: int) -> Tensor:  # noqa: A002
    """The slice at one position of a dimension, as a view without that dimension.

    Args:
        index: the position; negative ones count from the end.

    Raises:
        IndexError: if it is out of range.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]]).select(0, 1)
        tensor([3, 4])
    """
    shape = input._a.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(shape))
    i = whole(index, "index")
    if not -shape[dim] <= i < shape[dim]:
        raise IndexError(f"select(): index {i} out of range for tensor of size {list(shape)} at dimension {dim}")
    return select_op(input, index=(_ALL,) * dim + (i + shape[dim] if i < 0 else i,))


@public()
@axis_for_dim
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:  # noqa: A002
    """A range of a dimension, as a view.

    Args:
        start: the first position.
        length: how many.

    Raises:
        RuntimeError: if the range goes beyond the size.

    Example:
        >>> torch.arange(5).narrow(0, 1, 3)
        tensor([1, 2, 3])
    """
    shape = input._a.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, len(shape))
    size = shape[dim]
    length = whole(length, "length")
    if isinstance(start, Tensor):
        if start._a.ndim or start._a.dtype.kind not in "iu":
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = int(start)
    start = whole(start, "start")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    if start < 0:
        start += size
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return slice_op(input, index=narrow_index(dim, start, length))


@public()
def narrow_copy(input: Tensor, dim: int, start: int, length: int, *, out: Any = None) -> Tensor:  # noqa: A002
    """As `narrow`, but the result is a copy."""
    return into_same(out, narrow(input, dim, start, length).clone())


def narrow_index(dim: int, start: int, length: int) -> Window:
    return (_ALL,) * dim + ((start, start + length, 1),)
