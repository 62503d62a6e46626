"""Cross entropy of scores whose classes are cut over ranks, inside of `parallel.loss_parallel`.

Each rank has some of the classes. What is sent are a few numbers of each sample: its largest score, the sum of its
exponentials, and the score of the right class, which one rank has.
"""

from __future__ import annotations

from typing import Any

from ...base.dtypes import bfloat16, float16, float32
from ...core.modes import no_grad
from ...core.overriding import DisableTorchFunctionSubclass
from ...core.tensor import Tensor
from .dtensor import DTensor, local_of, spread
from .moving import reduced, rows_of, summed_back
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["LOSSES"]


def _cutter(t: DTensor, dim: int) -> int:
    """The dim of the mesh that cuts the classes."""
    kinds = t.placements
    found = [i for i, k in enumerate(kinds) if k.is_shard(dim)]
    if len(found) != 1:
        raise ValueError(
            f"loss_parallel() requires exactly one mesh dim to shard tensor dimension {dim}, but got placements "
            f"{kinds} with {len(found)} such mesh dim(s)."
        )
    for i, kind in enumerate(kinds):
        if i != found[0] and kind.is_partial():
            raise ValueError(
                f"loss_parallel() expects non-TP mesh dims to be Shard or Replicate, got {kind} at dim {i}."
            )
    return found[0]


def _own(t: Any, kinds: tuple[Placement, ...], mesh: Any) -> Tensor:
    """This rank's part of a target or a weight, which has to lie as `kinds` says."""
    if isinstance(t, DTensor):
        if t.placements != kinds:
            raise RuntimeError(f"Expected {kinds} but got {t.placements}.")
        return local_of(t)
    if not isinstance(t, Tensor):
        raise TypeError(f"Unsupported type {type(t)}")
    if any(k.is_shard() for k in kinds):
        raise ValueError(
            f"loss_parallel() requires a DTensor (not a plain torch.Tensor) when the derived placements {kinds} "
            "contain Shard: say by DTensor.from_local or distribute_tensor how it lies"
        )
    return t


def _log_softmax(func: Any, input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> DTensor:
    """The logarithm of softmax along classes that are cut; the result is cut as the scores are."""
    at = dim % input.dim() if dim is not None else 0 if input.dim() in (0, 1, 3) else 1
    mesh, cut = input.device_mesh, _cutter(input, at)
    group, x = mesh.get_group(cut), local_of(input)
    with DisableTorchFunctionSubclass():
        x = x if dtype is None else x.to(dtype)
        wide = x.to(float32) if x.dtype in (float16, bfloat16) else x
        with no_grad():
            rest = [n for i, n in enumerate(wide.shape) if i != at]
            most = wide.amax(at, keepdim=True) if wide.shape[at] else wide.new_full([*rest[:at], 1, *rest[at:]], float("-inf"))  # fmt: skip
            most = reduced(most, group, "max")
        shifted = wide - most
        total = reduced(shifted.exp().sum(at, keepdim=True), group)
        out = (shifted - summed_back(total, mesh, [cut]).log()).to(x.dtype)
    return spread(DTensor, out, mesh, input.placements, input.full_shape)


def _picked(x: Tensor, target: Tensor, ignored: int, at: int, first: int, group: Any) -> Tensor:
    """The value of each sample's class, of which one rank has it."""
    there = x.shape[at]
    mine = (target >= first) & (target < first + there) & (target != ignored)
    if there == 0:
        return reduced(x.sum(at), group)
    place = (target - first).masked_fill(~mine, 0).unsqueeze(at)
    found = x.gather(at, place).squeeze(at).masked_fill(~mine, 0.0)
    return reduced(found, group)


def _nll_loss(func: Any, input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
              reduce: Any = None, reduction: str = "mean") -> DTensor:  # fmt: skip
    if size_average is not None or reduce is not None:
        raise NotImplementedError("loss_parallel(): say reduction= instead of size_average= and reduce=")
    at = 1 if input.dim() >= 2 else 0
    mesh, cut = input.device_mesh, _cutter(input, at)
    every = (Replicate(),) * mesh.ndim
    kinds = tuple([_without_classes(k, at) for k in input.placements])
    numbers = _own(target, kinds, mesh)
    if mesh.ndim > 1 and reduction == "mean":
        raise NotImplementedError(
            "loss_parallel() with reduction='mean' is only supported on one-dimensional DeviceMesh; got mesh with "
            f"ndim={mesh.ndim}. Use reduction='sum' or 'none' instead."
        )
    _check_target(numbers, ignore_index, input.full_shape[at])
    first, _ = rows_of(input.full_shape[at], mesh.size(cut), mesh.get_local_rank(cut))
    with DisableTorchFunctionSubclass():
        ignored = numbers == ignore_index
        right = _picked(local_of(input), numbers, ignore_index, at, first, mesh.get_group(cut))
        loss = (-right).masked_fill(ignored, 0.0)
        if weight is None:
            scale = (~ignored).to(loss.dtype)
        else:
            given = _own(weight, every, mesh)
            scale = given[numbers.masked_fill(ignored, 0)].masked_fill(ignored, 0.0)
            loss = loss * scale
        if reduction != "none":
            loss = loss.sum() / scale.sum() if reduction == "mean" else loss.sum()
            kinds = tuple([Partial() if k.is_shard() else k for k in kinds])
    shape = tuple(n for i, n in enumerate(input.full_shape) if i != at)
    return spread(DTensor, loss, mesh, kinds, shape if reduction == "none" else ())


def _without_classes(kind: Placement, at: int) -> Placement:
    """How something without the dim of classes lies."""
    if not isinstance(kind, Shard):
        return kind
    return Replicate() if kind.dim == at else Shard(kind.dim - (kind.dim > at))


def _check_target(target: Tensor, ignored: int, classes: int) -> None:
    if target.dtype.is_floating_point:
        raise NotImplementedError("loss_parallel() takes class numbers as targets, not probabilities")
    wrong = (target != ignored) & ((target < 0) | (target >= classes))
    if bool(wrong.any()):
        raise IndexError(f"Target {int(target[wrong].flatten()[0])} is out of bounds.")


def _cross_entropy(func: Any, input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
                   reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0) -> DTensor:  # fmt: skip
    if label_smoothing:
        raise NotImplementedError("loss_parallel() does not support label_smoothing")
    scores = _log_softmax(func, input, 1 if input.dim() >= 2 else 0)
    return _nll_loss(func, scores, target, weight, size_average, ignore_index, reduce, reduction)


LOSSES = {"cross_entropy": _cross_entropy, "log_softmax": _log_softmax, "nll_loss": _nll_loss}
