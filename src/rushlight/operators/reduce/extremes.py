"""The largest and the smallest: max, min, amax, amin, aminmax, argmax, argmin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule, Shaped
from ...base.dtypes import title
from ...base.shapes import wrap_dim, wrap_dims
from ...core.op import Op
from ...core.public import into, into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.return_types import named
from ..made_of.spelling import numpy_names, one_of
from .sums import Dims, keep, result_shape, same_dtype_meta

# -- over all elements or several dims: ties share the gradient ---------------------------------


def _share(g: Tensor, x: Tensor, out: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """amax and amin: a NaN equals nothing, so no element can take the gradient, and all become NaN."""
    shape = x._a.shape
    mask: Any = x == keep(out, shape, dim, keepdim)
    return mask * keep(g, shape, dim, keepdim) / mask.sum(dim, keepdim=dim is not None)


def share_evenly(g: Tensor, x: Tensor, out: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """max, min and median of all: NaNs are equals, and the others get 0 whatever comes."""
    shape = x._a.shape
    mask: Any = (x == keep(out, shape, dim, keepdim)) | (x.isnan() & out.isnan())
    part = keep(g, shape, dim, keepdim) / mask.sum(dim, keepdim=dim is not None)
    return part.masked_fill(~mask, 0)


def _extreme(
    method: str,
    name: str,
    grad_name: str,
    dx: Callable = _share,
    layout: str | None = None,
    aten: str | None = None,
    family: str = "",
) -> Op:
    def body(xp: ArrayModule, x: Array, *, dim: Dims, keepdim: bool) -> Any:
        return getattr(x, method)(axis=dim, keepdims=keepdim)

    facts = Facts(vmap="reduction", layout=layout, onnx=f"reduce Reduce{method.capitalize()}", aten=aten, family=family)
    made = Op(body, name, meta=same_dtype_meta, grad_name=grad_name, facts=facts)
    made.derivative(x=lambda g, x, out, dim, keepdim: dx(g, x, out, dim, keepdim))
    return made


_amax = _extreme("max", "amax", "AmaxBackward0", layout="plain", family="reduction top")
_amin = _extreme("min", "amin", "AminBackward0", layout="plain", family="reduction bottom")
_max = _extreme("max", "max", "MaxBackward1", share_evenly, aten="max reduced dim")
_min = _extreme("min", "min", "MinBackward1", share_evenly, aten="min reduced dim")


def _no_complex(x: Tensor, name: str) -> None:
    if x._a.dtype.kind == "c":
        raise RuntimeError(f"{name}(): does not support complex input")


def check_filled(x: Tensor, dims: Dims, what: str) -> None:
    """PyTorch's errors for a reduction that has no answer for nothing; `what` is its opening word."""
    if x._a.size:
        return
    if dims is None:
        raise RuntimeError(
            f"{what}: Expected reduction dim to be specified for input.numel() == 0. "
            "Specify the reduction dim with the 'dim' argument."
        )
    for d in dims:
        if x._a.shape and x._a.shape[d] == 0:
            raise IndexError(f"{what}: Expected reduction dim {d} to have non-zero size.")


def _over(op: Op, x: Tensor, dim: Any, keepdim: bool, name: str, out: Any = None) -> Tensor:
    _no_complex(x, name)
    if out is not None and out._a.dtype != x._a.dtype:
        raise RuntimeError(
            f"Expected the dtype for input and out to match, but got {title(x.dtype)} for input's dtype and "
            f"{title(out.dtype)} for out's dtype."
        )
    dims = wrap_dims(dim, x._a.ndim)
    check_filled(x, dims, f"{name}()")
    return into(out, op(x, dim=dims, keepdim=keepdim))


