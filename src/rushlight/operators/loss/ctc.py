"""Connectionist temporal classification: the loss of a sequence against an unaligned labelling."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule, Shaped
from ...base.shapes import several_whole
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ...runtime.thread import PARTS, WATCHED, here
from ..made_of.checks import check_values
from ..made_of.constants import on_device
from ..made_of.precision import in_float32
from .reduction import legacy_reduction

# Graves et al. 2006. A target y1..yS becomes the states blank y1 blank ... yS blank; `alpha[t, s]` is the
# log-probability of all alignments of the first t + 1 frames that end in state s, `beta` the same from
# the end. Every sample of the batch and every state advance together; only time is a loop.


def _states(xp: ArrayModule, targets: Array, blank: int) -> tuple[Any, Any]:
    """The label of each state, and the states that may be entered from two before."""
    n, size = targets.shape
    labels = xp.full((n, 2 * size + 1), blank, targets.dtype)
    labels[:, 1::2] = targets
    jumps = xp.zeros(labels.shape, bool)
    jumps[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    return labels, jumps


def _log_sum(xp: ArrayModule, *terms: Array) -> Any:
    """log of the sum of exponentials of three arrays, which may be -inf."""
    high = terms[0]
    for term in terms[1:]:
        high = xp.maximum(high, term)
    safe = xp.where(xp.isfinite(high), high, 0)
    total = sum(xp.exp(term - safe) for term in terms)
    return xp.where(xp.isfinite(high), xp.log(total) + safe, high)


def _shifted(xp: ArrayModule, a: Array, by: int) -> Any:
    out = xp.full_like(a, -xp.inf)
    if by < a.shape[1]:
        out[:, by:] = a[:, : a.shape[1] - by]
    return out


def _forward(xp: ArrayModule, scores: Array, jumps: Array) -> Any:
    """alpha [T, N, states] from the scores of the states' labels."""
    alpha = xp.full_like(scores, -xp.inf)
    alpha[0, :, :2] = scores[0, :, :2]
    for t in range(1, scores.shape[0]):
        before = alpha[t - 1]
        jumped = xp.where(jumps, _shifted(xp, before, 2), -xp.inf)
        alpha[t] = _log_sum(xp, before, _shifted(xp, before, 1), jumped) + scores[t]
    return alpha


def _scores(xp: ArrayModule, log_probs: Array, labels: Array) -> Any:
    shape = (log_probs.shape[0], *labels.shape)
    return xp.take_along_axis(log_probs, xp.broadcast_to(labels[None], shape), 2)


@in_float32
def _ctc_body(
    xp: ArrayModule, log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array, *, blank: int
) -> tuple:
    """The negative log-likelihood of each sample, and alpha for the derivative."""
    labels, jumps = _states(xp, targets, blank)
    alpha = _forward(xp, _scores(xp, log_probs, labels), jumps)
    rows = xp.arange(targets.shape[0])
    last = alpha[xp.maximum(input_lengths - 1, 0), rows]  # [N, states]
    end = 2 * target_lengths
    first = last[rows, end]
    second = xp.where(target_lengths > 0, last[rows, xp.maximum(end - 1, 0)], -xp.inf)
    total = _log_sum(xp, first, second)
    silent = input_lengths == 0  # without frames, only the empty target is possible
    total = xp.where(silent, xp.where(target_lengths == 0, 0, -xp.inf), total)
    return (-total).astype(log_probs.dtype), alpha


def _backward(xp: ArrayModule, scores: Array, jumps: Array, input_lengths: Array, target_lengths: Array) -> Any:
    """beta [T, N, states]: each sample starts at its own last frame and state."""
    beta = xp.full_like(scores, -xp.inf)
    rows = xp.arange(scores.shape[1])
    end = 2 * target_lengths
    start = xp.full_like(scores[0], -xp.inf)
    start[rows, xp.maximum(end - 1, 0)] = 0
    start[rows, end] = 0
    later = xp.full_like(scores[0], -xp.inf)
    for t in range(scores.shape[0] - 1, -1, -1):
        ahead = later[:, ::-1]
        jumped = xp.where(jumps, later, -xp.inf)[:, ::-1]
        stay = _log_sum(xp, ahead, _shifted(xp, ahead, 1), _shifted(xp, jumped, 2))[:, ::-1]
        begins = (input_lengths - 1 == t)[:, None]
        beta[t] = xp.where(begins, start, stay) + scores[t]
        later = beta[t]
    return beta


