"""What describes a sample: var, std, median, mode, cov, corrcoef."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ...base import dtypes
from ...base.arrays import Array, ArrayModule, Shaped
from ...base.shapes import whole, wrap_dim, wrap_dims
from ...core.op import Op
from ...core.public import into, into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.guards import unsupported
from ..made_of.precision import in_float32, widen
from ..made_of.return_types import named
from ..made_of.spelling import numpy_names
from ..memory.casting import cast_to
from ..shape.reshape import reshape
from .extremes import check_filled, pick_meta, send_to_index, share_evenly
from .scan import along, doubling
from .sums import Dims, add_up, count, keep, mean, result_shape

# -- variance -----------------------------------------------------------------------------------


@in_float32
def _var_body(xp: ArrayModule, x: Array, *, correction: float, dim: Dims, keepdim: bool) -> Any:
    return _spread(xp, x, correction, dim, keepdim)


def _spread(xp: ArrayModule, x: Array, correction: float, dim: Dims, keepdim: bool, root: bool = False) -> Any:
    out = _variance(xp, x, correction, dim, keepdim)
    if xp is np and x.dtype == np.float32 and not ((out > 1e-30) & ((out < np.inf) | (not root))).all():  # type: ignore[attr-defined]
        # The squares left float32's range; those of small numbers, and a root, may well be inside.
        wide = _variance(xp, x.astype(np.float64), correction, dim, keepdim)
        with np.errstate(over="ignore"):
            return (np.sqrt(wide) if root else wide).astype(np.float32)
    return xp.sqrt(out) if root else out


def _variance(xp: ArrayModule, x: Array, correction: float, dim: Dims, keepdim: bool) -> Any:
    n = count(x.shape, dim)
    off = x - add_up(xp, x, dim, True) / n
    square = off.real * off.real + off.imag * off.imag if x.dtype.kind == "c" else off * off
    return _ratio(xp, add_up(xp, square, dim, keepdim), n - correction)


def _ratio(xp: ArrayModule, total: Any, freedom: float) -> Any:
    return xp.true_divide(total, max(freedom, 0.0))  # 0 gives inf or nan, as PyTorch


@in_float32
def _std_body(xp: ArrayModule, x: Array, *, correction: float, dim: Dims, keepdim: bool) -> Any:
    return _spread(xp, x, correction, dim, keepdim, root=True)


def _var_meta(x: Shaped, *, correction: float, dim: Dims, keepdim: bool) -> tuple:
    return result_shape(x.shape, dim, keepdim), dtypes.from_np(x.dtype).to_real().np


def _var_dx(g: Tensor, x: Tensor, correction: float, dim: Dims, keepdim: bool) -> Tensor:
    shape = x._a.shape
    freedom = max(count(shape, dim) - correction, 0.0)
    scale = 2.0 / freedom if freedom else float("inf")
    return keep(g, shape, dim, keepdim) * (x - mean(x, dim, True)) * scale


def _std_dx(g: Tensor, x: Tensor, out: Tensor, correction: float, dim: Dims, keepdim: bool) -> Tensor:
    to_var = (g / (out * 2.0)).masked_fill(out == 0, 0.0)
    return _var_dx(to_var, x, correction, dim, keepdim)


_var = Op(
    _var_body, "var", meta=_var_meta, facts=Facts(vmap="reduction", layout="plain", onnx="var", aten="var spread")
).derivative(x=_var_dx)
_std = Op(
    _std_body, "std", meta=_var_meta, facts=Facts(vmap="reduction", layout="plain", onnx="var", aten="std spread")
).derivative(x=_std_dx)


def _spread_of(
    op: Op, x: Tensor, dim: Any, unbiased: bool | None, keepdim: bool, correction: Any
) -> tuple[Tensor, Dims]:
    """Resolve the spellings of var and std: by correction, or by `unbiased` in either position."""
    if isinstance(dim, bool):
        if unbiased is not None or keepdim or correction is not None:
            raise TypeError(f"{op.name}(): argument 'dim' must be tuple of ints, not bool")
        dim, unbiased = None, dim
    if unbiased is not None and correction is not None:
        raise TypeError(f"{op.name}() takes `unbiased` or `correction`, not both")
    if x._a.dtype.kind not in "fcV":
        raise RuntimeError("std and var only support floating point and complex dtypes")
    free = correction if correction is not None else 0 if unbiased is False else 1
    free = free.item() if isinstance(free, Tensor) else free
    dims = wrap_dims(dim, x._a.ndim)
    if count(x._a.shape, dims) - free <= 0:
        warnings.warn(
            f"{op.name}(): degrees of freedom is <= 0. Correction should be strictly less than the "
            "reduction factor (input numel divided by output numel).",
            UserWarning,
            stacklevel=3,
        )
    return op(x, correction=free, dim=dims, keepdim=keepdim), dims


def _spread_function(name: str, op: Op, what: str, correction: str, example: str) -> None:
    """`var` or `std`, or such a function that gives the mean, too."""
    both = name.endswith("_mean")

    def spread(
        input: Tensor,
        dim: Any = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
        out: Any = None,
    ) -> Tensor:
        found, dims = _spread_of(op, input, dim, unbiased, keepdim, correction)
        return into(out, (found, mean(input, dims, keepdim)) if both else found)

    if both:
        spread.__annotations__["return"] = "tuple[Tensor, Tensor]"
    spread.__name__ = spread.__qualname__ = name
    spread.__doc__ = f"""{what}

    Args:
        dim: one dimension or several; all of them if not given.
        unbiased: an older way to say `correction`: True for 1, False for 0.
        keepdim: keep these dimensions with size 1.
        correction: {correction}

    Example:
        {example}
    """
    public(*["torch"] if both else [])(numpy_names(spread))


_LESS = """the sum of squares is divided by the number of elements less this; 1 by
            default."""
_spread_function(
    "var", _var, "The variance over dimensions, or of all elements.", _LESS,
    """>>> torch.tensor([1.0, 2.0, 3.0, 4.0]).var()
        tensor(1.6667)""",
)  # fmt: skip
_spread_function(
    "std", _std, "The standard deviation over dimensions, or of all elements: the square root of `var`.", _LESS,
    """>>> torch.tensor([1.0, 2.0, 3.0, 4.0]).std(correction=0)
        tensor(1.1180)""",
)  # fmt: skip
_spread_function(
    "var_mean", _var, "The variance and the mean over dimensions, or of all elements.", "as for `var`.",
    """>>> torch.var_mean(torch.tensor([1.0, 2.0, 3.0]))
        (tensor(1.), tensor(2.))""",
)  # fmt: skip
_spread_function(
    "std_mean", _std, "The standard deviation and the mean over dimensions, or of all elements.", "as for `std`.",
    """>>> torch.std_mean(torch.tensor([1.0, 2.0, 3.0]))
        (tensor(1.), tensor(2.))""",
)  # fmt: skip


# -- median and mode ----------------------------------------------------------------------------


def _middle(xp: ArrayModule, x: Array, ignore_nan: bool) -> Any:
    """The lower median of a 1-d array; nan when there is one, or when nothing else is left."""
    if not x.size:
        return xp.full((), xp.nan, x.dtype)
    last = xp.sort(x)  # nan goes to the end
    valid = (x == x).sum()
    k = xp.maximum((valid - 1) // 2, 0)
    if not ignore_nan:
        k = xp.where(valid == x.size, k, x.size - 1)
    return xp.take(last, k)


def _median_body(xp: ArrayModule, x: Array, *, ignore_nan: bool) -> Any:
    return _middle(xp, widen(xp, x).reshape(-1), ignore_nan).astype(x.dtype)


def _median_name(number: int) -> Callable[[dict], str]:
    return lambda attrs: f"{'Nanmedian' if attrs['ignore_nan'] else 'Median'}Backward{number}"


_median = Op(_median_body, "median", meta=lambda x, *, ignore_nan: ((), x.dtype), grad_name=_median_name(0))
_median.derivative(x=lambda g, x, out: share_evenly(g, x, out, None, False))


def _median_dim_body(xp: ArrayModule, x: Array, *, dim: int, keepdim: bool, ignore_nan: bool) -> tuple:
    if x.ndim == 0:
        return x.copy(), xp.zeros((), xp.int64)
    key = widen(xp, x)
    order = xp.argsort(key, axis=dim, kind="stable")
    valid = (key == key).sum(axis=dim, keepdims=True)
    middle = xp.maximum((valid - 1) // 2, 0)
    if not ignore_nan:
        middle = xp.where(valid == x.shape[dim], middle, valid)  # the first nan
    index = xp.take_along_axis(order, middle, axis=dim)
    values = xp.take_along_axis(x, index, axis=dim)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


_median_dim = Op(
    _median_dim_body,
    "median_dim",
    meta=pick_meta,
    grad_name=_median_name(1),
    facts=Facts(vmap="along", layout="plain", aten="median"),
)
_median_dim.backward(send_to_index)
_MEDIANS = {name: named(name, "values", "indices") for name in ("median", "nanmedian")}


def _median_of(name: str, x: Tensor, dim: Any, keepdim: bool, out: Any) -> Any:
    if x._a.dtype.kind in "bc":
        raise unsupported("median_cpu", x.dtype)
    ignore = name == "nanmedian"
    if dim is None:
        return into_same(out, _median(x, ignore_nan=ignore))
    if not hasattr(dim, "__index__"):
        raise TypeError(f"{name}(): argument 'dim' must be int, not {type(dim).__name__}")
    at = wrap_dim(dim if isinstance(dim, int) else dim.__index__(), x._a.ndim)
    check_filled(x, (at,), "median()")
    pair = _median_dim(x, dim=at, keepdim=keepdim, ignore_nan=ignore)
    return into_same(out, _MEDIANS[name](*pair))


def _median_function(name: str, what: str, example: str) -> None:
    """`median` or `nanmedian`."""

    def middle(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
        return _median_of(name, input, dim, keepdim, out)

    middle.__name__ = middle.__qualname__ = name
    middle.__doc__ = f"""{what}

    Args:
        dim: the dimension; all of them if not given.
        keepdim: keep the dimension with size 1.

    Example:
        {example}
    """
    public()(numpy_names(middle))


_median_function(
    "median", "The element in the middle (the lower one of two); along a dimension, values and where they are.",
    """>>> torch.tensor([3, 1, 2, 4]).median()
        tensor(2)
        >>> torch.tensor([[3, 1, 2]]).median(dim=1).indices
        tensor([2])""",
)  # fmt: skip
_median_function(
    "nanmedian", "As `median`, of the elements that are not nan.",
    """>>> torch.tensor([3.0, torch.nan, 1.0, 2.0]).nanmedian()
        tensor(2.)""",
)  # fmt: skip


def _mode_body(xp: ArrayModule, x: Array, *, dim: int, keepdim: bool) -> tuple:
    if x.ndim == 0:
        return x.copy(), xp.zeros((), xp.int64)
    order = xp.argsort(widen(xp, x), axis=dim, kind="stable")
    ordered = xp.take_along_axis(x, order, axis=dim)
    at = xp.arange(x.shape[dim]).reshape((-1,) + (1,) * (x.ndim - dim - 1))
    fresh = xp.ones(x.shape, bool)  # where a run of equal values begins
    fresh[along(dim, slice(1, None))] = ordered[along(dim, slice(1, None))] != ordered[along(dim, slice(None, -1))]
    start = doubling(xp.where(fresh, at, 0), dim, xp.maximum)
    longest = xp.expand_dims((at - start).argmax(axis=dim), dim)  # the first: the smallest value
    index = xp.take_along_axis(order, longest, axis=dim)
    values = xp.take_along_axis(x, index, axis=dim)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


_mode = Op(_mode_body, "mode", meta=pick_meta, facts=Facts(vmap="along"))
_mode.backward(send_to_index)
_MODE = named("mode", "values", "indices")


@public()
@numpy_names
def mode(input: Tensor, dim: int = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The most frequent value along a dimension (the smallest of equally frequent ones), and where it is.

    Example:
        >>> torch.tensor([1, 2, 2, 3]).mode().values
        tensor(2)
    """
    at = wrap_dim(dim, input._a.ndim)
    check_filled(input, (at,), "mode()")
    if input._a.dtype.kind == "c":
        raise unsupported("mode_cpu", input.dtype)
    return into_same(out, _MODE(*_mode(input, dim=at, keepdim=keepdim)))


