"""Views: the same memory under another shape, order or window; none of these copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base.dtypes import dtype as dtype_type
from ...base.dtypes import title
from ...base.shapes import Size, as_size, broadcast_shapes, infer_view, view_size, wrap_dim
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor, tensor_over
from ...runtime.thread import GRAD, PARTS, here

# -- view ---------------------------------------------------------------------------------------


def view_strides(
    shape: Sequence[int], strides: Sequence[int], new: Sequence[int]
) -> tuple[int, ...] | None:
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


_view = Op(lambda xp, x, *, shape: x.reshape(shape), "view", view=True)


def _view_back(g: Tensor, x_shape: tuple[int, ...]) -> Tensor:
    """The gradient in the shape of before; a plain array where nothing is recorded."""
    a = g._a
    if here.state & (GRAD | PARTS) or not a.flags.c_contiguous:
        return reshape(g, x_shape)
    return tensor_over(a.reshape(x_shape), a.__class__)


_view.derivative(x=_view_back)
_copy_reshape = Op(
    lambda xp, x, *, shape: xp.ascontiguousarray(x).reshape(shape),
    "reshape_copy",
    moves_only=True,
    grad_name="UnsafeViewBackward0",
    meta=lambda x, *, shape: (shape, x.dtype),
)
_copy_reshape.derivative(x=lambda g, x_shape: reshape(g, x_shape))


def _can_view(x: Tensor, shape: tuple[int, ...]) -> bool:
    a = x._a
    return a.flags.c_contiguous or view_strides(a.shape, a.strides, shape) is not None


@public("Tensor")
def view(self: Tensor, *shape: Any, dtype: Any = None) -> Tensor:
    """The same memory in another shape (or another dtype); RuntimeError when that needs a copy."""
    if dtype is not None or (len(shape) == 1 and isinstance(shape[0], dtype_type)):
        return _view_dtype_of(self, dtype or shape[0])
    size = view_size(shape, self._a.size)
    if not _can_view(self, size):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension "
            "spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return _view(self, shape=size)


_view_dtype = Op(lambda xp, x, *, to: x.view(to.np), "view_dtype", view=True)


def _view_dtype_of(x: Tensor, d: Any) -> Tensor:
    have, want = x._a.itemsize, d.itemsize
    if have == want:
        return _view_dtype(x, to=d)
    what = f"to view {title(x.dtype)} as {title(d)} (different element sizes)"
    if x._a.ndim == 0:
        raise RuntimeError(f"self.dim() cannot be 0 {what}")
    if x._a.strides[-1] != have:
        raise RuntimeError(f"self.stride(-1) must be 1 {what}, but got {x.stride(-1)}")
    if want > have:
        ratio = want // have
        if x._a.shape[-1] % ratio:
            raise RuntimeError(
                f"self.size(-1) must be divisible by {ratio} {what}, but got {x._a.shape[-1]}"
            )
        for d_, step in enumerate(x.stride()[:-1]):
            if step % ratio:
                raise RuntimeError(f"self.stride({d_}) must be divisible by {ratio} {what}")
    return _view_dtype(x, to=d)


@public("Tensor")
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """A view with the shape of `other`."""
    return view(self, other._a.shape)


@public("torch", name="reshape")
def reshape(input: Tensor, shape: Any) -> Tensor:  # noqa: A002
    """`input` in another shape; a view where possible, else a copy."""
    return _in_shape(input, infer_view(as_size((shape,)), input._a.size))


def _in_shape(x: Tensor, size: tuple[int, ...]) -> Tensor:
    """`reshape` to a size that is known to fit."""
    return _view(x, shape=size) if _can_view(x, size) else _copy_reshape(x, shape=size)


@public("Tensor", name="reshape")
def _reshape_method(self: Tensor, *shape: Any) -> Tensor:
    return _in_shape(self, view_size(shape, self._a.size))


@public("Tensor")
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """`self` in the shape of `other`."""
    return reshape(self, other._a.shape)


@public()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:  # noqa: A002
    """Merge the dims from `start_dim` to `end_dim` into one."""
    shape = input._a.shape
    if not shape:
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
    """`input` in one dimension."""
    return reshape(input, (-1,))


@public()
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:  # noqa: A002
    """Split dim `dim` into `sizes`."""
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


# -- order of dims ------------------------------------------------------------------------------

_permute = Op(lambda xp, x, *, dims: x.transpose(dims), "permute", view=True)
_permute.derivative(x=lambda g, dims: _permute(g, dims=_inverse(dims)))
_transpose = Op(lambda xp, x, *, dim0, dim1: x.swapaxes(dim0, dim1), "transpose", view=True)
_transpose.derivative(x=lambda g, dim0, dim1: _transpose(g, dim0=dim0, dim1=dim1))
_t = Op(lambda xp, x: x.T, "t", view=True)
_t.derivative(x=lambda g: _t(g))


def _inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    inverse = [0] * len(dims)
    for i, d in enumerate(dims):
        inverse[d] = i
    return tuple(inverse)


@public("torch")
def permute(input: Tensor, dims: Any) -> Tensor:  # noqa: A002
    """The dims of `input` in another order."""
    order = tuple([wrap_dim(d, input._a.ndim) for d in as_size((tuple(dims),))])
    if len(order) != input._a.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length "
            f"of the desired ordering of dimensions i.e. input.dim() = {input._a.ndim} is not equal "
            f"to len(dims) = {len(order)}"
        )
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _permute(input, dims=order)


@public("Tensor", name="permute")
def _permute_method(self: Tensor, *dims: Any) -> Tensor:
    return permute(self, as_size(dims))


@public(aliases=("swapaxes", "swapdims"))
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:  # noqa: A002
    """`input` with two dims exchanged."""
    n = input._a.ndim
    i, j = wrap_dim(dim0, n), wrap_dim(dim1, n)
    if n == 0:
        return _view(input, shape=())
    return _transpose(input, dim0=i, dim1=j)


@public("torch", "Tensor")
def t(input: Tensor) -> Tensor:  # noqa: A002
    """The transpose of a matrix; vectors and scalars stay as they are."""
    if input._a.ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {input._a.ndim}D"
        )
    return input if input._a.ndim < 2 else _t(input)


@public(aliases=("moveaxis",))
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:  # noqa: A002
    """Move dims to new places, keeping the order of the others."""
    n = input._a.ndim
    src = [wrap_dim(d, n) for d in (source if isinstance(source, (tuple, list)) else [source])]
    dst = [
        wrap_dim(d, n)
        for d in (destination if isinstance(destination, (tuple, list)) else [destination])
    ]
    if len(src) != len(dst):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source and destination must have the same length"
        )
    order = [d for d in range(n) if d not in src]
    for place, d in sorted(zip(dst, src)):
        order.insert(place, d)
    return _permute(input, dims=tuple(order))


Tensor.T = property(lambda self: _permute(self, dims=tuple(range(self._a.ndim))[::-1]))  # type: ignore[method-assign, assignment]


def _mt(self: Tensor) -> Tensor:
    if self._a.ndim < 2:
        raise RuntimeError(
            "tensor.mT is only supported on matrices or batches of matrices. Got "
            f"{self._a.ndim}-D tensor."
        )
    return transpose(self, -2, -1)


Tensor.mT = property(_mt)  # type: ignore[method-assign, assignment]


# -- size-1 dims and broadcasting ---------------------------------------------------------------


def _squeeze_body(xp: Any, x: Any, *, dims: tuple[int, ...]) -> Any:
    return x.squeeze(axis=dims)


_squeeze = Op(_squeeze_body, "squeeze", view=True)
_squeeze.derivative(x=lambda g, x_shape: reshape(g, x_shape))


@public()
def unsqueeze(input: Tensor, dim: int) -> Tensor:  # noqa: A002
    """A new dim of size 1 at `dim`."""
    shape = input._a.shape
    at = wrap_dim(dim, len(shape) + 1)
    return _unsqueeze(input, dim=at)


_unsqueeze = Op(
    lambda xp, x, *, dim: x.reshape(x.shape[:dim] + (1,) + x.shape[dim:]) if x.size and x.flags.c_contiguous
    else x[(slice(None),) * dim + (None, ...)],
    "unsqueeze",
    view=True,
)  # fmt: skip
_unsqueeze.derivative(x=lambda g, dim: _squeeze(g, dims=(dim,)))


@public()
def squeeze(input: Tensor, dim: Any = None) -> Tensor:  # noqa: A002
    """Without its dims of size 1, or without those of `dim` that are."""
    shape = input._a.shape
    if dim is None:
        wanted = list(range(len(shape)))
    else:
        wanted = [
            wrap_dim(d, len(shape)) for d in (dim if isinstance(dim, (tuple, list)) else [dim])
        ]
    return _squeeze(input, dims=tuple([d for d in wanted if d < len(shape) and shape[d] == 1]))


def _expand_body(xp: Any, x: Any, *, shape: tuple[int, ...]) -> Any:
    out = xp.broadcast_to(x, shape)
    if hasattr(out.flags, "writeable") and not out.flags.writeable and x.flags.writeable:
        out.flags.writeable = True  # our own check refuses writes to expanded elements
    return out


_expand = Op(_expand_body, "expand", view=True)
_expand.derivative(x=lambda g, x_shape: g.sum_to_size(x_shape))


@public("Tensor")
def expand(self: Tensor, *sizes: Any, implicit: bool = False) -> Tensor:
    """Dims of size 1 repeated to `sizes` without copying; -1 keeps a size."""
    size = as_size(sizes)
    shape = self._a.shape
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand({self.type()}{{{list(shape)}}}, size={list(size)}): the number of sizes provided "
            f"({len(size)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(shape)})"
        )
    target = []
    for i, want in enumerate(size):
        have = shape[i - lead] if i >= lead else 1
        if want == -1:
            if i < lead:
                raise RuntimeError(
                    "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                    f"dimension {i}"
                )
            want = have
        elif have not in (1, want):
            raise RuntimeError(
                f"The expanded size of the tensor ({want}) must match the existing size ({have}) at "
                f"non-singleton dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: "
                f"{list(shape)}"
            )
        target.append(want)
    return _expand(self, shape=tuple(target))


@public("Tensor")
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Expanded to the shape of `other`."""
    return expand(self, other._a.shape)


@public("torch")
def broadcast_to(input: Tensor, size: Any) -> Tensor:  # noqa: A002
    """`input` expanded to `size`."""
    return expand(input, tuple(size))


Tensor.broadcast_to = lambda self, size: expand(self, tuple(size))  # type: ignore[method-assign, arg-type]


@public("torch")
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """All tensors expanded to their common shape."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    shape = broadcast_shapes(*[x._a.shape for x in tensors])
    return tuple(expand(x, shape) for x in tensors)


@public("torch", name="broadcast_shapes")
def _broadcast_shapes(*shapes: Any) -> Size:
    """The shape several shapes broadcast to."""
    return Size(broadcast_shapes(*[(s,) if isinstance(s, int) else s for s in shapes]))
