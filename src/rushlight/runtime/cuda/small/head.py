"""A classifier's head with its loss, forward and backward in one launch."""

from __future__ import annotations

from typing import Any

from ....base.arrays import DeviceArray
from ....base.bounded import Bounded
from ...facts import REDUCTIONS
from ..code.launch import Result, empty
from ..code.sources import LABELS, counter, device, load
from .head_sizes import is_joined_head, is_whole_head, step_cut, whole_cut

_ALIGNED = (0, 1, 5)  # x, w and the mask are read 16 bytes at a time

_calls: dict[tuple, Any] = Bounded(1024)


def _prepared(whole: bool, x: DeviceArray, n: int, label: str, ignore_index: int, reduction: str) -> Any:
    """A launch of x, w, bias, target, gy, mask and logits, and of words where it is not the whole head."""
    (m, k), dtype, mode = x.shape, x.dtype, REDUCTIONS.index(reduction)
    cut = whole_cut(m, k) if whole else step_cut(m, k)
    shapes = (() if mode else (m,), *(((m, k), (n, k), (n,)) if whole else ((m, n), (m, k))))
    name = "head_whole" if whole else "head_step"
    launch = load("head.cu", name, dtype.char, CLASSES=n, LABEL=label, **cut.constants())
    results = tuple([Result(6 + i, shape, dtype) for i, shape in enumerate(shapes)])
    blocks = 1 if whole else -(-m // cut.per_block)
    return launch.prepared(blocks, cut.team * cut.teams, results, m, k, ignore_index, mode, aligned=_ALIGNED)


def _call(whole: bool, arrays: tuple, how: tuple) -> Any:
    """The launch for these arrays, made once; None where the kernel does not take them."""
    x, w, _, target, gy, _ = arrays
    if not all(a is None or a._c_contiguous for a in arrays):
        return None
    key = (whole, x.shape, w.shape[0], x.dtype, target.dtype.char, *how, device())
    found = _calls.get(key, False)
    if found is False:
        (m, k), n, label = x.shape, w.shape[0], LABELS.get(target.dtype.char)
        known = label is not None and w.dtype == x.dtype and gy.dtype == x.dtype
        takes = is_whole_head if whole else is_joined_head
        good = known and takes(m, n, k, x.dtype.char)
        found = _calls[key] = _prepared(whole, x, n, label, *how) if good and label else None
    return found


def step(*arrays: Any, ignore_index: int, reduction: str, logits: bool, whole: bool = False) -> Any:
    """Of x, w, b, target, gy, mask: the loss of `x @ w.T + b`, its gradients by the logits and by x (0 where not mask > 0), the logits.

    As a `whole` one, for few rows: the loss, its gradients by x, weight and bias, the logits. NotImplemented for heads
    that are not so small, and for arrays that are not dense or not aligned.
    """
    call = _call(whole, arrays, (ignore_index, reduction))
    if call is None:
        return NotImplemented
    x, w = arrays[:2]
    z = empty((x.shape[0], w.shape[0]), x.dtype) if logits else None
    out = call(*arrays, z) if whole else call(*arrays, z, counter())
    return out if out is NotImplemented or not logits else (*out, z)
