"""New tensors whose values follow a rule: ranges, spaced points, the identity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base import dtypes
from ...base.arrays import ArrayModule
from ...base.device import device
from ...base.dtypes import as_dtype, dtype, title
from ...base.fits import fitting
from ...base.formats import layout
from ...base.shapes import MOST, whole
from ...core.public import into, public
from ...core.tensor import Tensor
from ...runtime.door import Kernel
from ...runtime.facts import Facts
from .filled import create, float_dtype, number


def _size_meta(*, dtype: dtype, size: tuple, **attrs: Any) -> tuple:
    return size, dtype.np


# -- arange --------------------------------------------------------------------------------------


def _arange(xp: ArrayModule, *, start: Any, step: Any, size: tuple, dtype: dtype, device: device) -> Any:
    if isinstance(start, int) and isinstance(step, int) and step:
        wide = xp.arange(start, start + size[0] * step, step)
    else:
        wide = xp.arange(size[0]) * float(step) + float(start)
    return wide.astype(dtype.np, copy=False)


def _ends(attrs: dict[str, Any], shapes: Any) -> tuple[int, int] | None:
    start, step, n = attrs["start"], attrs["step"], attrs["size"][0]
    if start.__class__ is not int or step.__class__ is not int or not n:
        return None
    ends = start, start + (n - 1) * step
    return min(ends), max(ends)


ARANGE = Kernel("arange", _arange, meta=_size_meta, facts=Facts(range=_ends, onnx="arange"))


def _arange_dtype(values: tuple, given: Any) -> dtype:
    if given is not None:
        return as_dtype(given)
    if any(isinstance(v, float) for v in values):
        return dtypes.get_default_dtype()
    return dtypes.int64


@public("torch")
def arange(
    *bounds: Any,
    start: float | Tensor | None = None,
    end: float | Tensor | None = None,
    step: float | Tensor | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Numbers in equal steps; the end is not included.

    Called as `arange(end)`, `arange(start, end)` or `arange(start, end, step)`.

    Args:
        bounds: the numbers above, by position.
        start: the first number; 0 if not given.
        end: where to stop.
        step: the distance of neighbours; 1 if not given, negative to count down.

    Raises:
        RuntimeError: if `step` is 0, or leads away from `end`.

    Example:
        >>> torch.arange(4)
        tensor([0, 1, 2, 3])
        >>> torch.arange(1, 2, 0.25)
        tensor([1.0000, 1.2500, 1.5000, 1.7500])
    """
    values = _all_whole(bounds) if start is None and end is None and step is None else None
    if values is None:
        values = _bounds(list(bounds), start, end, step)
    d = out.dtype if out is not None and dtype is None else _arange_dtype(values, dtype)
    count = _count(*values)
    if d.category == dtypes.INTEGRAL and (dtype is not None or out is not None):
        # PyTorch counts in float64, and cuts the ends off afterwards; in int64 it counts what is left of them.
        values = tuple([int(v) for v in values])
        if d is dtypes.int64:
            if values[2] == 0:
                raise ValueError("step must be nonzero")
            count = _count(*values)
    wide = {dtypes.INTEGRAL: dtypes.int64, dtypes.FLOATING: dtypes.float32}
    if d.itemsize < 4 or d is dtypes.int32:  # what PyTorch counts in
        for value in values:
            fitting(value, wide.get(d.category, d))
    return _filling(ARANGE, count, out, device, requires_grad, pin_memory=pin_memory, layout=layout,
                    start=values[0], step=values[2], dtype=d)  # fmt: skip


def _filling(
    kernel: Kernel, count: int, out: Tensor | None, device: Any, requires_grad: bool, **options: Any
) -> Tensor:
    """So many numbers; an `out` that has as many elements keeps its shape."""
    if out is None or out.dim() == 1 or out.numel() != count:
        return create(kernel, device, requires_grad, out, size=(count,), **options)
    found = create(kernel, out.device if device is None else device, size=(count,), **options)
    return into(out, found.reshape(out._a.shape))


def _all_whole(bounds: tuple) -> tuple | None:
    """Start, end and step where all were given by position as plain integers that every kernel can hold."""
    for b in bounds:
        if b.__class__ is not int or not -_WIDE < b < _WIDE:
            return None
    n = len(bounds)
    return (0, bounds[0], 1) if n == 1 else (*bounds, 1) if n == 2 else bounds if n == 3 else None