def _over_function(op: Op, word: str, example: str) -> None:
    """`amax` or `amin`."""
    name = op.name

    def reduced(input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Any = None) -> Tensor:
        return _over(op, input, dim, keepdim, name, out)

    reduced.__name__ = reduced.__qualname__ = name
    reduced.__doc__ = f"""The {word} elements over dimensions, without their positions; equal ones share the gradient.

    Args:
        dim: one dimension or several; all of them if not given.
        keepdim: keep these dimensions with size 1.

    Example:
        >>> torch.tensor([[1, 5], [7, 2]]).{example}
    """
    public()(numpy_names(reduced))


_over_function(_amax, "largest", "amax((0, 1))\n        tensor(7)")
_over_function(_amin, "smallest", "amin(1)\n        tensor([1, 2])")


_AMINMAX = named("aminmax", "min", "max")


@public()
@numpy_names
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False, out: Any = None) -> Any:
    """The smallest and the largest elements over a dimension, or of all.

    Args:
        dim: one dimension; all of them if not given.

    Example:
        >>> low, high = torch.tensor([3, 1, 2]).aminmax()
        >>> low, high
        (tensor(1), tensor(3))
    """
    if dim is None and not input._a.size:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    low = _over(_amin, input, dim, keepdim, "aminmax")
    high = _over(_amax, input, dim, keepdim, "aminmax")
    return into_same(out, _AMINMAX(low, high))


# -- over one dim: the chosen index takes the gradient ------------------------------------------


def pick_meta(x: Shaped, *, dim: int, keepdim: bool, **attrs: Any) -> list:
    shape = result_shape(x.shape, (dim,), keepdim)
    return [(shape, x.dtype), (shape, np.dtype(np.int64))]


def send_to_index(gs: Any, x_shape: tuple, out1: Tensor, dim: int, keepdim: bool) -> tuple:
    """The gradient of a selection along `dim`: all of it to the index that was chosen."""
    g = gs[0]
    if g is None:
        return (None,)
    if not x_shape:
        return (g,)
    if not keepdim:
        g, out1 = g.unsqueeze(dim), out1.unsqueeze(dim)
    return (g.new_zeros(x_shape).scatter(dim, out1, g),)


def _pick(method: str) -> Op:
    def body(xp: ArrayModule, x: Array, *, dim: int, keepdim: bool) -> Any:
        if x.ndim == 0:
            return x.copy(), xp.zeros((), xp.int64)
        index = xp.expand_dims(getattr(x, "arg" + method)(axis=dim), dim)
        values = xp.take_along_axis(x, index, axis=dim)
        return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))

    facts = Facts(vmap="along", aten=f"{method} ordered dim keepdim overload=dim", onnx="extreme")
    grad_name = method.capitalize() + "Backward0"
    made = Op(body, method + "_dim", meta=pick_meta, grad_name=grad_name, facts=facts)
    made.backward(send_to_index)
    return made


_max_dim, _min_dim = _pick("max"), _pick("min")
_PAIRS = {name: named(name, "values", "indices") for name in ("max", "min")}


def _call_form(name: str, op: Op, whole: Op, pairwise: str, x: Tensor, dim: Any, keepdim: bool, out: Any) -> Any:
    """The three meanings of max and min; the second argument decides which one is meant."""
    if dim is None:
        return into(out, _over(whole, x, None, False, name))
    if isinstance(dim, Tensor):
        return into(out, getattr(x, pairwise)(dim), x, dim)
    if not hasattr(dim, "__index__"):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got (Tensor, "
            f"{type(dim).__name__}), but expected one of: (Tensor input), (Tensor input, Tensor "
            "other), (Tensor input, int dim, bool keepdim = False)"
        )
    _no_complex(x, name)
    at = wrap_dim(dim if isinstance(dim, int) else dim.__index__(), x._a.ndim)
    check_filled(x, (at,), f"{name}()")
    return into_same(out, _PAIRS[name](*op(x, dim=at, keepdim=keepdim)))


