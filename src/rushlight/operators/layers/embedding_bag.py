"""Sums, means and maxima of embedding rows in bags of varying size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import title
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.facts import Facts, Rows, Values
from ...runtime.thread import here
from ..create.ranges import arange
from ..made_of.checks import check_values
from ..made_of.constants import on_device
from .embedding import check_indices, embedding_grad, embedding_op, embedding_sparse, padding_row, renorm_rows


def _bag_sizes(offsets: Tensor, total: int, include_last: bool) -> np.ndarray:
    """How many indices each bag holds."""
    starts = np.asarray(offsets._host(), np.int64)
    _in_order(starts, total)
    ends = starts[1:] if include_last else np.append(starts[1:], total)
    starts = starts[:-1] if include_last else starts
    return ends - starts


def _in_order(starts: Array, total: int) -> None:
    """A check: bags begin at 0, one behind the other, and end within the indices."""
    if starts.size and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            f"position 0. However, got {starts[0]}"
        )
    if starts.size and starts[-1] > total:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length({total}), but got offsets[-1] of {starts[-1]}"
        )
    if (starts[1:] < starts[:-1]).any():
        raise RuntimeError("embedding_bag: offsets must not decrease")


def _bag_numbers(xp: ArrayModule, starts: Array, *, total: int) -> Array:
    """Which bag each of `total` indices lies in."""
    return (xp.searchsorted(starts, xp.arange(total), side="right") - 1).astype(np.int64)


_bags_op = Op(_bag_numbers, "bag_numbers", meta=lambda starts, *, total: ((total,), np.dtype("i8")))


# -- sums and means in one kernel -----------------------------------------------------------------


def _known(indices: Any, rows: int) -> None:
    """A check: every index names a row."""
    if indices.size and not (0 <= int(indices.min()) and int(indices.max()) < rows):
        wrong = indices[(indices < 0) | (indices >= rows)][0]
        raise RuntimeError(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {wrong}")


def _bags_body(xp: Any, weight: Any, indices: Any, starts: Any, *, mean: bool, by_freq: bool) -> Any:
    _in_order(starts, indices.size)
    _known(indices, weight.shape[0])
    out = xp.zeros((starts.size, *weight.shape[1:]), weight.dtype)
    if not starts.size:
        return out
    bags = _bag_numbers(xp, starts, total=indices.size)
    xp.add.at(out, bags, weight[indices])
    if mean:
        sizes = xp.diff(xp.append(starts, indices.size)).clip(1)
        out /= sizes.astype(out.dtype).reshape((-1,) + (1,) * (out.ndim - 1))
    return out


def _fits(arrays: Any, attrs: dict[str, Any]) -> bool:
    """Whether `_bags_body` will not raise."""
    weight, indices, starts = arrays
    try:
        _in_order(starts, indices.size)
        _known(indices, weight.shape[0])
    except RuntimeError:
        return False
    return True


_sums_op = Op(
    _bags_body,
    "embedding_bag",
    grad_name="EmbeddingBagBackward0",
    meta=lambda weight, indices, starts, **_: ((*starts.shape, *weight.shape[1:]), weight.dtype),
    facts=Facts(positions=Rows(), refuses=Values((1, 2), _fits), one_kernel={"cpu": True}),
)


def _bag_rows(xp: ArrayModule, g: Array, starts: Array, *, total: int, mean: bool) -> Array:
    """For each of `total` indices the row of its bag, divided by the bag's size for a mean."""
    bags = _bag_numbers(xp, starts, total=total)
    rows = g[bags]
    if mean:
        sizes = xp.bincount(bags, minlength=starts.size)[bags].astype(g.dtype)
        rows /= sizes.reshape((-1,) + (1,) * (g.ndim - 1))
    return rows


_rows_op = Op(
    _bag_rows,
    "embedding_bag_rows",
    meta=lambda g, starts, *, total, mean: ((total, *g.shape[1:]), g.dtype),
    facts=Facts(refuses="checked"),
)
_rows_op.derivative(
    g=lambda g, starts, total, mean: _sums_op(g, arange(total, device=g.device), starts, mean=mean, by_freq=False)
)


def _sums_dw(g: Tensor, indices: Tensor, starts: Tensor, weight_shape: tuple, mean: bool, by_freq: bool) -> Tensor:
    rows = _rows_op(g, starts, total=indices._a.size, mean=mean)
    return embedding_grad(rows, indices, rows=weight_shape[0], padding_idx=-1, scale_by_freq=by_freq)


_sums_op.derivative(weight=_sums_dw)


def _check(input: Tensor, weight: Tensor, offsets: Any, mode: str, weights: Any) -> None:
    if weights is not None and input._a.shape != weights._a.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({weights.shape}) is not None, then it must have "
            f"the same shape as the input ({input.shape})"
        )
    if weights is not None and weights._a.dtype != weight._a.dtype and not here.casting:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type torch.{title(weight.dtype)}Tensor does not equal "
            f"torch.{title(weights.dtype)}Tensor (while checking arguments for embedding_bag)"
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if input._a.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
                f"fixed length sequences. However, found offsets of type {type(offsets)}"
            )
        return
    if input._a.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets._a.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")