# -- covariance ---------------------------------------------------------------------------------


def _weights(given: Tensor | None, name: str, n: int, integral: bool) -> Tensor | None:
    if given is None:
        return None
    if given._a.ndim > 1:
        raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {name} "
                           f"with {given._a.ndim} dimensions")  # fmt: skip
    if integral != (given._a.dtype.kind in "iu"):
        kind = "integral" if integral else "floating point"
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with {given.dtype} dtype")
    if given._a.size != n:
        raise RuntimeError(f"cov(): expected {name} to have the same numel as there are observations "
                           f"in the input but got {given._a.size} != {n}")  # fmt: skip
    if not given.is_meta and not bool((given.detach() >= 0).all()):
        raise RuntimeError(f"cov(): {name} cannot be negative")
    return given


@public()
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariance of the rows of a matrix, whose columns are observations.

    Args:
        correction: the sum of products is divided by the number of observations less this.
        fweights: how often each observation counts; integers.
        aweights: how important each observation is.

    Example:
        >>> torch.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]).cov()
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    whole(correction, "correction")
    if input._a.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input._a.ndim} dimensions"
        )
    if input._a.dtype.kind in "biu":
        input = cast_to(input, dtypes.get_default_dtype())
    x = input if input._a.ndim == 2 else reshape(input, (1, -1))
    n = x._a.shape[1]
    times = _weights(fweights, "fweights", n, True)
    scale = _weights(aweights, "aweights", n, False)
    w: Any = times if scale is None else scale if times is None else times * scale
    total: Any = n if w is None else w.sum()
    average = mean(x, 1, True) if w is None else (x * w).sum(1, keepdim=True) / total
    if scale is None:
        freedom = total - correction
    else:
        freedom = total - correction * (w * scale).sum() / total
    if isinstance(freedom, Tensor):
        freedom = freedom.clamp(min=0)
    elif freedom <= 0:
        warnings.warn("cov(): degrees of freedom is <= 0", UserWarning, stacklevel=2)
        freedom = 0
    off = x - average
    weighed = off if w is None else off * w
    return (weighed.matmul(off.t().conj()) / freedom).squeeze()


@public()
def corrcoef(input: Tensor) -> Tensor:
    """The correlation of the rows of a matrix, whose columns are observations: covariances scaled to [-1, 1].

    Example:
        >>> torch.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]).corrcoef()
        tensor([[ 1., -1.],
                [-1.,  1.]])
    """
    c = cov(input)
    if not c._a.ndim:
        return c / c
    deviation = c.diagonal().sqrt()
    c = c / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    return c if c._a.dtype.kind == "c" else c.clamp(-1, 1)
