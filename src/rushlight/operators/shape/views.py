"""Views: the same memory under another shape, order or window; none of these copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...base.dtypes import dtype as dtype_type
from ...base.dtypes import title
from ...base.shapes import (
    Size,
    as_size,
    broadcast_shapes,
    by_name,
    infer_view,
    view_size,
    wrap_dim,
    wrap_dims,
)
from ...core.op import Op, native
from ...core.public import public
from ...core.tensor import Tensor, tensor_over
from ...runtime.thread import GRAD, PARTS, here
from ..made_of.guards import invalid_arguments
from ..made_of.spelling import axis_for_dim, needed, one_of

if TYPE_CHECKING:
    from ...base.array_module import ArrayModule
    from ...base.protocols import Array

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
    if size is not None:
        shape = by_name("size", shape, size)
    size = view_size(shape, self._a.size)
    if not _can_view(self._a, size):
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
    if x.stride(-1) != 1:
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
    return _in_shape(input, infer_view(as_size((shape,)), input._a.size))


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
    if shape is not None:
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
    return reshape(input, (-1,))


@public()
@axis_for_dim
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:  # noqa: A002
    """Split one dimension into several.

    Args:
        dim: the dimension.
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
    """The dimensions in another order, as a view.

    Args:
        dims: every dimension once, in the new order.

    Example:
        >>> torch.permute(torch.zeros(2, 3, 4), (2, 0, 1)).shape
        torch.Size([4, 2, 3])
    """
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
def _permute_method(self: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """The dimensions in another order, as a view.

    Args:
        order: every dimension once, in the new order; one by one or as a tuple.
        dims: the same, by name.

    Example:
        >>> torch.zeros(2, 3, 4).permute(2, 0, 1).shape
        torch.Size([4, 2, 3])
    """
    return permute(self, as_size(order if dims is None else by_name("dims", order, dims)))


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
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {input._a.ndim}D"
        )
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
    dst = [
        wrap_dim(d, n)
        for d in (destination if isinstance(destination, (tuple, list)) else [destination])
    ]
    if len(src) != len(dst):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source and destination must have the same length"
        )
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
            "tensor.mT is only supported on matrices or batches of matrices. Got "
            f"{self._a.ndim}-D tensor."
        )
    return transpose(self, -2, -1)


Tensor.T = property(_transposed)  # type: ignore[method-assign, assignment]
Tensor.mT = property(_mt)  # type: ignore[method-assign, assignment]


# -- size-1 dims and broadcasting ---------------------------------------------------------------


def _squeeze_body(xp: ArrayModule, x: Array, *, dims: tuple[int, ...]) -> Any:
    return x.squeeze(axis=dims)


_squeeze = Op(_squeeze_body, "squeeze", view=True)
_squeeze.derivative(x=lambda g, x_shape: reshape(g, x_shape))


@public()
def unsqueeze(input: Tensor, dim: int | None = None, *, axis: Any = None) -> Tensor:  # noqa: A002
    """A new dimension of size 1.

    Args:
        dim: its place; negative ones count from the end.
        axis: the same by NumPy's name.

    Example:
        >>> torch.tensor([1, 2]).unsqueeze(1)
        tensor([[1],
                [2]])
    """
    shape = input._a.shape
    at = wrap_dim(needed("unsqueeze", one_of("unsqueeze", dim, axis)), len(shape) + 1)
    return _unsqueeze(input, dim=at)


_unsqueeze = Op(
    lambda xp, x, *, dim: x.reshape(x.shape[:dim] + (1,) + x.shape[dim:]) if x.size and x.flags.c_contiguous
    else x[(slice(None),) * dim + (None, ...)],
    "unsqueeze",
    view=True,
)  # fmt: skip
_unsqueeze.derivative(x=lambda g, dim: _squeeze(g, dims=(dim,)))


