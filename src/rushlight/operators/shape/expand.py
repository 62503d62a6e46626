"""Dimensions of size 1, as views: put in, left out, and shown as larger ones."""

from __future__ import annotations

from typing import Any

from ...base.arrays import Array, ArrayModule
from ...base.shapes import MOST_DIMS, Size, as_size, broadcast_shapes, by_name, check_size, wrap_dim, wrap_dims
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.guards import invalid_arguments
from ..made_of.spelling import needed, one_of
from .reshape import reshape


def _squeeze_body(xp: ArrayModule, x: Array, *, dims: tuple[int, ...]) -> Any:
    return x.squeeze(axis=dims)


_squeeze = Op(_squeeze_body, "squeeze", view=True, facts=Facts(vmap="squeeze", onnx="squeeze"))
_squeeze.derivative(x=lambda g, x_shape: reshape(g, x_shape))


@public()
def unsqueeze(input: Tensor, dim: int | None = None, *, axis: Any = None) -> Tensor:  # noqa: A002
    """A new dimension of size 1.

    Args:
        dim: its place; negative ones count from the end.

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
    view=True, facts=Facts(vmap="unsqueeze", onnx="unsqueeze", aten="unsqueeze ordered dim", sparse="unsqueezed"),
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


_expand = Op(_expand_body, "expand", view=True, facts=Facts(vmap="expand", onnx="expand", aten="expand ordered shape"))
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
    size = as_size(by_name("size", sizes, size))
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
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}"
                )
            want = have
        elif have not in (1, want):
            raise RuntimeError(
                f"The expanded size of the tensor ({want}) must match the existing size ({have}) at "
                f"non-singleton dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: "
                f"{list(shape)}"
            )
        target.append(want)
    if len(target) > MOST_DIMS:
        check_size(target)
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


@public("Tensor", name="broadcast_to")
def _broadcast_to(self: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """Expanded to a shape, without copying.

    Args:
        sizes: the shape, as numbers or as one tuple.
        size: the same, by name.

    Example:
        >>> torch.tensor([1]).broadcast_to(2, 2)
        tensor([[1, 1],
                [1, 1]])
    """
    return expand(self, *sizes, size=size)


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
        ValueError: if a size is negative.

    Example:
        >>> torch.broadcast_shapes((3, 1), (2,))
        torch.Size([3, 2])
    """
    given = [(s,) if isinstance(s, int) else s for s in shapes]
    found = [1] * max(map(len, given), default=0)
    for i, shape in enumerate(given):
        for d in range(-1, -1 - len(shape), -1):
            if shape[d] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if shape[d] not in (1, found[d]) and found[d] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[d]} at {d}! Mismatching argument at index {i} "
                    f"had {shape}; but expected shape should be broadcastable to {found}"
                )
            found[d] = found[d] if shape[d] == 1 else shape[d]
    return Size(found)