@in_float32
def _ctc_grad_body(
    xp: ArrayModule, gy: Array, log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array,
    nll: Array, alpha: Array, *, blank: int,
) -> Any:  # fmt: skip
    """As PyTorch: the derivative for log_probs that come out of a log_softmax."""
    labels, jumps = _states(xp, targets, blank)
    scores = _scores(xp, log_probs, labels)
    beta = _backward(xp, scores, jumps, input_lengths, target_lengths)
    occupancy = xp.exp(alpha + beta - scores + nll[None, :, None])
    occupancy = xp.where(xp.isfinite(occupancy), occupancy, 0)
    out = xp.exp(log_probs)
    frames, n, _ = scores.shape
    at = (xp.arange(frames)[:, None, None], xp.arange(n)[None, :, None], xp.broadcast_to(labels[None], scores.shape))
    xp.subtract.at(out, at, occupancy)
    alive = xp.arange(frames)[:, None] < input_lengths[None]
    possible = xp.isfinite(nll)
    scale = xp.where(possible, gy, xp.where(gy == 0, 0, xp.nan))[None] * alive
    grad = xp.where(alive[:, :, None] & (gy != 0)[None, :, None], out * scale[:, :, None], 0)
    return grad.astype(out.dtype, copy=False)  # the NaN above makes it float64


def _ctc_meta(log_probs: Shaped, targets: Shaped, *_: Shaped, blank: int) -> list:
    t, n, _c = log_probs.shape
    return [((n,), log_probs.dtype), ((t, n, 2 * targets.shape[1] + 1), log_probs.dtype)]


_ctc = Op(_ctc_body, "ctc_loss", meta=_ctc_meta, facts=Facts(refuses=True, autocast="float32"))
_ctc_grad = Op(
    _ctc_grad_body,
    "ctc_loss_grad",
    meta=lambda gy, log_probs, *_, **__: (log_probs.shape, log_probs.dtype),
    facts=Facts(refuses=True),
)


@_ctc.backward
def _ctc_backward(
    g: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor,
    out: Tensor, out1: Tensor, blank: int,
) -> tuple:  # fmt: skip
    gx = _ctc_grad(g, log_probs, targets, input_lengths, target_lengths, out.detach(), out1.detach(), blank=blank)
    return gx, None, None, None


def _lengths(value: Any, like: Tensor, n: int, name: str) -> tuple[Tensor, np.ndarray]:
    if not isinstance(value, Tensor):
        value = several_whole(value, 1, name)
    host = value._host() if isinstance(value, Tensor) else np.asarray(value)
    if host.dtype.kind not in "iu" and host.size:
        raise RuntimeError(f"{name} must be integral")
    host = np.asarray(host, np.int64).reshape(-1)
    if host.size != n:
        raise RuntimeError(f"{name} must be of size batch_size")
    return on_device(host, like.device), host


def _no_room(longest: int, shape: tuple[int, ...]) -> RuntimeError:
    return RuntimeError(
        f"Expected tensor to have size at least {longest} at dimension 1, but got size {list(shape)} for "
        "argument #2 'targets' (while checking arguments for ctc_loss)"
    )


def _padded(targets: Tensor, lengths: np.ndarray, n: int) -> Tensor:
    """Targets as [N, longest]: the rows of a 2-D tensor, or a 1-D one cut by the lengths."""
    longest = int(lengths.max()) if lengths.size else 0
    if targets._a.ndim == 2:
        if targets._a.shape[0] != n or targets._a.shape[1] < longest:
            raise _no_room(longest, targets._a.shape)
        return targets.narrow(1, 0, longest).long()
    if targets._a.size != int(lengths.sum()):
        raise RuntimeError(
            "Expected the 1-D targets to hold the sum of target_lengths labels, "
            f"{int(lengths.sum())}, but got {targets._a.size}"
        )
    place = np.cumsum(lengths) - lengths
    index = place[:, None] + np.minimum(np.arange(longest), np.maximum(lengths - 1, 0)[:, None])
    index = np.minimum(index, max(targets._a.size - 1, 0))
    return targets.long()[on_device(index, targets.device)]


