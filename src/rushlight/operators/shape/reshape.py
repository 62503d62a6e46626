"""Another shape for the same elements: a view of the memory where that is possible, otherwise a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import dtype as dtype_type
from ...base.dtypes import title
from ...base.shapes import as_size, by_name, infer_view, view_size, wrap_dim
from ...core.op import Op, native
from ...core.public import public
from ...core.tensor import Tensor, tensor_over
from ...runtime.facts import Facts
from ...runtime.thread import GRAD, PARTS, here
from ...runtime.wrapped import MADE_OF_OTHERS
from ..made_of.spelling import axis_for_dim


def view_strides(shape: Sequence[int], strides: Sequence[int], new: Sequence[int]) -> tuple[int, ...] | None:
    """Strides under which `new` shows the same elements without a copy, or None."""
    if 0 in shape or 0 in new:
        return tuple(1 for _ in new)
    # Merge the old dims into runs that are contiguous among themselves, then split the runs.
    runs: list[list[int]] = []  # [size, stride of the innermost]
    for size, step in zip(shape, strides):
        if size == 1:
            continue
        if runs and runs[-1][1] == size * step:
            runs[-1] = [runs[-1][0] * size, step]
        else:
            runs.append([size, step])
    out = [1] * len(new)
    i = len(new) - 1
    for size, step in reversed(runs):
        while i >= 0 and size > 1:
            if new[i] == 1:
                out[i] = step
            elif size % new[i] == 0:
                out[i] = step
                step *= new[i]
                size //= new[i]
            else:
                return None
            i -= 1
        if size != 1:
            return None
    return tuple(out) if all(n == 1 for n in new[: i + 1]) else None


_view = Op(
    lambda xp, x, *, shape: x.reshape(shape),
    "view",
    view=True,
    facts=Facts(vmap="view", onnx="reshape", aten="view ordered shape"),
)


def _same_layout(base: Tensor) -> Any:
    """Of a gradient that lies otherwise than `base` another shape would be a copy, and what is written there lost."""
    from .strided import layout_of_one

    return layout_of_one(base)


_view.same_layout = _same_layout  # type: ignore[attr-defined]


def _view_back(g: Tensor, x_shape: tuple[int, ...]) -> Tensor:
    """The gradient in the shape of before; a plain array where nothing is recorded."""
    a = g._a
    if here.state & (GRAD | PARTS) or a.__class__ in MADE_OF_OTHERS or not a.flags.c_contiguous:
        return reshape(g, x_shape)
    return tensor_over(a.reshape(x_shape), a.__class__)


_view.derivative(x=_view_back)
_copy_reshape = Op(
    lambda xp, x, *, shape: xp.ascontiguousarray(x).reshape(shape),
    "reshape_copy",
    moves_only=True,
    grad_name="UnsafeViewBackward0",
    meta=lambda x, *, shape: (shape, x.dtype),
    facts=Facts(vmap="view", aten="_unsafe_view", onnx="reshape"),
)
_copy_reshape.derivative(x=lambda g, x_shape: reshape(g, x_shape))


def can_view(a: Any, shape: tuple[int, ...]) -> bool:
    """Whether the array's memory can be shown in another shape of as many elements."""
    return a.flags.c_contiguous or view_strides(a.shape, a.strides, shape) is not None


_can_view = can_view if native is None else native.can_view


@public("Tensor")
def view(self: Tensor, *shape: Any, size: Any = None, dtype: Any = None) -> Tensor:
    """The same memory in another shape or dtype.

    Args:
        shape: the new sizes, of which one may be -1; or a dtype.
        size: the same, by name.
        dtype: the dtype to read the bytes as.

    Raises:
        RuntimeError: if that needs a copy (use `reshape`), or sizes do not fit.

    Example:
        >>> x = torch.arange(4)
        >>> x.view(2, 2)[0, 0] = 9
        >>> x
        tensor([9, 1, 2, 3])
    """
    if dtype is not None or (len(shape) == 1 and isinstance(shape[0], dtype_type)):
        return _view_dtype_of(self, dtype or shape[0])
    if size is not None or not shape:
        shape = by_name("size", shape, size)
    size = view_size(shape, self._a.size)
    if not _can_view(self._a, size):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension "
            "spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return _view(self, shape=size)


