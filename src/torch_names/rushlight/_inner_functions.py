"""PyTorch's inner names of derivatives and products, which some libraries call in functions of their own."""

from __future__ import annotations

from math import inf
from typing import Any

from .base.dtypes import float64, int8, int32, int64, uint8
from .core.tensor import Tensor
from .operators.create.ranges import arange
from .operators.image.padding import pad
from .operators.made_of.guards import unsupported
from .operators.pointwise.select import where
from .operators.reduce.counting import searchsorted


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The derivative of softmax from its result."""
    g = grad_output * output
    return (g - output * g.sum(dim, keepdim=True)).to(input_dtype)


def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The derivative of log_softmax from its result."""
    return (grad_output - output.exp() * grad_output.sum(dim, keepdim=True)).to(input_dtype)


def _int_mm(input: Tensor, mat2: Tensor) -> Tensor:  # noqa: A002
    """The product of two matrices of int8, the first perhaps of uint8, in int32.

    Raises:
        RuntimeError: for other dtypes or numbers of dims.
    """
    for name, t in (("self", input), ("mat2", mat2)):
        if t.dim() != 2:
            raise RuntimeError(f"Expected {name} to be of dimension 2 but got {t.dim()}")
        if t.dtype != int8 and (name == "mat2" or t.dtype != uint8):
            raise RuntimeError(f"Expected {name} dtype to be of type int8 but got {t.dtype}")
    # Sums of products of bytes are exact in doubles, for which there are fast products.
    return (input.to(float64) @ mat2.to(float64)).to(int32)


_KINDS = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "amax": "amax", "min": "amin", "amin": "amin"}
_EMPTY = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "amax": -inf, "amin": inf}


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """One value for each of the neighbouring pieces into which `axis` is cut.

    Args:
        data: floating-point numbers.
        reduce: "sum", "mean", "prod", "max" or "min".
        lengths: how long each piece is; with `axis` above zero a row of them for each place before it.
        indices: not used by PyTorch either.
        offsets: where each piece begins, and where the last one ends, in place of `lengths`.
        axis: the dim that is cut.
        unsafe: lengths are not looked at before.
        initial: what each piece begins with.

    Raises:
        RuntimeError: if lengths do not fit the data.

    Example:
        >>> torch.segment_reduce(torch.arange(5.0), "sum", lengths=torch.tensor([2, 3]))
        tensor([1., 9.])
    """
    if reduce not in _KINDS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    cuts = lengths if offsets is None else offsets
    if cuts is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    axis += data.dim() if axis < 0 else 0
    if cuts.dim() - 1 != axis:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of lengths but got {axis}.")
    if not data.is_floating_point():
        raise unsupported("_segment_reduce_cpu", data.dtype)
    if cuts.dtype not in (int32, int64):
        raise unsupported("_segment_reduce_lengths_cpu_kernel1", cuts.dtype)
    size = data.shape[axis]
    if offsets is None:
        if not unsafe and cuts.numel() and bool((cuts < 0).any()):
            raise RuntimeError("lengths contains negative value!")
        if not unsafe and bool((cuts.sum(-1) != size).any()):
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to "
                "data.size(lengths.dim()-1) when !unsafe."
            )
        bounds = pad(cuts.cumsum(-1), (1, 0))
    else:
        bounds = cuts
    # The piece of each place along the axis; what is in none goes to one more before and behind, which are cut off.
    pieces, kind = bounds.shape[-1] - 1, _KINDS[reduce]
    places = arange(size, device=data.device).expand(*bounds.shape[:-1], size)
    index = searchsorted(bounds.contiguous(), places.contiguous(), right=True)
    index = index.reshape(*index.shape, *[1] * (data.dim() - axis - 1)).expand(data.shape)
    extreme = kind in ("amax", "amin")
    first = _EMPTY[kind] if initial is None or extreme else initial
    shape = (*data.shape[:axis], pieces + 2, *data.shape[axis + 1 :])
    found = data.new_full(shape, first).scatter_reduce(axis, index, data, kind)
    found = found.narrow(axis, 1, pieces).contiguous()
    if extreme and initial is not None:
        return where(found < initial if kind == "amax" else found > initial, initial, found)
    if reduce != "mean":
        return found
    count = bounds.diff(dim=-1).reshape(*bounds.shape[:-1], pieces, *[1] * (data.dim() - axis - 1))
    return found / (count if initial is None else count.clamp(min=1)).to(data.dtype)


_segment_reduce = segment_reduce