@public("functional")
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """As `nn.EmbeddingBag`, with its table `weight` (rows, width)."""
    if weight._a.dtype.kind == "i" and input.is_floating_point():
        input, weight = weight, input  # the old order of arguments
    _check(input, weight, offsets, mode, per_sample_weights)
    check_indices(input, "embedding_bag")
    if scale_grad_by_freq and mode == "max":
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if sparse and mode == "max":
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}')."
        )
    padding = padding_row(padding_idx, weight._a.shape[0])
    plain = padding < 0 and per_sample_weights is None and not sparse and not include_last_offset
    plain = plain and mode != "max" and _sums_op.joins(weight) and weight._a.dtype.char in "fd"
    if not plain or max_norm is not None:  # the one kernel looks by itself
        check_values(_known, input, weight._a.shape[0])
    if max_norm is not None:
        renorm_rows(weight, input, max_norm, norm_type)
    indices = input.reshape(-1)
    if mode == "max":
        if offsets is None:
            sizes = np.full(input._a.shape[0], input._a.shape[1], np.int64)
        else:
            sizes = _bag_sizes(offsets, input._a.size, include_last_offset)
        return _largest(weight, indices, sizes, padding, bool(scale_grad_by_freq))
    if plain:
        if offsets is None:
            count, length = input._a.shape
            offsets = arange(count, device=weight.device) * length
        return _sums_op(weight, indices, offsets, mean=mode == "mean", by_freq=bool(scale_grad_by_freq))
    if offsets is None:
        count, length = input._a.shape
        bags = on_device(np.repeat(np.arange(count), length), weight.device)
    else:
        count = offsets._a.shape[0]
        check_values(_in_order, offsets, input._a.size)
        bags = _bags_op(offsets, total=input._a.size)
    samples = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    absent = indices.eq(padding) if padding >= 0 else None
    looked_up = (embedding_sparse if sparse else embedding_op)(
        weight, indices, padding_idx=padding, scale_by_freq=bool(scale_grad_by_freq)
    )
    rows = _weighted(looked_up, absent, samples)
    out = _summed(rows, bags, count, absent, mode == "mean")
    # Behind the last offset, where it is the end, no bag begins.
    return out[: count - 1] if include_last_offset and offsets is not None else out


def _weighted(rows: Tensor, absent: Tensor | None, samples: Tensor | None) -> Tensor:
    """The rows times their weights; those that do not count are 0."""
    if absent is not None:  # left out, not multiplied by 0: the row or its weight may be infinite
        rows = rows.masked_fill(absent.unsqueeze(1), 0.0)
    if samples is None:
        return rows
    return rows * (samples if absent is None else samples.masked_fill(absent, 0.0)).unsqueeze(1)


def _summed(rows: Tensor, bags: Tensor, count: int, absent: Tensor | None, mean: bool) -> Tensor:
    """Sums or means of the rows of each bag: what the derivative of a lookup does."""
    attrs = {"rows": count, "padding_idx": -1, "scale_by_freq": False}
    out = embedding_grad(rows, bags, **attrs)
    if not mean:
        return out
    ones = rows.new_ones((rows._a.shape[0], 1)).detach()
    if absent is not None:
        ones = ones.masked_fill(absent.unsqueeze(1), 0.0)
    return out / embedding_grad(ones, bags, **attrs).clamp(min=1)


def _largest(weight: Tensor, indices: Tensor, sizes: np.ndarray, padding: int, by_freq: bool) -> Tensor:
    longest = int(sizes.max()) if sizes.size else 0
    if not longest:
        # Zeros whose gradient is zero: a step with nothing in its bags is a step.
        return weight[:0].sum(0).expand(len(sizes), *weight._a.shape[1:]).contiguous()
    start = np.cumsum(sizes) - sizes
    place = start[:, None] + np.arange(longest)
    absent = on_device(np.arange(longest) >= sizes[:, None], weight.device)
    places = on_device(np.minimum(place, indices._a.size - 1), weight.device)
    picked = indices[places]  # [bags, longest]
    rows = embedding_op(weight, picked, padding_idx=padding, scale_by_freq=by_freq)
    if padding >= 0:
        absent = absent | (picked == padding)
    # PyTorch looks for larger numbers: nan stays where it comes first, and is passed over later.
    later = on_device(np.arange(longest), weight.device) != (~absent).long().argmax(1, keepdim=True)
    best = rows.masked_fill(absent.unsqueeze(2) | (later.unsqueeze(2) & rows.isnan()), -math.inf).max(1).values
    return best.masked_fill(absent.all(1).unsqueeze(1), 0.0)
