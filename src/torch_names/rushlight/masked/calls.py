"""What functions and operators do with masked tensors: on their numbers, on their masks, or on both."""

from __future__ import annotations

import warnings
from typing import Any

from ..base import dtypes
from ..core.public import NAMESPACES
from ..core.tensor import Tensor
from ..overrides import DisableTorchFunctionSubclass
from . import moments, reductions
from .reductions import softmax
from .tensors import MaskedTensor, _quietly, is_masked_tensor, joined

_REDUCERS = {n: getattr(reductions, n) for n in ("sum", "amin", "amax", "argmin", "argmax", "prod", "norm")}
_REDUCERS |= {n: getattr(moments, n) for n in ("mean", "var", "std")}
_ON_NUMBERS = frozenset("""
    abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not
    ceil clamp clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac lgamma log
    log10 log1p log2 logit i0 isnan nan_to_num neg negative positive pow rad2deg reciprocal round rsqrt sigmoid sign
    sgn signbit sin sinc sinh sqrt square tan tanh trunc detach clone ones_like
""".split())  # fmt: skip
_OF_TWO = frozenset("""
    add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide
    floor_divide fmod logaddexp logaddexp2 mul multiply nextafter remainder sub subtract true_divide eq ne le ge
    greater greater_equal gt less_equal lt less maximum minimum fmax fmin not_equal
""".split())  # fmt: skip
_ON_BOTH = frozenset("""
    select transpose split t slice slice_backward select_backward index expand view _unsafe_view _reshape_alias cat
    unsqueeze unfold unfold_backward im2col col2im stack permute
""".split())  # fmt: skip


_IN_PLACE = frozenset([name + "_" for name in _ON_NUMBERS | _OF_TWO])


def _of(value: Any, what: str) -> Any:
    """The numbers or masks of arguments, also of those in lists."""
    if is_masked_tensor(value):
        return getattr(value, what)
    if isinstance(value, (list, tuple)):
        return type(value)([_of(v, what) for v in value])
    return value


def called(func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """A public function or method with a masked tensor among its arguments."""
    name = getattr(func, "__name__", "")
    if name in _REDUCERS or name == "all":
        return _reduced(name, *args, **kwargs)
    with DisableTorchFunctionSubclass():
        return func(*args, **kwargs)


def _reduced(name: str, x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    mask = x._masked_mask
    if name == "all":
        filled = x._masked_data.masked_fill(~mask, True)
        found = filled.all() if dim is None else filled.all(dim, keepdim)
    elif dim is None:
        found = _REDUCERS[name](x, mask=mask)
    else:
        found = _REDUCERS[name](x, dim=dim, keepdim=keepdim, dtype=dtype, mask=mask)
    if dim is None:
        return joined(found, mask.any())
    for d in sorted((dim,) if isinstance(dim, int) else dim, reverse=True):
        mask = mask.any(d, keepdim)
    return joined(found, mask)


def dispatched(func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """An inner operator with a masked tensor among its arguments."""
    name = str(func).split(".")[1]
    for names, body in _BODIES:
        if name in names:
            return body(func, name, args, kwargs)
    warnings.warn(f"{name} is not implemented in __torch_dispatch__ for MaskedTensor.", stacklevel=2)
    return NotImplemented


def _mask_of(args: tuple) -> Tensor:
    """The mask of the first one or two arguments, which must agree."""
    masks = [a._masked_mask for a in args[:2] if is_masked_tensor(a)]
    if len(masks) == 2 and not (masks[0].shape == masks[1].shape and masks[0].equal(masks[1])):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
    return masks[0]


def _in_place(func: Any, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    _mask_of(args)
    func(*_of(args, "_masked_data"), **kwargs)
    return args[0]


def _unary(func: Any, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    if any(isinstance(a, Tensor) for a in args[1:]):
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    return _quietly(func(args[0]._masked_data, *args[1:], **kwargs), args[0]._masked_mask)


def _binary(func: Any, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    mask = _mask_of(args)
    made = func(*_of(args, "_masked_data"), **kwargs)
    return _quietly(made, mask.expand_as(made))


def _both(func: Any, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    data, mask = func(*_of(args, "_masked_data"), **kwargs), func(*_of(args, "_masked_mask"), **kwargs)
    if isinstance(data, (list, tuple)):
        return [_quietly(d, m) for d, m in zip(data, mask)]
    return _quietly(data, mask)


def _copied(func: Any, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    mask = func(args[0]._masked_mask, *args[1:], **{**kwargs, "dtype": dtypes.bool_})
    return _quietly(func(args[0]._masked_data, *args[1:], **kwargs), mask)


def _soft(func: Any, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    x = args[0]
    return _quietly(softmax(x._masked_data, args[1], mask=x._masked_mask), x._masked_mask)


def _soft_back(func: Any, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    g, y, dim = *args[:2], kwargs["dim"] if "dim" in kwargs else args[2]
    inside = NAMESPACES["torch"]["where"](g._masked_mask, g._masked_data, 0.0)
    out = y._masked_data
    return _quietly(out * (inside - (inside * out).sum(dim, keepdim=True)), g._masked_mask)


def _where(func: Any, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    pair = [a if is_masked_tensor(a) else _all_of(a) for a in args[1:]]
    data, mask = (func(args[0], *_of(pair, what)) for what in ("_masked_data", "_masked_mask"))
    return _quietly(data, mask)


def _all_of(x: Tensor) -> MaskedTensor:
    return _quietly(x, NAMESPACES["torch"]["ones_like"](x, dtype=dtypes.bool_))


def _written(func: Any, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The copy that ends every operation in place."""
    func(args[0]._masked_data, _of(args[1], "_masked_data"))
    return args[0]


def _item(func: Any, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    return args[0]._masked_data.item()


_BODIES = (
    (_ON_NUMBERS, _unary),
    (_OF_TWO, _binary),
    (_IN_PLACE, _in_place),
    (_ON_BOTH, _both),
    (("_to_copy",), _copied),
    (("_softmax",), _soft),
    (("_softmax_backward_data",), _soft_back),
    (("where",), _where),
    (("copy_",), _written),
    (("_local_scalar_dense",), _item),
)

MaskedTensor._called = staticmethod(called)
MaskedTensor._dispatched = staticmethod(dispatched)
