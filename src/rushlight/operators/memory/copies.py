"""A tensor's memory: copies of it, writes into it, and what lies behind it."""

from __future__ import annotations

from typing import Any

from ...base import dtypes, fits, formats
from ...base.arrays import Array, ArrayModule
from ...base.formats import memory_format as format_type
from ...base.shapes import broadcast_shapes
from ...core.gradients.mapped import note_shared
from ...core.inplace import adopt_history, bump, check_apart, check_writable, write
from ...core.memory import partly_same
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor, tensor_over
from ...core.views import current_edge, mark_detached
from ...runtime.batch.arrays import BatchedArray
from ...runtime.door import Kernel, run
from ...runtime.facts import Facts
from ...runtime.sparse_array import sparse
from ...runtime.thread import GRAD, TAPE, here
from ...runtime.wrapped import WrappedArray, answer
from .casting import cast_to, move_to

# -- copies -------------------------------------------------------------------------------------


def _clone_body(xp: ArrayModule, x: Array, *, order: Any) -> Any:
    """A copy whose axes lie in memory in `order`, outermost first; "K" keeps the source's."""
    if order.__class__ is str:
        return x.copy(order)
    back = [0] * len(order)
    for place, axis in enumerate(order):
        back[axis] = place
    return x.transpose(order).copy("C").transpose(back)


clone_op = Op(
    _clone_body,
    "clone",
    moves_only=True,
    meta=lambda x, *, order: (x.shape, x.dtype),
    facts=Facts(range="kept", vmap="clone", onnx="unary Identity", aten="clone plain", sparse="cloned"),
)
clone_op.derivative(x=lambda g: g)


def _order(x: Tensor, memory_format: format_type | None) -> Any:
    if memory_format is None or memory_format is formats.preserve_format:
        a = x._a
        steps = [step for size, step in zip(a.shape, a.strides) if size > 1 and step]
        if len(set(steps)) == len(steps):
            return "K"
        return tuple(formats.dense_order(a.shape, [(a.shape, a.strides)]))  # equal strides: by the sizes
    if memory_format is formats.contiguous_format:
        return "C"
    return formats.order_of(memory_format, x._a.ndim)


@public()
def clone(input: Tensor, *, memory_format: format_type | None = None) -> Tensor:  # noqa: A002
    """A copy in new memory; gradients flow through it.

    Example:
        >>> x = torch.tensor([1, 2])
        >>> y = x.clone()
        >>> y[0] = 9
        >>> x
        tensor([1, 2])
    """
    return clone_op(input, order=_order(input, memory_format))


@public("Tensor")
def contiguous(self: Tensor, memory_format: format_type = formats.contiguous_format) -> Tensor:
    """The tensor with its elements in order in memory; itself if they are.

    Args:
        memory_format: the order: `torch.contiguous_format`, `torch.channels_last` or
            `torch.channels_last_3d`.

    Example:
        >>> x = torch.zeros(2, 3).T
        >>> x.is_contiguous(), x.contiguous().is_contiguous()
        (False, True)
    """
    if memory_format is formats.preserve_format:
        return self
    if is_contiguous(self, memory_format):
        return self
    return clone_op(self, order=_order(self, memory_format))


@public("Tensor")
def is_contiguous(self: Tensor, memory_format: format_type = formats.contiguous_format) -> bool:
    """Whether the elements lie in memory in order, without gaps.

    Args:
        memory_format: the order asked for.

    Example:
        >>> torch.zeros(2, 3).T.is_contiguous()
        False
    """
    if memory_format is formats.contiguous_format:
        return bool(self._a.flags.c_contiguous)
    order = formats.ORDERS.get(memory_format)
    if order is None:
        raise RuntimeError("preserve memory format is unsupported by the is_contiguous query")
    if self._a.ndim != len(order):
        return False
    step = self._a.itemsize
    for axis in reversed(order):
        size = self._a.shape[axis]
        if size != 1:
            if self._a.strides[axis] != step:
                return False
            step *= max(size, 1)
    return True