def _extreme_function(op: Op, whole: Op, pairwise: str, words: str, example: str) -> None:
    """`max` or `min`."""
    name = whole.name

    def extreme(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None, other: Any = None) -> Any:
        second = other if dim is None else dim
        return _call_form(name, op, whole, pairwise, input, second, keepdim, out)

    most, more = words.split()
    extreme.__name__ = extreme.__qualname__ = name
    extreme.__doc__ = f"""The {most} element; along a dimension, values and where they are; of two tensors, the {more} of each pair.

    Args:
        dim: the dimension to look along, or a second tensor.
        keepdim: keep the dimension with size 1.
        other: the second tensor, by its name.

    Raises:
        RuntimeError: if there are no elements.

    Example:
        >>> x = torch.tensor([[1, 5], [7, 2]])
        {example}
    """
    public()(numpy_names(extreme))


_extreme_function(
    _max_dim, _max, "maximum", "largest larger",
    """>>> x.max()
        tensor(7)
        >>> values, indices = x.max(dim=1)
        >>> values, indices
        (tensor([5, 7]), tensor([1, 0]))
        >>> torch.max(x, torch.tensor(4))
        tensor([[4, 5],
                [7, 4]])""",
)  # fmt: skip
_extreme_function(
    _min_dim, _min, "minimum", "smallest smaller",
    """>>> x.min()
        tensor(1)
        >>> x.min(dim=1).indices
        tensor([0, 1])""",
)  # fmt: skip


# -- where they are -----------------------------------------------------------------------------


def _where(method: str) -> Op:
    def body(xp: ArrayModule, x: Array, *, dim: Any, keepdim: bool) -> Any:
        if x.ndim == 0:
            return xp.zeros((), xp.int64)
        return getattr(x, method)(axis=dim, keepdims=keepdim).astype(xp.int64, copy=False)

    def meta(x: Shaped, *, dim: Any, keepdim: bool) -> tuple:
        dims = None if dim is None else (dim,)
        return result_shape(x.shape, dims, keepdim), np.dtype(np.int64)

    return Op(
        body,
        method,
        meta=meta,
        facts=Facts(range=_place_range, vmap="position", aten=f"{method} reduced default", onnx="arg"),
    )


def _place_range(attrs: dict[str, Any], shapes: Sequence[tuple]) -> tuple[int, int]:
    shape, dim = shapes[0], attrs["dim"]
    return 0, (prod(shape) if dim is None or not shape else shape[dim]) - 1


def _locate(op: Op, x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    name = op.name
    _no_complex(x, name)
    if x._a.dtype.kind == "b":
        raise RuntimeError(f"{name}(): does not support bool input")
    if dim is not None:
        if not hasattr(dim, "__index__"):
            raise TypeError(f"{name}(): argument 'dim' must be int, not {type(dim).__name__}")
        dim = wrap_dim(dim if isinstance(dim, int) else dim.__index__(), x._a.ndim)
        check_filled(x, (dim,), f"{name}()")
    elif not x._a.size:
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    return op(x, dim=dim, keepdim=keepdim)


def _place_function(op: Op, word: str, example: str) -> None:
    """`argmax` or `argmin`."""
    name = op.name

    def place(
        input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Any = None, axis: Any = None
    ) -> Tensor:
        return into_same(out, _locate(op, input, one_of(name, dim, axis), keepdim))

    place.__name__ = place.__qualname__ = name
    place.__doc__ = f"""Where the {word} element is; of equal ones the first.

    Args:
        dim: the dimension to look along; without it, the position in the flattened tensor.
        keepdim: keep the dimension with size 1.

    Example:
        {example}
    """
    public()(place)


_place_function(
    _where("argmax"), "largest",
    """>>> x = torch.tensor([[1, 5], [7, 2]])
        >>> x.argmax(), x.argmax(dim=1)
        (tensor(2), tensor([1, 0]))""",
)  # fmt: skip
_place_function(
    _where("argmin"), "smallest",
    """>>> torch.tensor([[1, 5], [7, 2]]).argmin(dim=1)
        tensor([0, 1])""",
)  # fmt: skip
