"""Choosing between values and blending them: where, masks, clamps, interpolation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import BOOL, INTEGRAL, c_name
from ...base.fits import computable, fitting, storable
from ...base.shapes import broadcast_shapes
from ...core.inplace import DIRECT, change
from ...core.op import Op
from ...core.public import into, into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ...runtime.point import Point
from ..made_of.guards import FLOATS, invalid_arguments, not_a_tensor, only_for, title, unsupported
from ..made_of.pointwise import same_meta
from ..made_of.precision import in_float32
from ..made_of.promotion import promote, promote_many, result_dtype
from ..memory.casting import cast_to
from .arithmetic import conj
from .number_first import also_number_first, number_first

_NUMBERS = (bool, int, float, complex)


def _joint_shape(*values: Any) -> tuple[int, ...]:
    return broadcast_shapes(*[v.shape for v in values if hasattr(v, "shape")])


# -- where --------------------------------------------------------------------------------------


def _where_body(xp: ArrayModule, condition: Array, x: Any, y: Any, *, to: Any) -> Any:
    out = xp.where(condition, x, y)
    return out if to is None or out.dtype == to.np else out.astype(to.np)


def _where_meta(condition: Any, x: Any, y: Any, *, to: Any) -> tuple:
    return _joint_shape(condition, x, y), x.dtype if to is None else to.np


_where = Op(
    _where_body,
    "where",
    point=Point("condition x y", fiubc="x if condition else y", main=1),
    broadcasts=True,
    moves_only=True,
    meta=_where_meta,
    facts=Facts(onnx="where", aten="where chosen"),
)
_where.derivative(
    x=lambda g, condition: _where(condition, g, 0.0, to=g.dtype),
    y=lambda g, condition: _where(condition, 0.0, g, to=g.dtype),
)


@public("torch")
def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    """`input` where a condition holds and `other` elsewhere; with the condition alone, the positions where it holds.

    Args:
        condition: truth values; the shapes of all three broadcast.
        input: a tensor or a number.
        other: a tensor or a number.

    Example:
        >>> x = torch.tensor([1.0, -2.0])
        >>> torch.where(x > 0, x, 0.0)
        tensor([1., 0.])
        >>> torch.where(x > 0)
        (tensor([0]),)
    """
    if input is None and other is None and isinstance(condition, Tensor):
        return condition.nonzero(as_tuple=True)
    if not isinstance(condition, Tensor) or input is None or other is None:
        raise invalid_arguments("where", condition, input, other)
    kind = condition._a.dtype
    if kind.kind != "b":
        if kind != np.uint8:
            raise RuntimeError(
                f"where expected condition to be a boolean tensor, but got a tensor with dtype {title(condition.dtype)}"
            )
        condition = condition.bool()
    if isinstance(input, _NUMBERS) and isinstance(other, _NUMBERS):
        kind_of_both = result_dtype(input, other)
        if kind_of_both.category == INTEGRAL:
            input, other = fitting(input, kind_of_both), fitting(other, kind_of_both)
        return into_same(out, _where(condition, input, other, to=kind_of_both), condition, input, other)
    numbers = [v for v in (input, other) if not isinstance(v, Tensor)]
    input, other = promote((input, other))
    _shapes_fit(condition, input, other)
    for v in numbers:
        kind = (input if isinstance(input, Tensor) else other)._a.dtype
        if kind.itemsize > 2 or kind.kind in "iu":  # halves take what becomes infinite
            storable(v, kind)
    both = isinstance(input, Tensor) and isinstance(other, Tensor)
    d = None if both else (input if isinstance(input, Tensor) else other).dtype
    return into_same(out, _where(condition, input, other, to=d), condition, input, other)


@public("Tensor", name="where")
def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """The elements of this tensor where a condition holds, those of another elsewhere.

    Args:
        condition: truth values; shapes broadcast.
        other: a tensor or a number.

    Example:
        >>> x = torch.tensor([1.0, -2.0])
        >>> x.where(x > 0, 0.0)
        tensor([1., 0.])
    """
    return where(condition, self, other)


def _shapes_fit(*values: Any) -> None:
    shapes = [v._a.shape for v in values if isinstance(v, Tensor)]
    if any(s != shapes[0] for s in shapes):
        broadcast_shapes(*shapes)


# -- masks --------------------------------------------------------------------------------------


def _masked_fill_body(xp: ArrayModule, x: Array, mask: Array, value: Any) -> Any:
    if not hasattr(value, "dtype"):
        value = xp.asarray(value, x.dtype)
    return xp.where(mask, value, x)


_masked_fill = Op(
    _masked_fill_body, "masked_fill", point=Point("x mask value", fiubc="value if mask else x"),
    broadcasts=True, moves_only=True,
    meta=lambda x, mask, value: (_joint_shape(x, mask), x.dtype), facts=Facts(layout="plain", onnx="masked_fill", aten="masked_fill compared"),
)  # fmt: skip
_masked_fill.derivative(
    x=lambda g, mask: _masked_fill(g, mask, 0), value=lambda g, mask: _where(mask, g, 0.0, to=g.dtype)
)


@public(inplace=True)
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """One value written where a mask is true, in a copy.

    Args:
        mask: truth values; it broadcasts to `input`.
        value: a number, or a tensor without dimensions.

    Example:
        >>> x = torch.tensor([1.0, -2.0])
        >>> x.masked_fill(x < 0, 0)
        tensor([1., 0.])
    """
    if not isinstance(mask, Tensor):
        raise not_a_tensor("masked_fill", "mask", 1, mask)
    if mask._a.dtype.kind != "b":
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    _shapes_fit(input, mask)
    if isinstance(value, Tensor):
        if value._a.ndim:
            raise RuntimeError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value._a.ndim} dimension(s)."
            )
        if value._a.dtype.kind == "c" and input._a.dtype.kind != "c":
            raise RuntimeError(f"value cannot be converted to type {c_name(input.dtype)} without overflow")
        value = cast_to(value, input.dtype)
    elif not hasattr(value, "__float__") and not isinstance(value, complex):
        raise TypeError(
            "masked_fill() received an invalid combination of arguments - got (Tensor, "
            f"{type(value).__name__}), but expected a number or a Tensor for 'value'"
        )
    else:
        value = fitting(value, input.dtype)
    return _masked_fill(input, mask, value)


# -- clamp --------------------------------------------------------------------------------------


def _clamp_body(xp: ArrayModule, x: Array, low: Any, high: Any) -> Any:
    if xp is np and x.dtype.kind == "V":  # beside a number of Python, bfloat16 would become float32
        low, high = [x.dtype.type(v) if v.__class__ is float else v for v in (low, high)]
    if low is None:
        return xp.minimum(x, high)
    if high is None:
        return xp.maximum(x, low)
    out = xp.maximum(x, low)
    in_place = out.ndim and not hasattr(high, "shape")
    return xp.minimum(out, high, out=out) if in_place else xp.minimum(out, high)


def _inside_body(xp: ArrayModule, dy: Array, x: Array, low: Any, high: Any) -> Any:
    if low is None:
        inside = x <= high
    elif high is None:
        inside = x >= low
    else:
        inside = (x >= low) & (x <= high)
    return xp.where(inside, dy, xp.zeros((), dy.dtype))


def _clamp_low(g: Tensor, x: Tensor, low: Any, high: Any) -> Tensor:
    taken = x < low
    return _where(taken if high is None else taken & (low < high), g, 0.0, to=g.dtype)


def _clamp_high(g: Tensor, x: Tensor, low: Any, high: Any) -> Tensor:
    taken = x > high
    return _where(taken if low is None else taken | (high < low), g, 0.0, to=g.dtype)


_PLAIN = (float, int, type(None))


def _rounded_limit(kind: Any, limit: Any) -> Any:
    """A limit as half precision holds it, which is compared with; an ellipsis for what that cannot hold."""
    if limit is None or -_SAFE <= limit <= _SAFE:
        return None if limit is None else float(kind.type(limit))
    return ...


_SAFE = 65000.0  # both kinds of half precision reach that far


def _clamp_rule(inputs: tuple) -> tuple:
    x, low, high = inputs
    if not isinstance(x, Tensor):
        raise invalid_arguments("clamp", *inputs)
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    plain = low.__class__ in _PLAIN and high.__class__ in _PLAIN
    kind = x._a.dtype
    if plain and kind.itemsize == 2 and kind.kind in "fV":
        inputs = (x, _rounded_limit(kind, low), _rounded_limit(kind, high))
        plain = ... not in inputs[1:]
    if not (plain and kind.kind in "fV"):
        inputs = promote_many((x, low, high))
    for limit in (low, high):
        if limit is not None and not isinstance(limit, Tensor):
            storable(limit, inputs[0]._a.dtype)
    if inputs[0]._a.dtype.kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    return inputs


_clamp = Op(
    _clamp_body, "clamp", point=Point("x low? high?", all="min(max(x, low), high)"),
    rule=_clamp_rule, broadcasts=True,
    meta=lambda x, low, high: (_joint_shape(x, low, high), x.dtype), facts=Facts(onnx="clamp"),
)  # fmt: skip
_inside = Op(
    _inside_body, "clamp_backward",
    point=Point("dy x low? high?", "dy if x >= low and x <= high else 0", cost="CHEAP", by_hand=True),
    meta=lambda dy, x, low, high: (dy.shape, dy.dtype), facts=Facts(aten="clamp_backward"),
)  # fmt: skip
_inside.derivative(dy=lambda g, x, low, high: _inside(g, x, low, high))
_clamp.derivative(x=lambda g, x, low, high: _inside(g, x, low, high), low=_clamp_low, high=_clamp_high)


def _clamped(x: Tensor, low: Any, high: Any, out: Any) -> Tensor:
    tensors = isinstance(low, Tensor) or isinstance(high, Tensor)
    return (into if tensors else into_same)(out, _clamp(x, low, high), x, low, high)


@public(inplace=True, aliases=("clip",))
def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Any = None) -> Tensor:
    """Every element moved into a range.

    Args:
        min: the lower end, a number or a tensor; None for no lower end.
        max: the upper end, a number or a tensor; where `min` is larger, `max` counts.

    Raises:
        RuntimeError: if both are None.

    Example:
        >>> torch.tensor([-1.0, 0.5, 2.0]).clamp(0, 1)
        tensor([0.0000, 0.5000, 1.0000])
    """
    return _clamped(input, min, max, out)


@public(inplace=True)
def clamp_min(input: Tensor, min: Any, *, out: Any = None) -> Tensor:
    """Every element moved up to at least `min`.

    Args:
        min: a number or a tensor.

    Example:
        >>> torch.tensor([-1.0, 2.0]).clamp_min(0)
        tensor([0., 2.])
    """
    return _clamped(input, min, None, out)


@public(inplace=True)
def clamp_max(input: Tensor, max: Any, *, out: Any = None) -> Tensor:
    """Every element moved down to at most `max`.

    Args:
        max: a number or a tensor.

    Example:
        >>> torch.tensor([-1.0, 2.0]).clamp_max(1)
        tensor([-1.,  1.])
    """
    return _clamped(input, None, max, out)


@only_for("fViu", "threshold_cpu")
def _threshold_body(xp: ArrayModule, x: Array, *, threshold: float, value: float) -> Any:
    return xp.where(x <= threshold, xp.asarray(value, x.dtype), x)


def _threshold_dx(g: Tensor, x: Tensor, threshold: float) -> Tensor:
    return _masked_fill(g, x <= threshold, 0)


_threshold = Op(
    _threshold_body,
    "threshold",
    point=Point("x | threshold value", all="value if x <= threshold else x", cost="CHEAP", by_hand=True),
    meta=same_meta,
    facts=Facts(onnx="threshold"),
)
_threshold.derivative(x=_threshold_dx)


@public("torch", "functional", name="threshold_")
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """In-place version of `threshold`."""
    return change(input, _apply_threshold, threshold, value)


def _apply_threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    kind = input._a.dtype
    threshold, value = storable(threshold, kind), storable(value, kind)
    return _threshold(input, threshold=threshold, value=value)


@public("functional", name="threshold")
def _functional_threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Keep elements above a threshold and put a value in place of the others.

    Args:
        threshold: elements above it stay as they are.
        value: what the others become.

    Example:
        >>> F.threshold(torch.tensor([0.2, 0.7]), 0.5, 20.0)
        tensor([20.0000,  0.7000])
    """
    return (threshold_ if inplace else _apply_threshold)(input, threshold, value)