@public()
def detach(input: Tensor) -> Tensor:  # noqa: A002
    """The same memory without history: no gradients flow through the result.

    A change in place of one is seen in the other, and noticed if `backward` needs the old
    values.

    Example:
        >>> w = torch.ones(2, requires_grad=True)
        >>> (w * 2).detach().requires_grad
        False
    """
    if input._a.__class__ is WrappedArray:
        return answer.of_tensor("detach.default", input)
    t = tensor_over(input._a, input._a.__class__)
    if input._ver is None:
        input._ver = [0]
    t._ver = input._ver
    if input._ext is not None and input._ext.inference:
        mark_detached(t)
    return t


@public()
def detach_(input: Tensor) -> Tensor:  # noqa: A002
    """Take this tensor itself out of the graph that made it; returns it.

    In `inference_mode` nothing happens.

    Raises:
        RuntimeError: for a view of a tensor with history.

    Example:
        >>> y = torch.ones(2, requires_grad=True) * 2
        >>> y.detach_().requires_grad
        False
    """
    if here.inference:  # nothing is recorded, and PyTorch leaves alone what was
        return input
    if input._base is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel "
            "(DDP) for training, and gradient_as_bucket_view is set as True, gradients are views of "
            "DDP buckets, and hence detach_() cannot be called on these gradients."
        )
    input._edge = None
    return input


# -- writes -------------------------------------------------------------------------------------


def _fill_into(xp: ArrayModule, dst: Array, *, value: Any) -> Any:
    dst[...] = value
    return dst


FILL_INTO = Kernel(
    "fill_into",
    _fill_into,
    mutates=(0,),
    meta=lambda dst, *, value: (dst.shape, dst.dtype),
    facts=Facts(aten="fill_ filled", onnx="write"),
)


def _tape_only(xp: ArrayModule, x: Any, src: Any) -> Any:
    raise RuntimeError("a write only exists on the tape")


def _write_op(name: str, grad_name: str, vmap: str | None = "copied", aten: str | None = "") -> Op:
    """What the tape keeps of a write that replaces every value: the target's gradient is zero."""
    op = Op(_tape_only, name, grad_name=grad_name, facts=Facts(vmap=vmap, aten=aten, onnx="write"))
    op.derivative(x=lambda g: g.new_zeros(g._a.shape), src=lambda g: g)
    return op


_copied = _write_op("copied", "CopyBackwards", aten="clone plain")
_filled = _write_op("filled", "FillBackward0")
_zeroed = _write_op("zeroed", "ZeroBackward0", aten="zeros_like")


def _written(op: Op, t: Tensor, src: Tensor | None) -> Tensor:
    """`src` (or `t`'s own memory) as the result of writing over all of `t`."""
    out = tensor_over((t if src is None else src)._a, t._a.__class__)
    if here.state & TAPE == GRAD:
        mask = 1 if current_edge(t) is not None else 0
        if src is not None and current_edge(src) is not None:
            mask |= 2
        if mask:
            edges = [t._edge, None if src is None else src._edge]
            op.record(mask, (t, src), {}, (out,), edges)
            if t._a.__class__ is BatchedArray:
                note_shared((t, src), edges, (out,))
    return out


