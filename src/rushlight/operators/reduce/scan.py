"""Cumulative ops along one dim: cumsum, cumprod, cummax, cummin, logcumsumexp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base import dtypes
from ...base.arrays import Array, ArrayModule, Shaped
from ...base.shapes import wrap_dim
from ...core.op import Op
from ...core.public import into, into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.guards import check_kind, unsupported
from ..made_of.pointwise import same_meta
from ..made_of.precision import in_float32
from ..made_of.return_types import named
from ..made_of.spelling import numpy_names
from ..memory.casting import cast_to, dtype_of
from ..pointwise.arithmetic import conj
from ..shape.reshape import reshape

# -- what scans share ---------------------------------------------------------------------------


def along(dim: int, part: slice) -> tuple:
    """The index that takes `part` of axis `dim` and all of the others."""
    return (slice(None),) * dim + (part,)


def _turn(xp: ArrayModule, x: Array, dim: int, reverse: bool) -> Any:
    return xp.ascontiguousarray(x[along(dim, slice(None, None, -1))]) if reverse else x


def doubling(x: Array, dim: int, combine: Callable[[Any, Any], Any]) -> Any:
    """The running result of an associative `combine(earlier, later)` in log2(n) whole-array steps."""
    out = x.copy()
    step = 1
    while step < x.shape[dim]:
        later, earlier = along(dim, slice(step, None)), along(dim, slice(None, -step))
        out[later] = combine(out[earlier], out[later])
        step *= 2
    return out


def _scalars_too(fn: Callable) -> Callable:
    """Let a scan of a 0-d tensor run on one element."""

    def call(x: Tensor, dim: Any, *args: Any) -> Any:
        at = wrap_dim(dim if isinstance(dim, int) else dim.__index__(), x._a.ndim)
        if x._a.ndim:
            return fn(x, at, *args)
        out = fn(reshape(x, (1,)), 0, *args)
        return tuple([reshape(o, ()) for o in out]) if isinstance(out, tuple) else reshape(out, ())

    return call


# -- cumsum -------------------------------------------------------------------------------------


def _running_meta(x: Shaped, *, dim: int, reverse: bool) -> tuple:
    return x.shape, np.dtype(np.int64) if x.dtype.kind in "biu" else x.dtype


def _running_op(name: str, around: Callable = lambda body: body, onnx: str | None = None) -> Op:
    """`cumsum` or `cumprod` as an op."""

    @around
    def body(xp: ArrayModule, x: Array, *, dim: int, reverse: bool) -> Any:
        kind = x.dtype.kind
        # float64 inside, as PyTorch: a running sum in float32 loses digits, a product may leave its range and come back
        wide = xp.float64 if kind in "fV" else xp.int64 if kind in "biu" else x.dtype
        scanned = getattr(xp, name)(_turn(xp, x, dim, reverse), axis=dim, dtype=wide)
        out = _turn(xp, scanned, dim, reverse)
        return out.astype(x.dtype, copy=False) if kind in "fV" else out

    facts = Facts(vmap="along", layout="plain", autocast={"cuda": "float32"}, onnx=onnx)
    return Op(body, name, meta=_running_meta, facts=facts)


_cumsum = _running_op("cumsum", onnx="cumsum")
_cumsum.derivative(x=lambda g, dim, reverse: _cumsum(g, dim=dim, reverse=not reverse))


def _running(op: Op, x: Tensor, dim: int, dtype: Any, out: Any) -> Tensor:
    d = dtype_of(dtype, out, x)
    if d is not None:
        if d.category == dtypes.BOOL and x._a.ndim and x._a.size:
            raise unsupported(f"{op.name}_out_cpu", d)
        x = cast_to(x, d)
    result = _scalars_too(lambda v, at: op(v, dim=at, reverse=False))(x, dim)
    return into(out, result if d is None else cast_to(result, d), x)


# -- cumprod, and the scans its derivative needs ------------------------------------------------

_cumprod = _running_op("cumprod", in_float32)


def _cumprod_dx(g: Tensor, x: Tensor, out: Tensor, dim: int, reverse: bool) -> Tensor:
    """Product of what came before, times the gradients of what follows; no division, zeros are fine."""
    step = -1 if reverse else 1
    before = shift(out, dim, step, 1)
    after = linear_scan(conj(shift(x, dim, -step, 0)), g, dim=dim, reverse=not reverse)
    return conj(before) * after


_cumprod.derivative(x=_cumprod_dx)


def _shift_body(xp: ArrayModule, x: Array, *, dim: int, by: int, fill: Any) -> Any:
    out = xp.full_like(x, fill)
    n = x.shape[dim]
    lost, gap = max(-by, 0), max(by, 0)
    out[along(dim, slice(gap, max(n - lost, 0)))] = x[along(dim, slice(lost, max(n - gap, 0)))]
    return out


_shift = Op(_shift_body, "shift", moves_only=True, meta=same_meta, facts=Facts(vmap="along", aten=""))
_shift.derivative(x=lambda g, dim, by: _shift(g, dim=dim, by=-by, fill=0))


def shift(x: Tensor, dim: int, by: int, fill: Any) -> Tensor:
    """`x` moved `by` places along `dim`; what becomes free is `fill`, what leaves is lost."""
    return _shift(x, dim=dim, by=by, fill=fill)


@in_float32
def _linear_scan_body(xp: ArrayModule, a: Array, b: Array, *, dim: int, reverse: bool) -> Any:
    factor, out = _turn(xp, a, dim, reverse).copy(), _turn(xp, b, dim, reverse).copy()
    step = 1
    while step < out.shape[dim]:
        later, earlier = along(dim, slice(step, None)), along(dim, slice(None, -step))
        out[later] = out[later] + factor[later] * out[earlier]
        factor[later] = factor[later] * factor[earlier]
        step *= 2
    return _turn(xp, out, dim, reverse)


# h[k] = a[k] * h[k-1] + b[k], from 0 on; with `reverse` from the end. Its derivative is one again.
linear_scan = Op(
    _linear_scan_body, "linear_scan", meta=lambda a, b, *, dim, reverse: (b.shape, b.dtype), facts=Facts(vmap="along")
)


@linear_scan.backward
def _linear_scan_dx(g: Tensor, a: Tensor, out: Tensor, dim: int, reverse: bool) -> tuple:
    step = -1 if reverse else 1
    gb = linear_scan(conj(shift(a, dim, -step, 0)), g, dim=dim, reverse=not reverse)
    return gb * conj(shift(out, dim, step, 0)), gb


def _running_function(op: Op, what: str, example: str) -> Callable[..., Tensor]:
    """`cumsum` or `cumprod`."""

    def running(input: Tensor, dim: int, *, dtype: Any = None, out: Any = None) -> Tensor:
        return _running(op, input, dim, dtype, out)

    running.__name__ = running.__qualname__ = op.name
    running.__doc__ = f"""The {what} of all elements up to each one along a dimension.

    Args:
        dim: the dimension.

    Example:
        >>> torch.tensor({example}
    """
    return public(inplace=True)(numpy_names(running))


cumsum = _running_function(_cumsum, "sum", "[1, 2, 3]).cumsum(0)\n        tensor([1, 3, 6])")
cumprod = _running_function(_cumprod, "product", "[1, 2, 3, 4]).cumprod(0)\n        tensor([ 1,  2,  6, 24])")


def product_of_others(x: Tensor, dim: int) -> Tensor:
    """For each element the product of all the others along `dim`: exact where some are zero."""
    before = shift(_cumprod(x, dim=dim, reverse=False), dim, 1, 1)
    after = shift(_cumprod(x, dim=dim, reverse=True), dim, -1, 1)
    return before * after


# -- cummax and cummin --------------------------------------------------------------------------


def _extreme_scan(name: str, ufunc: str) -> Op:
    def body(xp: ArrayModule, x: Array, *, dim: int) -> Any:
        values = doubling(x, dim, getattr(xp, ufunc))  # NumPy's ufuncs pass nan on
        at = xp.arange(x.shape[dim]).reshape((-1,) + (1,) * (x.ndim - dim - 1))
        found = (x == values) | (x != x)  # the latest of equal ones, as PyTorch
        indices = doubling(xp.where(found, at, 0), dim, xp.maximum)
        return values, indices.astype(xp.int64, copy=False)

    def meta(x: Shaped, *, dim: int) -> list:
        return [(x.shape, x.dtype), (x.shape, np.dtype(np.int64))]

    def backward(gs: Any, x_shape: tuple, out1: Tensor, dim: int) -> tuple:
        g = gs[0]
        return (None if g is None else g.new_zeros(x_shape).scatter_add(dim, out1, g),)

    op = Op(body, name, meta=meta, facts=Facts(vmap="along"))
    op.backward(backward)
    return op


def _extreme_function(name: str, op: Op, word: str, example: str) -> None:
    """`cummax` or `cummin`."""
    kind = named(name, "values", "indices")

    def scan(input: Tensor, dim: int, *, out: Any = None) -> Any:
        check_kind(input, "biufV", f"{name}_cpu")
        return into_same(out, kind(*_scalars_too(lambda v, at: op(v, dim=at))(input, dim)))

    scan.__name__ = scan.__qualname__ = name
    scan.__doc__ = f"""The {word} element up to each one along a dimension, and where it is.

    Args:
        dim: the dimension.

    Example:
        >>> {example}
    """
    public()(numpy_names(scan))


_extreme_function(
    "cummax", _extreme_scan("cummax", "maximum"), "largest",
    "torch.tensor([1, 3, 2]).cummax(0).values\n        tensor([1, 3, 3])",
)  # fmt: skip
_extreme_function(
    "cummin", _extreme_scan("cummin", "minimum"), "smallest",
    "torch.tensor([3, 1, 2]).cummin(0).values\n        tensor([3, 1, 1])",
)  # fmt: skip


# -- logcumsumexp -------------------------------------------------------------------------------


@in_float32
def _logcumsumexp_body(xp: ArrayModule, x: Array, *, dim: int) -> Any:
    if x.dtype.kind != "c":
        return doubling(x, dim, xp.logaddexp)

    def joined(earlier: Any, later: Any) -> Any:
        less = earlier.real <= later.real
        top, low = xp.where(less, later, earlier), xp.where(less, earlier, later)
        return xp.where(low.real == -xp.inf, top, top + xp.log1p(xp.exp(low - top)))

    out = x.copy()  # one after the other: the order says to which turn an angle belongs
    lines, given = xp.moveaxis(out, dim, 0), xp.moveaxis(x, dim, 0)
    with np.errstate(invalid="ignore"):
        for i in range(1, len(lines)):
            lines[i] = joined(lines[i - 1], given[i])
    return out


_logcumsumexp = Op(_logcumsumexp_body, "logcumsumexp", meta=same_meta, facts=Facts(vmap="along"))


def _logcumsumexp_dx(g: Tensor, x: Tensor, out: Tensor, dim: int) -> Tensor:
    """A scan whose factors are all at most 1, so nothing overflows."""
    nothing = out == -float("inf")
    level = out.masked_fill(nothing, 0.0)
    ratio = (level - shift(level, dim, -1, float("inf"))).exp().masked_fill(nothing, 0.0)
    following = linear_scan(conj(ratio), g, dim=dim, reverse=True)
    return following * conj((x - level).exp())


_logcumsumexp.derivative(x=_logcumsumexp_dx)


@public()
@numpy_names
def logcumsumexp(input: Tensor, dim: int, *, out: Any = None) -> Tensor:
    """The logarithm of the sum of exponentials up to each element along a dimension.

    Example:
        >>> torch.tensor([0.0, 0.0, 0.0]).logcumsumexp(0)
        tensor([0.0000, 0.6931, 1.0986])
    """
    check_kind(input, "fVc", "logcumsumexp_out_cpu")
    result = _scalars_too(lambda v, at: _logcumsumexp(v, dim=at))(input, dim)
    return into_same(out, result, input)