@public("torch")
def threshold(input: Tensor, threshold: float, value: float, *, out: Any = None) -> Tensor:
    """Elements that are not above a threshold replaced by one value.

    Args:
        threshold: what an element has to be above to stay.
        value: what stands in place of the others.

    Example:
        >>> torch.threshold(torch.tensor([0.5, 2.0]), 1.0, -1.0)
        tensor([-1.,  2.])
    """
    return into(out, _apply_threshold(input, threshold, value), input)


# -- blends -------------------------------------------------------------------------------------


@in_float32
def _lerp_body(xp: ArrayModule, start: Array, end: Array, weight: Any) -> Any:
    gap = end - start
    if not hasattr(weight, "dtype"):
        return start + weight * gap if abs(weight) < 0.5 else end - gap * (1 - weight)
    near = xp.abs(weight) < 0.5  # from the nearer end, so that weight 1 gives `end` exactly
    return xp.where(near, start + weight * gap, end - gap * (1 - weight))


_lerp = Op(
    _lerp_body, "lerp", point=Point("start end weight", "start + weight * (end - start) if abs(weight) < 0.5 else end - (end - start) * (1 - weight)"),
    broadcasts=True,
    meta=lambda start, end, weight: (_joint_shape(start, end, weight), start.dtype), facts=Facts(onnx="lerp"),
)  # fmt: skip
_lerp.derivative(
    start=lambda g, weight: g * conj(1 - weight),
    end=lambda g, weight: g * conj(weight),
    weight=lambda g, start, end: g * conj(end - start),
)