def _view_dtype_body(xp: ArrayModule, x: Array, *, to: dtype_type) -> Any:
    if x.size or not x.ndim:
        return x.view(to.np)
    seen, item = x.view(to.np), to.itemsize  # NumPy leaves no steps to an array without elements
    steps = [s // item * item for s in x.strides[:-1]] + [item]
    return xp.ndarray(seen.shape, seen.dtype, strides=tuple(steps))  # type: ignore[attr-defined]


_view_dtype = Op(_view_dtype_body, "view_dtype", view=True)


def _view_dtype_of(x: Tensor, d: Any) -> Tensor:
    have, want = x._a.itemsize, d.itemsize
    if have == want:
        return _view_dtype(x, to=d)
    what = f"to view {title(x.dtype)} as {title(d)} (different element sizes)"
    if x._a.ndim == 0:
        raise RuntimeError(f"self.dim() cannot be 0 {what}")
    if x.stride(-1) != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {what}, but got {x.stride(-1)}")
    if want > have:
        ratio = want // have
        if x._a.shape[-1] % ratio:
            raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {what}, but got {x._a.shape[-1]}")
        where = {"self.storage_offset()": x.storage_offset()}
        where |= {f"self.stride({d_})": step for d_, step in enumerate(x.stride()[:-1])}
        for name, at in where.items():
            if at % ratio:
                raise RuntimeError(f"{name} must be divisible by {ratio} {what}, but got {at}")
    return _view_dtype(x, to=d)


@public("Tensor")
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """As `view`, with the shape of another tensor."""
    return view(self, other._a.shape)


@public("torch", name="reshape")
def reshape(input: Tensor, shape: Any) -> Tensor:  # noqa: A002
    """The same elements in another shape; a view where the memory allows it, otherwise a copy.

    Args:
        shape: the new sizes; one of them may be -1, which is worked out from the rest.

    Raises:
        RuntimeError: if the number of elements does not fit.

    Example:
        >>> torch.reshape(torch.arange(6), (2, -1))
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
    return _in_shape(input, view_size((shape,), input._a.size))


def _in_shape(x: Tensor, size: tuple[int, ...]) -> Tensor:
    """`reshape` to a size that is known to fit."""
    return _view(x, shape=size) if _can_view(x._a, size) else _copy_reshape(x, shape=size)


@public("Tensor", name="reshape")
def _reshape_method(self: Tensor, *sizes: Any, shape: Any = None) -> Tensor:
    """The same elements in another shape; a view where the memory allows it, otherwise a copy.

    Args:
        sizes: the new sizes, one by one or as a tuple; one of them may be -1, which is worked out
            from the rest.
        shape: the same, by name.

    Raises:
        RuntimeError: if the number of elements does not fit.

    Example:
        >>> torch.arange(6).reshape(2, -1)
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
    if shape is not None or not sizes:
        sizes = by_name("shape", sizes, shape)
    return _in_shape(self, view_size(sizes, self._a.size))


@public("Tensor")
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """As `reshape`, with the shape of another tensor."""
    return reshape(self, other._a.shape)


@public()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:  # noqa: A002
    """Merge neighbouring dimensions into one.

    Args:
        start_dim: the first dimension to merge.
        end_dim: the last one.

    Example:
        >>> torch.zeros(2, 3, 4).flatten(1).shape
        torch.Size([2, 12])
    """
    shape = input._a.shape
    if not shape:
        wrap_dim(start_dim, 0), wrap_dim(end_dim, 0)
        return reshape(input, (1,))
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if start == end:
        return input
    merged = 1
    for s in shape[start : end + 1]:
        merged *= s
    return _in_shape(input, shape[:start] + (merged,) + shape[end + 1 :])


@public()
def ravel(input: Tensor) -> Tensor:  # noqa: A002
    """The elements in one dimension; a copy only if the memory is not in order.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]]).ravel()
        tensor([1, 2, 3, 4])
    """
    return input.contiguous().view(-1)


@public()
@axis_for_dim
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:  # noqa: A002
    """Split one dimension into several.

    Args:
        sizes: what it becomes; one may be -1.

    Example:
        >>> torch.zeros(2, 12).unflatten(1, (3, 4)).shape
        torch.Size([2, 3, 4])
    """
    shape = input._a.shape
    at = wrap_dim(dim, len(shape))
    try:
        split = infer_view(as_size((tuple(sizes),)), shape[at])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {at} "
            f"({shape[at]}) in the input tensor"
        ) from None
    return view(input, shape[:at] + split + shape[at + 1 :])