class _All:
    """The default of `dim`: all of them. None, which PyTorch refuses here, is something else."""

    def __repr__(self) -> str:
        return "..."


ALL: Any = _All()


def _given(name: str, input: Tensor, dim: Any) -> Any:
    if dim is None or isinstance(dim, bool):
        raise invalid_arguments(name, input, dim)
    return dim


@public()
def squeeze(input: Tensor, dim: Any = ALL, *, axis: Any = None) -> Tensor:  # noqa: A002
    """The dimensions of size 1 left out.

    Args:
        dim: leave out only these, where their size is 1; all if not given.
        axis: the same by NumPy's name.

    Example:
        >>> torch.zeros(1, 3, 1).squeeze().shape, torch.zeros(1, 3, 1).squeeze(0).shape
        (torch.Size([3]), torch.Size([3, 1]))
    """
    shape = input._a.shape
    dim = one_of("squeeze", None if dim is ALL else dim, axis) if axis is not None else dim
    if dim is ALL:
        wanted = list(range(len(shape)))
    elif dim.__class__ is int:
        wanted = [wrap_dim(dim, len(shape))]
    else:
        wanted = list(wrap_dims(_given("squeeze", input, dim), len(shape)) or ())
    return _squeeze(input, dims=tuple([d for d in wanted if d < len(shape) and shape[d] == 1]))


def _expand_body(xp: ArrayModule, x: Array, *, shape: tuple[int, ...]) -> Any:
    out = xp.broadcast_to(x, shape)
    if hasattr(out.flags, "writeable") and not out.flags.writeable and x.flags.writeable:
        out.flags.writeable = True  # our own check refuses writes to expanded elements
    return out


_expand = Op(_expand_body, "expand", view=True)
_expand.derivative(x=lambda g, x_shape: g.sum_to_size(x_shape))


@public("Tensor")
def expand(self: Tensor, *sizes: Any, size: Any = None, implicit: bool = False) -> Tensor:
    """Dimensions of size 1 shown as larger ones, without copying; new dimensions may be added in front.

    Args:
        sizes: the new shape; -1 keeps a size.
        size: the same, by name.
        implicit: for PyTorch's signature; it changes nothing.

    Raises:
        RuntimeError: if a size that is not 1 would have to change.

    Example:
        >>> torch.tensor([[1], [2]]).expand(2, 3)
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
    size = as_size(sizes if size is None else by_name("size", sizes, size))
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
    """Expanded to the shape of another tensor, without copying.

    Example:
        >>> torch.tensor([1, 2]).expand_as(torch.zeros(3, 2)).shape
        torch.Size([3, 2])
    """
    return expand(self, other._a.shape)


@public("torch")
def broadcast_to(input: Tensor, size: Any) -> Tensor:  # noqa: A002
    """Expanded to a shape, without copying.

    Args:
        size: the shape.

    Example:
        >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
    """
    return expand(input, tuple(size))


Tensor.broadcast_to = broadcast_to  # type: ignore[method-assign, assignment]


@public("torch")
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Several tensors expanded to the shape they have together in arithmetic.

    Args:
        tensors: tensors whose shapes broadcast.

    Example:
        >>> a, b = torch.broadcast_tensors(torch.zeros(3, 1), torch.zeros(2))
        >>> a.shape, b.shape
        (torch.Size([3, 2]), torch.Size([3, 2]))
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    shape = broadcast_shapes(*[x._a.shape for x in tensors])
    return tuple(x if x._a.shape == shape else expand(x, shape) for x in tensors)


@public("torch", name="broadcast_shapes")
def _broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes have together in arithmetic.

    Args:
        shapes: tuples, or numbers for one dimension.

    Raises:
        RuntimeError: if they do not broadcast.

    Example:
        >>> torch.broadcast_shapes((3, 1), (2,))
        torch.Size([3, 2])
    """
    return Size(broadcast_shapes(*[(s,) if isinstance(s, int) else s for s in shapes]))