@public(inplace=True)
def lerp(input: Tensor, end: Tensor, weight: Any, *, out: Any = None) -> Tensor:
    """A point between two: `input + weight * (end - input)`.

    Args:
        end: where weight 1 leads.
        weight: a number or a tensor.

    Example:
        >>> torch.tensor([0.0, 10.0]).lerp(torch.tensor([10.0, 20.0]), 0.5)
        tensor([ 5., 15.])
    """
    if not isinstance(input, Tensor) or not isinstance(end, Tensor):
        raise invalid_arguments("lerp", input, end, weight)
    if input._a.dtype != end._a.dtype:
        raise RuntimeError(f"expected dtype {input.dtype} for `end` but got dtype {end.dtype}")
    if isinstance(weight, Tensor) and weight._a.dtype != input._a.dtype:
        if weight._a.ndim:
            raise RuntimeError(f"expected dtype {input.dtype} for `weight` but got dtype {weight.dtype}")
        weight = cast_to(weight, input.dtype)
    if input._a.dtype.kind not in FLOATS + "c":
        raise unsupported("lerp_kernel_scalar", input.dtype)
    _shapes_fit(input, end, weight)
    if not isinstance(weight, Tensor):
        weight = computable(weight, input._a.dtype)
    finish = into_same if isinstance(weight, Tensor) else into
    return finish(out, _lerp(input, end, weight), input, end, weight)


