"""The short way of functions that every network calls: their kernels at the door, without tensors around the arrays.

For arrays as networks have them (one float dtype, shapes that fit, nothing cast); others go the long way, which says
what is wrong with them. Values are the same: both ways end at the same kernels.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..core.tensor import tensor_over, wrap
from ..operators.layers.linear import linear_all_grads, linear_grads
from ..runtime.door import KERNELS, Kernel, run
from ..runtime.thread import CASTING, FOREIGN, INFERENCE, TRACED, WATCHED, here
from ._arrays import gpu_types
from ._bare import all_lent, is_shared, lent, outside, own

_LINEAR, _SUM, _TURN = KERNELS["linear"], KERNELS["sum"], KERNELS["t"]
_MM, _MM_NT, _MM_TN = KERNELS["mm"], KERNELS["mm_nt"], KERNELS["mm_tn"]
_ENTROPY, _ENTROPY_GRAD = KERNELS["cross_entropy_fused"], KERNELS["cross_entropy_grad"]
_ALL_GRADS, _GRADS = KERNELS["linear_all_grads"], KERNELS["linear_grads"]
_UNUSUAL = CASTING | INFERENCE
_LOOKED_AT = TRACED | WATCHED | FOREIGN  # where a call is not what the door makes of it, see `run`
_ROWS = {"dim": (0,), "keepdim": False}
_MEAN = {"ignore_index": -100, "reduction": "mean"}
MEAN_ALONE = {**_MEAN, "wide": False}


_FLOATS = frozenset((np.dtype("f4"), np.dtype("f8")))


def _floats(a: Any) -> bool:
    """Whether an array is one that kernels of networks take as it is."""
    cls = a.__class__
    return (cls is np.ndarray or cls in gpu_types) and a.dtype in _FLOATS


def _go(kernel: Kernel, arrays: tuple, attrs: dict[str, Any]) -> Any:
    """A kernel over arrays of its own, or of the user, who may change them: see `lent`."""
    state = here.state
    if state & (TRACED | WATCHED):
        arrays = all_lent(arrays)
        state = here.state  # an array with gaps ends the stretch
    if state & _LOOKED_AT == TRACED:
        return here.tracer.cursor(kernel, arrays[0].__class__, arrays, attrs)
    out = run(kernel, arrays[0].__class__, arrays, attrs)
    return np.asarray(out) if isinstance(out, np.generic) else out


def pointwise(kernel: Kernel, *arrays: Any) -> Any:
    """A kernel over arrays of one shape and float dtype; None where they are others."""
    first = arrays[0]
    if here.state & _UNUSUAL or not _floats(first):
        return None
    for a in arrays[1:]:
        if a.__class__ is not first.__class__ or a.dtype != first.dtype or a.shape != first.shape:
            return None
    return _go(kernel, arrays, {})


def turned(variable: Any) -> Any:
    """The transposed matrix of a Variable, the same object as long as the array is."""
    a = variable._data
    if is_shared(a):
        return own(a).T
    held = variable.__dict__.get("_turned")
    if held is None or held[0] is not a:
        held = variable._turned = (a, a.T)
    return held[1]


def linear(x: Any, weight: Any, b: Any) -> Any:
    """`x W + b` for the Variable of W; None where the long way is needed."""
    W = weight._data
    if here.state & _UNUSUAL or W is None or not _floats(x) or x.ndim != 2 or W.ndim != 2:
        return None
    if W.__class__ is not x.__class__ or W.dtype != x.dtype or x.shape[1] != W.shape[0]:
        return None
    if b is None:
        return _go(_LINEAR, (x, turned(weight), None), {})
    if b.__class__ is not x.__class__ or b.dtype != x.dtype or b.shape != W.shape[1:]:
        return None
    return _go(_LINEAR, (x, turned(weight), b), {})


def linear_back(gy: Any, x: Any, weight: Any, wants: list[bool]) -> tuple:
    """The gradients of a linear layer that are wanted, for arrays that `linear` has taken."""
    to_x, to_W, to_b = wants
    g, W = lent(gy), weight._data
    gx = gW = gb = None
    if not (W.flags.f_contiguous and linear_grads.is_whole(tensor_over(g, g.__class__))):
        if to_x:
            gx = _go(_MM_NT, (g, W), {})
        if to_W:
            gW = _go(_MM_TN, (x, g), {})
    else:
        # Such a weight is what the device's own kernels take, and its gradient lies like it.
        if to_W and to_b and linear_all_grads.joins(tensor_over(g, g.__class__)):
            if to_x:
                gx, gW, gb = _go(_ALL_GRADS, (g, x, turned(weight)), {})
            else:
                gW, gb = _go(_GRADS, (g, x), {})
            return gx, _go(_TURN, (gW,), {}), gb
        if to_x:
            gx = _go(_MM, (g, turned(weight)), {})
        if to_W:
            gW = _go(_TURN, (_go(_MM_TN, (g, x), {}),), {})
    if to_b:
        gb = _go(_SUM, (g,), _ROWS)
    return gx, gW, gb


def one(like: Any) -> Any:
    """A 1 of an array's dtype and device, the same object each time."""
    cls = like.__class__
    return _one(cls, like.dtype.char, 0 if cls is np.ndarray else like.data.device_id)


@lru_cache(maxsize=32)
def _one(cls: type, char: str, index: int) -> Any:
    found = np.ones((), char)
    if cls is np.ndarray:
        return found
    return outside(lambda: wrap(found).to(f"cuda:{index}")._a)


def entropy(x: Any, t: Any) -> Any:
    """The mean cross entropy of scores with classes, and what its gradient needs; None for the long way."""
    if here.state & _UNUSUAL or not _floats(x) or x.ndim != 2 or t.__class__ is not x.__class__:
        return None
    if t.ndim != 1 or t.dtype.char != "l" or t.shape[0] != x.shape[0]:
        return None
    return _go(_ENTROPY, (x, t), MEAN_ALONE)


def entropy_back(gy: Any, x: Any, stats: Any, t: Any) -> Any:
    """The gradient of the scores."""
    return _go(_ENTROPY_GRAD, (gy, x, stats, t), _MEAN)
