"""A classifier's head with its loss, forward and backward in one launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....base.bounded import Bounded
from ..bodies.layers.cross_entropy import LABELS, MODES
from ..code.launch import Result, empty
from ..code.sources import counter, device, load
from .head_sizes import is_joined_head, is_whole_head, step_cut, whole_cut

if TYPE_CHECKING:
    from ....base.protocols import DeviceArray

_FORMATS = ("P",) * 11 + ("i", "i", "q", "i")  # of both kernels
_ALIGNED = (0, 1, 5)  # x, w and the mask are read 16 bytes at a time

_calls: dict[tuple, Any] = Bounded(1024)


def _step_call(
    x: DeviceArray, n: int, label: str, ignore_index: int, reduction: str
) -> Callable[..., Any]:
    """A launch of x, w, bias, target, gy, mask, logits and words."""
    (m, k), dtype = x.shape, x.dtype
    cut = step_cut(m, k)
    named: dict[str, Any] = {"CLASSES": n, "LABEL": label, **cut.constants()}
    launch = load("head.cu", "head_step", _FORMATS, dtype.char, **named)
    shapes = () if MODES[reduction] else (m,), (m, n), (m, k)
    results = tuple([Result(6 + i, shape, dtype) for i, shape in enumerate(shapes)])
    grid, block = (-(-m // cut.per_block), 1, 1), (cut.team * cut.teams, 1, 1)
    constants = m, k, ignore_index, MODES[reduction]
    return launch.prepared(grid, block, 0, 11, results, *constants, aligned=_ALIGNED)


def _whole_call(
    x: DeviceArray, n: int, label: str, ignore_index: int, reduction: str
) -> Callable[..., Any]:
    """A launch of x, w, bias, target, gy, mask and logits."""
    (m, k), dtype = x.shape, x.dtype
    cut = whole_cut(m, k)
    named: dict[str, Any] = {"CLASSES": n, "LABEL": label, **cut.constants()}
    launch = load("head.cu", "head_whole", _FORMATS, dtype.char, **named)
    shapes = () if MODES[reduction] else (m,), (m, k), (n, k), (n,)
    results = tuple([Result(6 + i, shape, dtype) for i, shape in enumerate(shapes)])
    constants = m, k, ignore_index, MODES[reduction]
    block = (cut.team * cut.teams, 1, 1)
    return launch.prepared((1, 1, 1), block, 0, 11, results, *constants, aligned=_ALIGNED)


def _call(make: Callable[..., Any], takes: Callable[..., bool], arrays: tuple, how: tuple) -> Any:
    """The launch for these arrays, made once; None where the kernel does not take them."""
    x, w, _, target, gy, _ = arrays
    if not all(a is None or a._c_contiguous for a in arrays):
        return None
    key = (make, x.shape, w.shape[0], x.dtype, target.dtype.char, *how, device())
    found = _calls.get(key, False)
    if found is False:
        (m, k), n, label = x.shape, w.shape[0], LABELS.get(target.dtype.char)
        known = label is not None and w.dtype == x.dtype and gy.dtype == x.dtype
        good = known and takes(m, n, k, x.dtype.char)
        found = _calls[key] = make(x, n, label, *how) if good else None
    return found


def step(
    x: DeviceArray, w: DeviceArray, b: DeviceArray | None, target: DeviceArray, gy: DeviceArray | None, mask: DeviceArray | None,
    ignore_index: int, reduction: str, logits: bool,
) -> Any:  # fmt: skip
    """The loss of `x @ w.T + b`, its gradients by the logits and by x (0 where not mask > 0), the logits.

    NotImplemented for heads that are not so small, and for arrays that are not dense or not aligned.
    """
    arrays = x, w, b, target, gy, mask
    call = _call(_step_call, is_joined_head, arrays, (ignore_index, reduction))
    if call is None:
        return NotImplemented
    z = empty((x.shape[0], w.shape[0]), x.dtype) if logits else None
    out = call(*arrays, z, counter())
    return out if out is NotImplemented or not logits else (*out, z)


def whole(
    x: DeviceArray, w: DeviceArray, b: DeviceArray | None, target: DeviceArray, gy: DeviceArray | None, mask: DeviceArray | None,
    ignore_index: int, reduction: str, logits: bool,
) -> Any:  # fmt: skip
    """As `step` for few rows: the loss, its gradients by x, weight and bias, the logits."""
    arrays = x, w, b, target, gy, mask
    call = _call(_whole_call, is_whole_head, arrays, (ignore_index, reduction))
    if call is None:
        return NotImplemented
    z = empty((x.shape[0], w.shape[0]), x.dtype) if logits else None
    out = call(*arrays, z)
    return out if out is NotImplemented or not logits else (*out, z)