@in_float32
def _addcmul_body(xp: ArrayModule, x: Array, a: Array, b: Array, *, value: Any) -> Any:
    product = xp.multiply(a, b)
    if value != 1:
        product *= value
    return x + product


@in_float32
def _addcdiv_body(xp: ArrayModule, x: Array, a: Array, b: Array, *, value: Any) -> Any:
    quotient = xp.true_divide(a, b)
    if value != 1:
        quotient *= value
    return x + quotient


def _three_meta(x: Any, a: Any, b: Any, *, value: Any) -> tuple:
    return _joint_shape(x, a, b), x.dtype


def _addcdiv_b(g: Tensor, a: Tensor, b: Tensor, value: Any) -> Tensor:
    return -g * conj(a * value / (b * b))


def _three_rule(inputs: tuple) -> tuple:
    x, a, b = inputs
    dtype, shape = x._a.dtype, x._a.shape
    if a._a.dtype == b._a.dtype == dtype and a._a.shape == b._a.shape == shape:
        return inputs
    return promote_many(inputs)


_addcmul = Op(
    _addcmul_body,
    "addcmul",
    point=Point("x a b | value", fiu="x + a * b * value"),
    rule=_three_rule,
    broadcasts=True,
    meta=_three_meta,
    facts=Facts(autocast={"cuda": "widest"}, onnx="addc"),
)
_addcmul.derivative(x=lambda g: g, a=lambda g, b, value: g * conj(b * value), b=lambda g, a, value: g * conj(a * value))
_addcdiv = Op(
    _addcdiv_body,
    "addcdiv",
    point=Point("x a b | value", "x + a / b * value"),
    rule=_three_rule,
    broadcasts=True,
    meta=_three_meta,
    facts=Facts(autocast={"cuda": "widest"}, onnx="addc"),
)
_addcdiv.derivative(x=lambda g: g, a=lambda g, b, value: g * conj(value / b), b=_addcdiv_b)