def _bounds(given: list[Any], start: Any, end: Any, step: Any) -> tuple:
    """Start, end and step of those that were given by position and those that have a name."""
    if start is None:
        start = given.pop(0) if len(given) > 1 or (given and end is not None) else 0
    if end is None:
        if not given:
            raise TypeError('arange() missing 1 required positional arguments: "end"')
        end = given.pop(0)
    if step is None:
        step = given.pop(0) if given else 1
    if given:
        raise TypeError("arange() received an invalid combination of arguments")
    return tuple([int(v) if isinstance(v, bool) else v for v in map(number, (start, end, step))])


_WIDE = 2**31  # bounds below it need no look at what integers can hold


def _count(start: Any, end: Any, step: Any) -> int:
    if start.__class__ is int and end.__class__ is int and step.__class__ is int:
        if 0 <= start <= end < _WIDE and 0 < step:
            return -((start - end) // step)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    for value in (start, end, step):
        if isinstance(value, int):
            fitting(value, dtypes.int64)
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        count = -(-(end - start) // step)
    else:
        count = math.ceil((end - start) / step)
    if count > MOST:
        raise RuntimeError("invalid size, possible overflow?")
    return count


@public("torch", name="range")
def range_(
    start: float | Tensor | None = 0,
    end: float | Tensor | None = None,
    step: float | Tensor | None = 1,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | str | int | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers in equal steps, the end included; `arange` is the usual choice, and PyTorch warns about this one.

    Args:
        start: the first number.
        end: the last number, if the steps meet it.
        step: the distance of neighbours.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.range(1, 4)
        tensor([1., 2., 3., 4.])
    """
    if end is None:
        start, end = 0, start
    count = math.floor((number(end) - number(start)) / number(step)) + 1
    return _filling(ARANGE, count, out, device, requires_grad, layout=layout, start=float(number(start)),
                    step=float(number(step)), dtype=float_dtype(dtype))  # fmt: skip


# -- linspace and logspace -------------------------------------------------------------------------


_SPLIT = 2.0**27 + 1  # halves a double into two parts whose products are exact


def _rounded(value: float, kind: Any) -> Any:
    with np.errstate(over="ignore"):
        near = kind(value)
    if math.isinf(near) and not math.isinf(value):
        raise RuntimeError(f"value cannot be converted to type {kind.__name__} without overflow")
    return near


def _stepped(start: Any, end: Any, steps: int, dtype: dtype) -> Any:
    """The ends and the step, rounded where PyTorch rounds them."""
    parts = max(steps - 1, 1)
    if dtype.is_floating_point and dtype.itemsize <= 4:
        kind = dtype.np.type
        start, end = _rounded(start, kind), _rounded(end, kind)
        return float(start), float(end), float((end - start) / kind(parts))
    if not (dtype.is_floating_point or dtype.is_complex):
        start, end = int(start), int(end)
    return start, end, (end - start) / parts


def _multiples(gap: Any, index: Any, origin: Any, dtype: dtype) -> Any:
    """origin + gap * index: halves are rounded after every operation, other numbers once."""
    if not dtype.is_floating_point or dtype.itemsize > 4:
        return _fused(gap, index, origin)
    if dtype.itemsize == 4:
        return origin + gap * index.astype(float)
    product = gap * index.astype(dtype.np).astype("float32")
    return origin + product.astype(dtype.np).astype("float32")


def _fused(a: Any, b: Any, c: Any) -> Any:
    """a * b + c, rounded once as processors do it: what the product and the sum lose is added at the end."""
    product = a * b
    if isinstance(a, complex) or isinstance(c, complex) or not abs(a) < 1e290:
        return product + c
    a_high = a * _SPLIT - (a * _SPLIT - a)
    b_high = b * _SPLIT - (b * _SPLIT - b)
    a_low, b_low = a - a_high, b - b_high
    lost = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    total = product + c
    part = total - c
    return total + ((c - (total - part)) + (product - part) + lost)


def _linspace(
    xp: ArrayModule, *, start: Any, end: Any, size: tuple, dtype: dtype, device: device, base: Any = None
) -> Any:
    (steps,) = size
    if steps == 1:
        points = xp.asarray([start], dtype=complex if isinstance(start, complex) else float)
    else:
        # Walked from both ends to the middle, as PyTorch does, so that the ends are exact.
        index = xp.arange(steps)
        # Exponents are doubles: only their powers are rounded.
        kind = dtypes.float64 if base is not None and dtype.is_floating_point else dtype
        start, end, gap = _stepped(start, end, steps, kind)
        up = _multiples(gap, index, start, kind)
        down = _multiples(-gap, steps - 1 - index, end, kind)
        points = xp.where(index < steps // 2, up, down)
    if base is not None:
        points = xp.power(float(base), points)
    return points.astype(dtype.np)


LINSPACE = Kernel("linspace", _linspace, meta=_size_meta)


def _spaced(name: str, start: Any, end: Any, steps: Any, base: Any, dtype: Any, out: Any, **options: Any) -> Tensor:
    steps = number(steps)
    if not isinstance(steps, int) or isinstance(steps, bool):
        kinds = [type(a).__name__ for a in (start, end, steps)]
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({', '.join(kinds)}): "
            f"argument 'steps' (position 3) must be int, not {kinds[2]}"
        )
    if whole(steps, "steps") < 0:
        raise RuntimeError("number of steps must be non-negative")
    given = [(n, t._a.ndim) for n, t in (("start", start), ("end", end)) if isinstance(t, Tensor)]
    if any(dims for _, dims in given):
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got "
            + " and ".join(f"{n} with {dims} dimension(s)" for n, dims in given)
            + "."
        )
    ends = [number(start), number(end)]
    if dtype is None and out is not None:
        d = out.dtype
    elif dtype is None and any(isinstance(v, complex) for v in ends):
        d = dtypes.get_default_dtype().to_complex()
    else:
        d = float_dtype(dtype)
    if not d.is_complex and any(isinstance(v, complex) for v in ends):
        raise RuntimeError(
            f"torch.{name}(): inferred dtype c10::complex<float> can't be safely cast to passed dtype {title(d)}"
        )
    for value in ends:
        fitting(value, d if base is None else dtypes.complex128)
    if d.category == dtypes.FLOATING:
        ends = [float(v) if isinstance(v, int) else v for v in ends]
    return _filling(LINSPACE, steps, out, options.pop("device"), options.pop("requires_grad"),
                    start=ends[0], end=ends[1], dtype=d, base=base, **options)  # fmt: skip


@public("torch")
def linspace(
    start: float | Tensor | None,
    end: float | Tensor | None,
    steps: int,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Evenly spaced numbers, both ends included.

    Args:
        start: the first number.
        end: the last number.
        steps: how many.

    Example:
        >>> torch.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    return _spaced("linspace", start, end, steps, None, dtype, out, layout=layout, device=device,
                   requires_grad=requires_grad, pin_memory=pin_memory)  # fmt: skip


@public("torch")
def logspace(
    start: float | Tensor | None,
    end: float | Tensor | None,
    steps: int,
    base: float = 10.0,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Powers of a base whose exponents are evenly spaced.

    Args:
        start: the first exponent.
        end: the last exponent.
        steps: how many.
        base: what is raised to these powers.

    Example:
        >>> torch.logspace(0, 2, 3)
        tensor([  1.,  10., 100.])
    """
    return _spaced("logspace", start, end, steps, base, dtype, out, layout=layout, device=device,
                   requires_grad=requires_grad, pin_memory=pin_memory)  # fmt: skip


# -- eye -----------------------------------------------------------------------------------------


def _eye(xp: ArrayModule, *, size: tuple, dtype: dtype, device: device) -> Any:
    return xp.eye(*size, dtype=dtype.np)


EYE = Kernel("eye", _eye, moves_only=True, meta=_size_meta)


@public("torch")
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere.

    Args:
        n: the number of rows.
        m: the number of columns; `n` if not given.

    Example:
        >>> torch.eye(2)
        tensor([[1., 0.],
                [0., 1.]])
    """
    m = n if m is None else m
    for label, value in (("n", n), ("m", m)):
        if whole(value, label) < 0:
            raise RuntimeError(f"{label} must be greater or equal to 0, got {value}")
    d = out.dtype if out is not None and dtype is None else float_dtype(dtype)
    return create(EYE, device, requires_grad, out, pin_memory, layout, size=(n, m), dtype=d)


@public("torch")
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """A matrix of powers: one row for every element, one column for every exponent.

    Args:
        x: a vector.
        N: the number of columns; as many as rows if not given.
        increasing: exponents grow from left to right; otherwise they fall.

    Example:
        >>> torch.vander(torch.tensor([1, 2, 3]))
        tensor([[1, 1, 1],
                [4, 2, 1],
                [9, 3, 1]])
    """
    if x._a.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x._a.shape[0] if N is None else whole(N, "N")
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    powers = arange(count, device=x.device)
    if not increasing:
        powers = count - 1 - powers
    made = x.unsqueeze(-1) ** powers
    return made.to(x.dtype) if x.is_floating_point() else made  # as wide as x under autocast, too
