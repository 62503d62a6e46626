"""`torch.nested`: tensors whose parts have different lengths, without padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.formats import jagged, strided
from ..core.tensor import Tensor
from ._internal import jagged as _jagged  # noqa: F401 - what functions answer
from ._internal.nested_tensor import NestedTensor, jagged_from_list
from ._internal.standing import Standing
from ._internal.strided import from_parts

__all__ = [
    "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor",
]  # fmt: skip


def nested_tensor(
    tensor_list: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A leaf made of copies of some tensors, or lists of numbers, of different sizes.

    Args:
        tensor_list: the parts.
        dtype, device: of the result; those of the first part if not given.
        layout: `torch.strided`, or `torch.jagged` for parts that differ in one dimension only: most functions
            know that one, and it trains.
        requires_grad: whether gradients are wanted.
        pin_memory: whether its memory is pinned for copies to a GPU.

    Raises:
        TypeError: if no list is given.
        RuntimeError: if the parts do not fit together.

    Example:
        >>> nt = torch.nested.nested_tensor([torch.arange(3.0), torch.arange(2.0)], layout=torch.jagged)
        >>> (nt + 1).to_padded_tensor(0.0)
        tensor([[1., 2., 3.],
                [1., 2., 0.]])
    """
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError("Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor")
    parts = _checked([_as_tensor(part, dtype, device).detach() for part in tensor_list], layout)
    made: Any = _joined(parts, layout)
    made = made if layout is jagged or parts else made.to(dtype or made.dtype)
    made = made.pin_memory() if pin_memory else made
    return made.requires_grad_() if requires_grad else made


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Any:
    """Some tensors as one nested tensor that remembers them: gradients flow to the parts.

    Args:
        ts: the parts, or one tensor whose rows are the parts.
        dtype, device: of the result; those of the first part if not given.
        layout: `torch.strided` or `torch.jagged`.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> torch.nested.as_nested_tensor([x, torch.ones(3)], layout=torch.jagged).sum().backward()
        >>> x.grad
        tensor([1., 1.])
    """
    if isinstance(ts, Standing):
        return ts if dtype is None and device is None else ts.to(device=device, dtype=dtype)
    if not isinstance(ts, (list, tuple, Tensor)):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    if isinstance(ts, (list, tuple)) and not all(isinstance(t, Tensor) for t in ts):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    return _joined(_checked([_as_tensor(part, dtype, device) for part in ts], layout), layout)


def to_padded_tensor(input: Any, padding: float, output_size: Any = None, out: Any = None) -> Tensor:
    """The parts of a nested tensor in one dense tensor, with `padding` behind them.

    Args:
        input: nested.
        padding: the number that fills the rest.
        output_size: the shape of the result; as large as the largest part if not given.

    Example:
        >>> nt = torch.nested.nested_tensor([torch.ones(2), torch.ones(1)])
        >>> torch.nested.to_padded_tensor(nt, -1.0)
        tensor([[ 1.,  1.],
                [ 1., -1.]])
    """
    if not isinstance(input, Standing):
        raise NotImplementedError("to_padded_tensor: the tensor is not nested")
    padded = input.to_padded_tensor(padding, output_size)  # type: ignore[attr-defined]
    return padded if out is None else out.copy_(padded)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> NestedTensor:
    """A nested tensor over parts that already lie one behind another; nothing is copied.

    Args:
        values: the parts along the ragged dimension.
        offsets: where each part begins, and where the last one ends.
        lengths: how long the parts are; with both, parts may be shorter than the distance of their offsets.
        jagged_dim: the place of the ragged dimension in the result; 1 if not given.
        min_seqlen, max_seqlen: known lengths; they are not needed here.

    Raises:
        RuntimeError: if neither offsets nor lengths are given.

    Example:
        >>> nt = torch.nested.nested_tensor_from_jagged(torch.arange(5.0), torch.tensor([0, 2, 5]))
        >>> nt.unbind()
        (tensor([0., 1.]), tensor([2., 3., 4.]))
    """
    from ..operators.image.padding import pad

    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = pad(lengths.cumsum(0), (1, 0)), None
    at = 1 if jagged_dim is None else jagged_dim
    return NestedTensor(values, offsets, lengths=lengths, _ragged_idx=at)


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = strided) -> Any:
    """A nested tensor of a piece of each row of a dense tensor.

    Args:
        tensor: dense, (batch, length, ...).
        dim: the dimension to cut, which is 1 for the jagged layout.
        start, length: where each row's piece begins and how long it is: tensors, or a number for all.
        layout: `torch.jagged` looks at the same memory.

    Example:
        >>> rows = torch.arange(6.0).view(2, 3)
        >>> torch.nested.narrow(rows, 1, 0, torch.tensor([2, 1]), layout=torch.jagged).unbind()
        (tensor([0., 1.]), tensor([3.]))
    """
    from ..operators.create.filled import full
    from ..operators.create.ranges import arange

    if layout is strided:
        if isinstance(start, Tensor) or isinstance(length, Tensor):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        return from_parts([row.narrow(dim - 1, start, length) for row in tensor])
    if layout is not jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested narrow: {layout}")
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    rows, most = tensor.shape[:2]
    starts = start if isinstance(start, Tensor) else full((rows,), start, device=tensor.device)
    counts = length if isinstance(length, Tensor) else full((rows,), length, device=tensor.device)
    begins = starts + arange(rows, device=tensor.device) * most
    ends = begins[-1:] + counts[-1:]
    from ..operators.shape.join import cat

    return NestedTensor(tensor.reshape(rows * most, *tensor.shape[2:]), cat([begins, ends]), lengths=counts)


def masked_select(tensor: Tensor, mask: Tensor) -> NestedTensor:
    """What a mask takes of each row, as a nested tensor with the jagged layout.

    Args:
        tensor: dense.
        mask: bool, of a shape that broadcasts to it.

    Example:
        >>> mask = torch.tensor([[True, False, True], [False, True, False]])
        >>> torch.nested.masked_select(torch.arange(6.0).view(2, 3), mask).unbind()
        (tensor([0., 2.]), tensor([4.]))
    """
    from ..operators.image.padding import pad

    if tensor.layout is not strided:
        raise RuntimeError(f"torch.nested.masked_select requires a strided tensor, given {tensor.layout}")
    mask = mask.expand(tensor.shape)
    counts = mask.flatten(1).sum(1)
    return NestedTensor(tensor[mask], pad(counts.cumsum(0), (1, 0)))


def _as_tensor(part: Any, dtype: Any, device: Any) -> Tensor:
    from ..operators.create.from_data import tensor

    if isinstance(part, Tensor):
        return part.to(device=device or part.device, dtype=dtype or part.dtype)
    return tensor(part, dtype=dtype, device=device)


def _checked(parts: list[Tensor], layout: Any) -> list[Tensor]:
    if layout not in (None, strided, jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")
    if not parts and layout is jagged:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    if layout is jagged:
        return parts
    for i, part in enumerate(parts):
        if part.dim() != parts[0].dim():
            raise RuntimeError(
                f"All Tensors given to nested_tensor must have the same dimension. Found dimension {part.dim()} "
                f"for Tensor at index {i} and dimension {parts[0].dim()} for Tensor at index 0."
            )
    return parts


def _joined(parts: Sequence[Tensor], layout: Any) -> Any:
    return jagged_from_list(parts) if layout is jagged else from_parts(parts)