def _check_three(name: str, x: Any, a: Any, b: Any) -> None:
    for i, t in enumerate((x, a, b)):
        if not isinstance(t, Tensor):
            raise not_a_tensor(name, ("input", "tensor1", "tensor2")[i], i + 1, t)


@public(inplace=True)
@also_number_first
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *old: Any, value: Any = 1, out: Any = None) -> Tensor:
    """`input + value * tensor1 * tensor2`, element by element.

    Args:
        tensor1: a tensor; shapes broadcast.
        tensor2: a tensor; shapes broadcast.

    Example:
        >>> torch.ones(2).addcmul(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), value=10)
        tensor([31., 81.])
    """
    if old:
        return number_first(addcmul, ("value",), 2, (input, tensor1, tensor2, *old), out)
    _check_three("addcmul", input, tensor1, tensor2)
    if input._a.dtype.kind in "biu":
        d = result_dtype(input, tensor1, tensor2)
        if d.category == BOOL:
            raise unsupported("addcmul_cpu_out", d)
        if d.category == INTEGRAL:
            value = fitting(value, d)
    else:
        value = computable(value, input._a.dtype)
    return into(out, _addcmul(input, tensor1, tensor2, value=value), input, tensor1, tensor2)


@public(inplace=True)
@also_number_first
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *old: Any, value: Any = 1, out: Any = None) -> Tensor:
    """`input + value * tensor1 / tensor2`, element by element.

    Args:
        tensor1: a tensor; shapes broadcast.
        tensor2: a tensor; shapes broadcast.

    Raises:
        RuntimeError: for integers.

    Example:
        >>> torch.ones(2).addcdiv(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 4.0]), value=10)
        tensor([6., 6.])
    """
    if old:
        return number_first(addcdiv, ("value",), 2, (input, tensor1, tensor2, *old), out)
    _check_three("addcdiv", input, tensor1, tensor2)
    if tensor1._a.dtype.kind in "biu" and tensor2._a.dtype.kind in "biu":
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv "
            "will perform a true division of tensor1 and tensor2. The historic addcdiv behavior can "
            "be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for "
            "integer inputs and as (input + value * tensor1 / tensor2) for float inputs."
        )
    value = computable(value, input._a.dtype)
    return into(out, _addcdiv(input, tensor1, tensor2, value=value), input, tensor1, tensor2)


DIRECT.update(dict.fromkeys((clamp, clamp_min, clamp_max, lerp, addcmul, addcdiv), False))