@public("Tensor")
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Write another tensor's values into this one; returns the tensor itself.

    Args:
        src: a tensor of any dtype and device, whose shape broadcasts to this one.
        non_blocking: do not wait for a copy to or from a GPU.

    Example:
        >>> torch.zeros(2, 2).copy_(torch.tensor([1, 2]))
        tensor([[1., 2.],
                [1., 2.]])
    """
    if not isinstance(src, Tensor):
        if isinstance(src, (bool, int, float, complex)):
            return fill_(self, src)
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {_kind(src)}")
    if sparse.active and sparse.among(src):
        raise sparse.not_copied(self, src)
    check_writable(self)
    if src is self:
        bump(self)
        return self
    check_apart(self, src)
    if not (self.is_cpu and src.is_cpu):
        src = move_to(src, self.device, non_blocking)
    if src._a.dtype != self._a.dtype:
        src = cast_to(src, self.dtype)
    if src._a.shape != self._a.shape:
        common = broadcast_shapes(self._a.shape, src._a.shape)
        if common != self._a.shape:
            raise RuntimeError(
                f"output with shape {list(self._a.shape)} doesn't match the broadcast shape {list(common)}"
            )
        src = src.expand(common)
    return write(self, _written(_copied, self, src))


def _fill_with(t: Tensor, value: Any, op: Op) -> Tensor:
    check_writable(t, repeats=True)
    run(FILL_INTO, t._a.__class__, (t._a,), {"value": value})
    bump(t)
    if here.state & TAPE == GRAD:
        adopt_history(t, _written(op, t, None))
    return t


@public()
def fill_(input: Tensor, value: Any) -> Tensor:  # noqa: A002
    """Write one value everywhere; returns the tensor itself.

    Args:
        value: a number, or a tensor without dimensions.

    Example:
        >>> torch.zeros(2).fill_(5)
        tensor([5., 5.])
    """
    if isinstance(value, Tensor):
        if value._a.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value._a.ndim} dimensions."
            )
        return copy_(input, clone(value) if partly_same(input._a, value._a) else value)
    return _fill_with(input, fitting(value, input.dtype), _filled)


@public()
def zero_(input: Tensor) -> Tensor:  # noqa: A002
    """Write zero everywhere; returns the tensor itself.

    Example:
        >>> torch.ones(2).zero_()
        tensor([0., 0.])
    """
    return _fill_with(input, 0, _zeroed)


@public()
def fill(input: Tensor, value: Any) -> Tensor:  # noqa: A002
    """As `fill_`, into a copy."""
    return fill_(clone(input), value)


# -- Python functions, element by element -------------------------------------------------------


def _host_only(t: Tensor, name: str) -> None:
    if not t.is_cpu:
        raise TypeError(f"{name} is only implemented on CPU tensors")
    if t.requires_grad:
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach()")


@public("Tensor")
def apply_(self: Tensor, callable: Any) -> Tensor:
    """Replace every element by what a Python function makes of it; slow, and on the CPU only.

    Args:
        callable: called with one number, returns one.

    Example:
        >>> torch.tensor([1.0, 2.0]).apply_(lambda v: v * 10)
        tensor([10., 20.])
    """
    _host_only(self, "apply_")
    values = [callable(v) for v in self.reshape(-1).tolist()]
    return copy_(self, self.new_tensor(values).reshape(self._a.shape))


@public("Tensor")
def map_(self: Tensor, tensor: Tensor, callable: Any) -> Tensor:
    """Replace every element by what a Python function makes of it and of one of another tensor.

    Args:
        tensor: of a shape that broadcasts.
        callable: called with two numbers, returns one.

    Example:
        >>> torch.tensor([1.0, 2.0]).map_(torch.tensor([3.0, 4.0]), lambda a, b: a + b)
        tensor([4., 6.])
    """
    _host_only(self, "map_")
    other = tensor.expand(self._a.shape).reshape(-1).tolist()
    values = [callable(a, b) for a, b in zip(self.reshape(-1).tolist(), other)]
    return copy_(self, self.new_tensor(values).reshape(self._a.shape))


def fitting(value: Any, d: dtypes.dtype) -> Any:
    """A Python number as the array library can store it in dtype `d`; RuntimeError if it cannot."""
    if not isinstance(value, (bool, int, float, complex)) and not hasattr(value, "dtype"):
        raise TypeError(f"expected a number or a 0-d Tensor, not {_kind(value)}")
    return fits.fitting(value, d)


def _kind(value: Any) -> str:
    return type(value).__name__