_RECORDED = WATCHED | PARTS


def _stay(log_probs: Tensor, targets: Tensor, *lengths: Any) -> bool:
    """Whether lengths stay tensors: reading them would split a recorded program.

    Those of the host do; a replay looks at them before it begins. Those on a GPU are read, in programs as in eager
    calls: what has no room must be refused before anything is computed.
    """
    if targets._a.ndim != 2 or not all(isinstance(v, Tensor) and v.is_cpu for v in lengths):
        return False
    return here.state & _RECORDED == _RECORDED and targets._a.shape[0] == log_probs._a.shape[1]


def _not_negative(a: Array, name: str) -> None:
    if a.size and int(a.min()) < 0:
        raise RuntimeError(
            f"Expected {name} to have value at least 0, but got value {int(a.min())} (while "
            "checking arguments for ctc_loss)"
        )


def _within(a: Array, most: int, name: str) -> None:
    """A test: no sample is longer than there is room, and none shorter than nothing."""
    _not_negative(a, name)
    if a.size and int(a.max()) > most:
        raise RuntimeError(
            f"Expected {name} to have value at most {most}, but got value {int(a.max())} (while "
            "checking arguments for ctc_loss)"
        )


def _has_room(a: Array, shape: tuple[int, ...]) -> None:
    """A test: no target is longer than its row."""
    _not_negative(a, "target_lengths")
    longest = int(a.max()) if a.size else 0
    if longest > shape[1]:
        raise _no_room(longest, shape)


def _unread(value: Tensor, like: Tensor, n: int, name: str, test: Any, *limits: Any) -> Tensor:
    """Lengths as they are, looked at by a kernel that is part of the program."""
    if value._a.dtype.kind not in "iu":
        raise RuntimeError(f"{name} must be integral")
    if value._a.size != n:
        raise RuntimeError(f"{name} must be of size batch_size")
    value = value.reshape(-1).long()
    check_values(test, value, *limits)
    return value.to(like.device)


@public("functional")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """As `nn.CTCLoss`, as a function."""
    reduction = legacy_reduction(None, None, reduction)
    single = log_probs._a.ndim == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
        targets = targets.reshape(1, -1)
    frames, n, classes = log_probs._a.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    unread = _stay(log_probs, targets, input_lengths, target_lengths)
    if unread:
        names = "input_lengths", "target_lengths"
        inputs = _unread(input_lengths, log_probs, n, names[0], _within, frames, names[0])
        lengths = _unread(target_lengths, log_probs, n, names[1], _has_room, targets._a.shape)
        padded = targets.long()
    else:
        inputs, host_inputs = _lengths(input_lengths, log_probs, n, "input_lengths")
        lengths, host_lengths = _lengths(target_lengths, log_probs, n, "target_lengths")
        _within(host_inputs, frames, "input_lengths")
        padded = _padded(targets, host_lengths, n)
    loss = _ctc(log_probs, padded, inputs, lengths, blank=int(blank))[0]
    if zero_infinity:
        loss = loss.masked_fill(loss.detach() == float("inf"), 0.0)
    if reduction == "mean":
        return (loss / lengths.clamp(min=1).to(loss.dtype)).mean()
    if reduction == "sum":
        return loss.sum()
    return loss.reshape(()) if single else loss


@public("torch", name="ctc_loss")
def _torch_ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: Any = 1,
    zero_infinity: bool = False,
) -> Tensor:
    """As `nn.functional.ctc_loss`; `reduction` is 0 for none, 1 for mean, 2 for sum."""
    lengths = (input_lengths, target_lengths)
    return ctc_loss(log_probs, targets, *lengths, blank, reduction, zero_infinity)
