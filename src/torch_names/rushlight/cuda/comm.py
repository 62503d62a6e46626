"""`torch.cuda.comm`: tensors copied to, added from, cut over and joined from several devices of this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.device import device as _device
from ..core.tensor import Tensor
from ..operators.shape.join import cat

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def _place(where: Any) -> _device:
    return _device("cuda", where) if isinstance(where, int) else _device(where)


def broadcast(tensor: Tensor, devices: Sequence[Any] | None = None, *, out: Any = None) -> Any:
    """Copies of a tensor on several devices.

    Args:
        tensor: what is copied.
        devices: numbers of GPUs, or devices.
        out: tensors that take the copies instead.

    Raises:
        RuntimeError: if both of these are given, or neither.

    Example:
        >>> from rushlight.cuda import comm
        >>> comm.broadcast(torch.ones(2), out=[torch.zeros(2)])
        (tensor([1., 1.]),)
    """
    if (devices is None) == (out is None):
        raise RuntimeError(
            f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}"
        )
    if out is not None:
        return tuple(place.copy_(tensor) for place in out)
    assert devices is not None
    return tuple(tensor.to(_place(d)) for d in devices)


def broadcast_coalesced(tensors: Sequence[Tensor], devices: Sequence[Any], buffer_size: int = 10485760) -> tuple:
    """As `broadcast`, of several tensors."""
    return tuple(tuple(t.to(_place(d)) for t in tensors) for d in devices)


def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """The sum of tensors of one shape that lie on several devices.

    Args:
        inputs: the tensors.
        destination: where the sum goes; the first one's device if not given.

    Raises:
        RuntimeError: for tensors of other shapes, or none.

    Example:
        >>> from rushlight.cuda import comm
        >>> comm.reduce_add([torch.ones(2), torch.ones(2)], "cpu")
        tensor([2., 2.])
    """
    if not inputs:
        raise RuntimeError("reduce_add expects a nonempty list of tensors")
    if any(t.shape != inputs[0].shape for t in inputs):
        raise ValueError("reduce_add expects tensors of one shape")
    where = inputs[0].device if destination is None else _place(destination)
    total = inputs[0].to(where)
    for t in inputs[1:]:
        total = total + t.to(where)
    return total


def reduce_add_coalesced(
    inputs: Sequence[Sequence[Tensor]], destination: Any = None, buffer_size: int = 10485760
) -> tuple[Tensor, ...]:
    """As `reduce_add`, of several tensors, each of which lies on several devices."""
    return tuple(reduce_add(each, destination) for each in zip(*inputs, strict=True))


def scatter(
    tensor: Tensor,
    devices: Sequence[Any] | None = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: Any = None,
    *,
    out: Any = None,
) -> tuple[Tensor, ...]:
    """Pieces of a tensor, one on each device.

    Args:
        tensor: what is cut.
        devices: numbers of GPUs, or devices.
        chunk_sizes: the sizes of the pieces; alike if not given.
        dim: the dim along which it is cut.
        streams: accepted; copies are made in the current ones.
        out: tensors that take the pieces instead.

    Example:
        >>> from rushlight.cuda import comm
        >>> comm.scatter(torch.arange(4), ["cpu", "cpu"])
        (tensor([0, 1]), tensor([2, 3]))
    """
    if out is not None:
        pieces = tensor.split([t.shape[dim] for t in out], dim)
        return tuple(place.copy_(piece) for place, piece in zip(out, pieces, strict=True))
    assert devices is not None
    cut = tensor.chunk(len(devices), dim) if chunk_sizes is None else tensor.split(chunk_sizes, dim)
    return tuple(piece.to(_place(d)) for piece, d in zip(cut, devices, strict=False))


def gather(tensors: Sequence[Tensor], dim: int = 0, destination: Any = None, *, out: Any = None) -> Tensor:
    """Tensors of several devices, one behind the other.

    Args:
        tensors: the pieces.
        dim: the dim along which they are joined.
        destination: where the result goes; the first one's device if not given.
        out: a tensor that takes the result instead.

    Example:
        >>> from rushlight.cuda import comm
        >>> comm.gather([torch.zeros(1), torch.ones(1)], destination="cpu")
        tensor([0., 1.])
    """
    if out is not None:
        return out.copy_(cat([t.to(out.device) for t in tensors], dim))
    where = tensors[0].device if destination is None else _place(destination)
    return cat([t.to(where) for t in tensors], dim)
