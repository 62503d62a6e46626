"""In which order the results of NumPy bodies lie in memory, where PyTorch's differs from NumPy's.

NumPy lets a result lie as its inputs do, whatever the operation. PyTorch has a rule for each: most reductions, scans and
joins give contiguous results, images stay channels-last, sorting keeps the order of its input, factors of matrices lie
column by column. Programs see it when they call `view`. Only a result that lies otherwise is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.formats import dense_order
from ..facts import Facts

Rule = Callable[[np.ndarray, tuple], Sequence[int]]  # the dims of a result, outermost first


def _plain(out: np.ndarray, inputs: tuple) -> Sequence[int]:
    return range(out.ndim)


def _images(out: np.ndarray, inputs: tuple) -> Sequence[int]:
    """Channels last where every input of as many dims is."""
    beside = [a for a in inputs if isinstance(a, np.ndarray) and a.ndim == out.ndim]
    if out.ndim in (4, 5) and beside and all(map(_channels_last, beside)):
        return (0, *range(2, out.ndim), 1)
    return range(out.ndim)


def _image(out: np.ndarray, inputs: tuple) -> Sequence[int]:
    """Channels last where the first input is."""
    return _images(out, inputs[:1])


def _of_either(out: np.ndarray, inputs: tuple) -> Sequence[int]:
    """Channels last where the images or the weights of a convolution are."""
    if out.ndim in (4, 5) and any(map(_is_turned, inputs[:2])):
        return (0, *range(2, out.ndim), 1)
    return range(out.ndim)


def _is_turned(a: np.ndarray) -> bool:
    return _channels_last(a) and not a.flags.c_contiguous


def _channels_last(a: np.ndarray) -> bool:
    """Whether PyTorch would say so: strides grow from the channels outwards."""
    least = 0
    if not a.strides[1]:
        return False
    for d in (1, *range(a.ndim - 1, 1, -1), 0):
        if not a.shape[d] or a.strides[d] < least or (d == 0 and least == a.strides[1]):
            return False
        least = a.strides[d] * max(a.shape[d], 1)
    return True


def _as_first(out: np.ndarray, inputs: tuple) -> Sequence[int]:
    """The order of the first input."""
    first = inputs[0]
    if not isinstance(first, np.ndarray) or first.ndim != out.ndim:
        return range(out.ndim)
    return _of_inputs(out, (first,))


def _columns(out: np.ndarray, inputs: tuple) -> Sequence[int]:
    """Matrices column by column; what has fewer dims than the input are vectors."""
    if out.ndim < max(inputs[0].ndim, 2):
        return range(out.ndim)
    return (*range(out.ndim - 2), out.ndim - 1, out.ndim - 2)


RULES: dict[str, Rule] = {
    "plain": _plain, "images": _images, "image": _image, "of_either": _of_either, "first": _as_first, "columns": _columns,
}  # fmt: skip


def _of_inputs(out: np.ndarray, inputs: tuple) -> Sequence[int]:
    """As all inputs lie, the first before the others."""
    shown = [(a.shape, a.strides) for a in inputs if isinstance(a, np.ndarray)]
    return dense_order(out.shape, shown)


def _not_by_numpy(pointwise: bool) -> Callable[[Any, tuple], Any]:
    """Where a body lets NumPy choose: NumPy puts the dims along which an input repeats innermost, PyTorch where they are."""
    tells = _is_strided if pointwise else _repeats

    def lie(out: Any, arrays: tuple) -> Any:
        if any(map(tells, arrays)):
            if out.__class__ is tuple:
                return tuple([_lie_as_inputs(o, arrays, pointwise) for o in out])
            return _lie_as_inputs(out, arrays, pointwise)
        return out

    return lie


def _is_strided(a: Any) -> bool:
    return a.__class__ is np.ndarray and not a.flags.c_contiguous


def _repeats(a: Any) -> bool:
    """Whether it is an expanded array."""
    if a.__class__ is not np.ndarray or 0 not in a.strides:
        return False
    return any(size > 1 and not step for size, step in zip(a.shape, a.strides))


def _lie_as_inputs(out: Any, inputs: tuple, pointwise: bool) -> Any:
    if out.__class__ is not np.ndarray or out.base is not None or out.ndim < 2:
        return out  # a view, or what the body itself has laid out
    if out.flags.c_contiguous and not pointwise:
        return out
    return _lie(out, inputs, _of_inputs)


# What behind.c of the engine looks at before it asks: by the name of a layout, otherwise whether a kernel is pointwise.
KINDS = {True: 1, False: 2, "plain": 3, "images": 4, "image": 4, "of_either": 4, "first": 5, "columns": 6}


def kind_of(facts: Facts) -> int:
    """One of KINDS, for a kernel with these facts."""
    return KINDS[facts.point is not None if facts.layout is None else facts.layout]


def lying(facts: Facts) -> Callable[[Any, tuple], Any]:
    """What puts the results of a kernel, given its inputs, in the order that its facts name."""
    if facts.layout is None:
        return _not_by_numpy(facts.point is not None)
    rule = RULES[facts.layout]

    def lie(out: Any, arrays: tuple) -> Any:
        if out.__class__ is tuple:
            return tuple([_lie(o, arrays, rule) for o in out])
        return _lie(out, arrays, rule)

    return lie


def laid_out(facts: Facts, body: Callable[..., Any]) -> Callable[..., Any]:
    """`body`, its results in the order that PyTorch gives them."""
    lie = lying(facts)

    def call(*arrays: Any, **attrs: Any) -> Any:
        return lie(body(*arrays, **attrs), arrays)

    return call


def _lie(out: Any, inputs: tuple, rule: Rule) -> Any:
    if out.ndim < 2 or (out.flags.c_contiguous and rule is _plain):
        return out if out.flags.c_contiguous else out.copy()
    order = rule(out, inputs)
    in_order = out.transpose(order)
    if in_order.flags.c_contiguous:
        return out
    back = sorted(range(out.ndim), key=order.__getitem__)
    return np.ascontiguousarray(in_order).transpose(back)
