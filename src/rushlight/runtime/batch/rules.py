"""How kernels compute all samples at once: by shifted dims, by broadcasting, by reading the samples as more rows.

A rule gets the call and answers the arrays of all samples, the samples along the first dim, or NotImplemented: then
the kernel runs once for each sample. Leaving a kernel out costs time and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.dtypes import int64
from .. import devices
from ..door import KERNELS, run
from .arrays import compute
from .calls import MappedCall, reshaped

Rule = Callable[[MappedCall], Any]
RULES: dict[str, Rule] = {}  # by name; kernels say theirs in their facts
CHANGING: dict[str, Rule] = {}  # for kernels that write into their first array


def rule(fn: Rule) -> Rule:
    """Let a function be a way to compute all samples."""
    RULES[fn.__name__] = fn
    return fn


def rule_of(kernel: Any) -> Rule | None:
    """The way of a kernel: what its facts say, which may follow from how it computes an element."""
    facts = kernel.facts
    if facts.vmap is None:
        if facts.point is None:
            return None
        return alike if facts.point.inputs[:1] in (("gy",), ("dy",)) else pointwise
    return RULES[facts.vmap]


# -- element by element -------------------------------------------------------------------------


@rule
def pointwise(call: MappedCall) -> Any:
    return call.run(*call.aligned())


@rule
def alike(call: MappedCall) -> Any:
    """Derivatives, which are given arrays of one shape, and bounds of fewer dims."""
    ndim = call.arrays[0].ndim
    arrays = [
        call.whole(i) if devices.is_array(a) and a.ndim == ndim else held
        for i, (a, held) in enumerate(zip(call.arrays, call.aligned()))
    ]
    return call.run(*arrays)


@rule
def one_by_one(call: MappedCall) -> Any:
    return NotImplemented


@rule
def clone(call: MappedCall) -> Any:
    order = call.attrs["order"]
    if not isinstance(order, str):
        order = (0, *[d + 1 for d in order])
    return call.run(call.held[0], order=order)


@rule
def copied(call: MappedCall) -> Any:
    """What an in-place operation will write: of the shape of the first array."""
    return call.run(*call.aligned()) if call.mapped[0] else NotImplemented


def _copy_into(call: MappedCall) -> Any:
    if call.arrays[1].ndim > call.arrays[0].ndim:
        for i in range(call.size):
            compute(call.kernel, *call.sample(i), **call.attrs)
        return None
    return call.run(*call.aligned())


CHANGING["copy_into"] = _copy_into
CHANGING["fill_into"] = lambda call: call.run(call.held[0])


# -- one dim or several -------------------------------------------------------------------------


def _shifted(dim: int, ndim: int) -> int:
    return dim % ndim + 1 if ndim else 1


@rule
def reduction(call: MappedCall) -> Any:
    x, held, dim = call.arrays[0], call.held[0], call.attrs["dim"]
    if not x.ndim:  # over no dim, which is not over all
        attrs = {"dim": (1,)} if "keepdim" not in call.attrs else {"dim": (1,), "keepdim": False}
        return call.run(compute("unsqueeze", held, dim=1), **attrs)
    if dim is None:
        dims = tuple(range(x.ndim))
    else:
        dims = dim if isinstance(dim, tuple) else (dim,)
    return call.run(held, dim=tuple([_shifted(d, x.ndim) for d in dims]))


@rule
def position(call: MappedCall) -> Any:
    x, held, dim = call.arrays[0], call.held[0], call.attrs["dim"]
    if not x.ndim or (dim is None and call.attrs["keepdim"]):
        return NotImplemented
    if dim is None:
        return call.run(reshaped(held, (call.size, x.size)), dim=1)
    return call.run(held, dim=_shifted(dim, x.ndim))


@rule
def along(call: MappedCall) -> Any:
    ndim = call.arrays[0].ndim
    if not ndim:
        return NotImplemented
    return call.run(*call.all_whole(), dim=_shifted(call.attrs["dim"], ndim))


@rule
def several(call: MappedCall) -> Any:
    name = "dims"
    ndim = call.arrays[0].ndim
    return call.run(call.held[0], **{name: tuple([_shifted(d, ndim) for d in call.attrs[name]])})


@rule
def roll(call: MappedCall) -> Any:
    dims = call.attrs["dims"]
    if not isinstance(dims, tuple) or not dims:
        return NotImplemented
    return call.run(call.held[0], dims=tuple([_shifted(d, call.arrays[0].ndim) for d in dims]))


# -- shapes -------------------------------------------------------------------------------------


@rule
def view(call: MappedCall) -> Any:
    return call.run(call.held[0], shape=(call.size, *call.attrs["shape"]))


@rule
def expand(call: MappedCall) -> Any:
    held, shape = call.held[0], call.attrs["shape"]
    for _ in range(len(shape) - call.arrays[0].ndim):
        held = compute("unsqueeze", held, dim=1)
    return call.run(held, shape=(call.size, *shape))


@rule
def sum_to_size(call: MappedCall) -> Any:
    x, shape = call.arrays[0], tuple(call.attrs["shape"])
    even = (1,) * (x.ndim - len(shape)) + shape
    return reshaped(call.run(call.held[0], shape=(call.size, *even)), (call.size, *shape))


@rule
def permute(call: MappedCall) -> Any:
    ndim = call.arrays[0].ndim
    return call.run(call.held[0], dims=(0, *[_shifted(d, ndim) for d in call.attrs["dims"]]))


@rule
def transpose(call: MappedCall) -> Any:
    ndim = call.arrays[0].ndim
    if not ndim:
        return call.held[0]
    dims = [_shifted(call.attrs[name], ndim) for name in ("dim0", "dim1")]
    return call.run(call.held[0], dim0=dims[0], dim1=dims[1])


@rule
def t(call: MappedCall) -> Any:
    if call.arrays[0].ndim < 2:
        return call.held[0]
    return compute("transpose", call.held[0], dim0=1, dim1=2)


@rule
def unsqueeze(call: MappedCall) -> Any:
    return call.run(call.held[0], dim=_shifted(call.attrs["dim"], call.arrays[0].ndim + 1))


@rule
def squeeze(call: MappedCall) -> Any:
    ndim = call.arrays[0].ndim
    return call.run(call.held[0], dims=tuple([_shifted(d, ndim) for d in call.attrs["dims"]]))


ALL = (None, None, None)  # a window over a whole dim


@rule
def window(call: MappedCall) -> Any:
    return call.run(call.held[0], index=(ALL, *call.attrs["index"]))


@rule
def unwindow(call: MappedCall) -> Any:
    index, shape = call.attrs["index"], call.attrs["shape"]
    return call.run(call.held[0], index=(ALL, *index), shape=(call.size, *shape))


@rule
def cat(call: MappedCall) -> Any:
    ndim = max(a.ndim for a in call.arrays)
    if any(a.ndim != ndim for a in call.arrays):  # an empty one of one dim counts for nothing
        return NotImplemented
    return call.run(*call.all_whole(), dim=_shifted(call.attrs["dim"], ndim))


@rule
def stack(call: MappedCall) -> Any:
    return call.run(*call.all_whole(), dim=_shifted(call.attrs["dim"], call.arrays[0].ndim + 1))


@rule
def diagonal(call: MappedCall) -> Any:
    ndim = call.arrays[0].ndim
    dims = [_shifted(call.attrs[name], ndim) for name in ("dim1", "dim2")]
    return call.run(call.held[0], dim1=dims[0], dim2=dims[1])


@rule
def triangle(call: MappedCall) -> Any:
    return call.run(call.held[0]) if call.arrays[0].ndim > 1 else NotImplemented


@rule
def pad(call: MappedCall) -> Any:
    return call.run(call.held[0], widths=((0, 0), *call.attrs["widths"]))


@rule
def repeat(call: MappedCall) -> Any:
    held, repeats = call.held[0], tuple(call.attrs["repeats"])
    for _ in range(len(repeats) - call.arrays[0].ndim):
        held = compute("unsqueeze", held, dim=1)
    return call.run(held, repeats=(1, *repeats))


@rule
def as_it_is(call: MappedCall) -> Any:
    """Kernels that count dims from the last, and let the others be."""
    return call.run(*call.held)


@rule
def solve(call: MappedCall) -> Any:
    return call.run(*call.aligned()) if min(a.ndim for a in call.arrays) > 1 else NotImplemented


# -- by indices ---------------------------------------------------------------------------------


@rule
def gather(call: MappedCall) -> Any:
    ndim = call.arrays[0].ndim
    if any(devices.is_array(a) and a.ndim != ndim for a in call.arrays) or not ndim:
        return NotImplemented
    return call.run(*call.all_whole(), dim=_shifted(call.attrs["dim"], ndim))


@rule
def gather_grad(call: MappedCall) -> Any:
    shape = call.attrs["shape"]
    if not shape or any(a.ndim != len(shape) for a in call.arrays):
        return NotImplemented
    dim = _shifted(call.attrs["dim"], len(shape))
    return call.run(*call.all_whole(), dim=dim, shape=(call.size, *shape))


@rule
def index_select(call: MappedCall) -> Any:
    if call.mapped[1] or not call.arrays[0].ndim:
        return NotImplemented
    return call.run(*call.held, dim=_shifted(call.attrs["dim"], call.arrays[0].ndim))


def _first_places(call: MappedCall, ndim: int) -> Any:
    """The number of each sample, in a shape that broadcasts with indices of `ndim` dims."""
    place = devices.device_of(call.arrays[0])
    attrs = {"start": 0, "step": 1, "size": (call.size,), "dtype": int64, "device": place}
    numbers = run(KERNELS["arange"], devices.backend_of(place).array_type, (), attrs)
    return reshaped(numbers, (call.size, *(1,) * ndim))


@rule
def index(call: MappedCall) -> Any:
    """`x[..., i, :, j]` with a tensor of sample numbers in front, where one mask or index is another's for each sample."""
    picks, slots = call.arrays[1:], call.attrs["slots"]
    if any(p.dtype.kind == "b" for p in picks):
        return NotImplemented
    extra = {"shape": (call.size, *call.attrs["shape"])} if "shape" in call.attrs else {}
    if not any(call.mapped[1:]):
        return _index_shared(call, slots, extra)
    if slots[0] != 1 or 0 in slots[: sum(slots)]:
        return NotImplemented  # the picked dims would not stand first
    ndim = max(p.ndim for p in picks)
    held = call.aligned_from(1, ndim)
    return call.run(call.whole(0), _first_places(call, ndim), *held, slots=(1, *slots), **extra)


def _index_shared(call: MappedCall, slots: tuple, extra: dict[str, Any]) -> Any:
    at = [d for d, taken in enumerate(slots) if taken]
    if at[-1] - at[0] != len(at) - 1:
        return NotImplemented  # apart, the picked dims go to the front, before the samples
    return call.run(*call.held, slots=(0, *slots), **extra)


@rule
def embedding(call: MappedCall) -> Any:
    return NotImplemented if call.mapped[0] else call.run(*call.held)


@rule
def searchsorted(call: MappedCall) -> Any:
    seq, values = call.arrays[:2]
    if not call.mapped[0]:
        return call.run(*call.held) if seq.ndim == 1 else NotImplemented
    if seq.ndim == 1:
        flat = reshaped(call.whole(1), (call.size, values.size))
        return reshaped(call.run(call.held[0], flat), (call.size, *values.shape))
    return call.run(*call.all_whole())


# Tests of operators/ that look at each element by itself.
_OF_ELEMENTS = frozenset(("_within", "below", "between_zero_and_one"))


@rule
def check(call: MappedCall) -> Any:
    if call.attrs["test"].__name__ in _OF_ELEMENTS:
        call.run(*call.held)
    else:
        for i in range(call.size):
            call.run(*call.sample(i))
    return ()
