"""Views by strides: as_strided, and overlapping windows along a dim."""

from __future__ import annotations

from typing import Any

from ...base.arrays import Array, ArrayModule
from ...base.shapes import as_size, check_size, strided_view, whole, wrap_dim
from ...core.memory import data_pointer, memory_as, root_array
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.batch.arrays import BatchedArray
from ...runtime.facts import Facts
from ..index.scatter_kernels import add_at

Geometry = tuple[tuple[int, ...], tuple[int, ...], int]  # size, strides and offset in elements


def geometry(a: Array) -> Geometry:
    """Where an array's elements lie in the memory it views; of a sample under `vmap`, where those of the first one lie."""
    item = a.itemsize
    if a.__class__ is BatchedArray:
        return a.shape, tuple([s // item for s in a.strides]), geometry(a.held)[2]
    offset = (data_pointer(a) - data_pointer(root_array(a))) // item
    return a.shape, tuple([s // item for s in a.strides]), offset


def _memory(a: Any) -> Any:
    while a.__class__ is BatchedArray:
        a = a.held
    return root_array(a)


def _extent(size: tuple[int, ...], stride: tuple[int, ...], offset: int) -> int:
    """How many elements the memory must have."""
    if 0 in size:
        return 0
    return offset + 1 + sum([(n - 1) * step for n, step in zip(size, stride)])


def _strided(xp: ArrayModule, flat: Array, size: tuple, stride: tuple, offset: int) -> Any:
    item = flat.itemsize
    steps = tuple([s * item for s in stride])
    return strided_view(xp, flat[offset:], size, steps)


def _positions(xp: ArrayModule, size: tuple, stride: tuple, offset: int) -> Any:
    """The place in memory of every element."""
    at = xp.full(size, offset, dtype="int64")
    for d, (n, step) in enumerate(zip(size, stride)):
        shape = [1] * len(size)
        shape[d] = n
        at += (xp.arange(n) * step).reshape(shape)
    return at


def _as_strided_body(xp: ArrayModule, x: Array, *, size: tuple, stride: tuple, offset: int, home: Any) -> Any:
    return strided_over(xp, root_array(x), x.dtype, size, stride, offset)


def strided_over(xp: ArrayModule, root: Array, dtype: Any, size: tuple, stride: tuple, offset: int) -> Any:
    """The memory of `root`, which owns it, seen as elements of a dtype with sizes, strides and an offset."""
    return _strided(xp, memory_as(root, dtype), size, stride, offset)


as_strided_op = Op(_as_strided_body, "as_strided", view=True)


def _laid(xp: ArrayModule, x: Any, home: Geometry, at_least: int) -> Any:
    """New memory with `x` written where `home` says."""
    flat = xp.zeros(max(_extent(*home), at_least), x.dtype)
    _strided(xp, flat, *home)[...] = x
    return flat


def _read_body(xp: ArrayModule, x: Any, *, size: tuple, stride: tuple, offset: int, home: Any) -> Any:
    """As as_strided reads it, were `x` laid out as `home` says; a copy."""
    flat = _laid(xp, x, home, _extent(size, stride, offset))
    return _strided(xp, flat, size, stride, offset).copy()


def _grad_body(xp: ArrayModule, g: Array, *, size: tuple, stride: tuple, offset: int, home: Any) -> Any:
    flat = xp.zeros(max(_extent(*home), _extent(size, stride, offset)), g.dtype)
    add_at(xp, flat, (_positions(xp, size, stride, offset),), g)
    out = _strided(xp, flat, *home).copy()
    if any(step == 0 and n > 1 for n, step in zip(home[0], home[1])):
        # Elements of an expanded input share a place; each gets its part of that place's gradient.
        count = xp.zeros(flat.shape, g.dtype)
        add_at(xp, count, (_positions(xp, *home),), xp.ones((), g.dtype))
        out /= _strided(xp, count, *home)
    return out


_as_strided_read = Op(_read_body, "as_strided_read", moves_only=True)
_as_strided_grad = Op(_grad_body, "as_strided_grad")
as_strided_op.derivative(
    x=lambda g, size, stride, offset, home: _as_strided_grad(g, size=size, stride=stride, offset=offset, home=home)
)
_as_strided_read.derivative(
    x=lambda g, size, stride, offset, home: _as_strided_grad(g, size=size, stride=stride, offset=offset, home=home)
)
_as_strided_grad.derivative(
    g=lambda g, size, stride, offset, home: _as_strided_read(g, size=size, stride=stride, offset=offset, home=home)
)


def _lay_body(xp: ArrayModule, x: Any, *, home: Geometry) -> Any:
    return _strided(xp, _laid(xp, x, home, 0), *home)


_lay = Op(_lay_body, "lay_out", moves_only=True, grad_name="CloneBackward0", facts=Facts(onnx="unary Identity"))
_lay.derivative(x=lambda g: g)


def _same_layout(base: Tensor) -> Any:
    """A function that copies a gradient into memory laid out as `base` is."""
    home = geometry(base._a)
    return lambda g: _lay(g, home=home)


def layout_of_one(base: Tensor) -> Any:
    """The same; None for arrays of samples, which are laid out by `vmap`."""
    return None if base._a.__class__ is BatchedArray else _same_layout(base)


# as_strided reads memory, not elements: replayed on a gradient it needs the base's own layout.
as_strided_op.same_layout = _same_layout  # type: ignore[attr-defined]


@public()
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:  # noqa: A002
    """A view of the memory with any sizes and strides; several elements may show the same place.

    Args:
        size: the size of every dimension.
        stride: for each dimension, how many elements in memory lie between neighbours.
        storage_offset: where the view begins, in elements of the memory; where `input` begins
            if None.

    Raises:
        RuntimeError: if the view would reach beyond the memory.

    Example:
        >>> torch.arange(5).as_strided((3, 2), (1, 1))
        tensor([[0, 1],
                [1, 2],
                [2, 3]])
    """
    size, stride = as_size((tuple(size),)), as_size((tuple(stride),))
    home = geometry(input._a)
    offset = home[2] if storage_offset is None else whole(storage_offset, "storage_offset")
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    check_size(size)
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    item = input._a.itemsize
    needed, have = _extent(size, stride, offset) * item, _memory(input._a).nbytes
    if needed >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    if needed > have or offset < 0:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and "
            f"itemsize {item} requiring a storage size of {needed} are out of bounds for storage of "
            f"size {have}"
        )
    return as_strided_op(input, size=size, stride=stride, offset=offset, home=home)


# -- unfold -------------------------------------------------------------------------------------


def _unfold_body(xp: ArrayModule, x: Array, *, dim: int, size: int, step: int) -> Any:
    step = min(step, x.shape[dim] + 1)  # a longer one takes the first window as well
    count = (x.shape[dim] - size) // step + 1
    shape = (*x.shape[:dim], count, *x.shape[dim + 1 :], size)
    inner = x.strides[dim]
    strides = (*x.strides[:dim], inner * step, *x.strides[dim + 1 :], inner)
    return strided_view(xp, x, shape, strides)


def _unfold_grad_body(xp: ArrayModule, g: Array, *, dim: int, size: int, step: int, shape: tuple) -> Any:
    out = xp.zeros(shape, g.dtype)
    lead = (slice(None),) * dim
    count = g.shape[dim]
    for k in range(size):  # each position within the windows lies on its own comb
        out[(*lead, slice(k, k + (count - 1) * step + 1, step))] += g[..., k]
    return out


_unfold = Op(_unfold_body, "unfold", view=True, facts=Facts(vmap="along"))
_unfold_grad = Op(
    _unfold_grad_body,
    "unfold_grad",
    grad_name="UnfoldBackwardBackward0",
    meta=lambda g, *, dim, size, step, shape: (shape, g.dtype),
)
_unfold.derivative(x=lambda g, x_shape, dim, size, step: _unfold_grad(g, dim=dim, size=size, step=step, shape=x_shape))
_unfold_grad.derivative(g=lambda g, dim, size, step: _unfold(g, dim=dim, size=size, step=step))


@public("Tensor")
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """All windows of a size along a dimension; a view in which the window is the last dimension.

    Args:
        dimension: the dimension.
        size: the size of a window.
        step: the distance of neighbouring windows.

    Example:
        >>> torch.arange(5).unfold(0, 3, 1)
        tensor([[0, 1, 2],
                [1, 2, 3],
                [2, 3, 4]])
    """
    ndim = self._a.ndim
    dim = wrap_dim(dimension, ndim)
    length = self._a.shape[dim] if ndim else 1
    if whole(size, "size") < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {length} but size is {size}")
    if whole(step, "step") <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not ndim:
        return self.reshape(1).narrow(0, 0, size)
    return _unfold(self, dim=dim, size=size, step=step)
