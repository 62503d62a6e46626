"""Type promotion as a rule in front of pointwise ops: PyTorch's result types, broadcasting checked."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ...base import dtypes
from ...base.dtypes import BOOL, COMPLEX, FLOATING, INTEGRAL, dtype
from ...base.shapes import broadcast_shapes
from ...core.tensor import Tensor
from ..memory.casting import cast_to
from .guards import passing
from .precision import is_half

_WEAK_WITH_FLOAT = (float, int, bool)


def result_dtype(*operands: Any) -> dtype:
    """PyTorch's result type: tensors with dims first, then 0-d tensors, then Python numbers."""
    groups: list[dtype | None] = [None, None, None]
    for value in operands:
        if isinstance(value, Tensor):
            d, rank = value.dtype, 0 if value._a.ndim else 1
        elif value is None:
            continue
        else:
            d, rank = dtypes.scalar_dtype(value), 2
        held = groups[rank]
        groups[rank] = d if held is None else dtypes.promote_types(held, d)
    result: dtype | None = None
    for group in groups:
        if group is None:
            continue
        if result is None:
            result = group
        elif group.category > result.category:
            result = _raise_category(result, group)
    return _wants_a_tensor(None) if result is None else result


def _raise_category(dims: dtype, lower: dtype) -> dtype:
    """A lower-priority operand only decides the category; its width is the default's."""
    if lower.category == COMPLEX and dims.category == FLOATING:
        return dims.to_complex() if dims is dtypes.float64 else dtypes.complex64
    return lower


_SMALL = 1 << 62  # a number that int64 holds


@passing("fVciubnr")
def promote(inputs: tuple) -> tuple:
    """Operands of one dtype and of shapes that broadcast."""
    x, y = inputs
    if isinstance(x, Tensor):
        a = x._a
        if isinstance(y, Tensor):
            b = y._a
            if a.shape != b.shape:
                broadcast_shapes(a.shape, b.shape)
            if a.dtype == b.dtype:
                return inputs
        elif a.dtype.char in "fd" and y.__class__ in _WEAK_WITH_FLOAT:
            return inputs
        elif y.__class__ is int and a.dtype.char in "lq" and -_SMALL < y < _SMALL:
            return inputs
    elif isinstance(y, Tensor) and y._a.dtype.char in "fd" and x.__class__ in _WEAK_WITH_FLOAT:
        return inputs  # 1 - y
    if x is None or y is None:
        _wants_a_tensor(None)
    return _promote_all(inputs, None)


@passing("fVcnr")
def promote_float(inputs: tuple) -> tuple:
    """As `promote`, but integers become the default float dtype (division, atan2, ...)."""
    x, y = inputs
    tensor, number = (x, y) if isinstance(x, Tensor) else (y, x)
    if not isinstance(tensor, Tensor):
        return promote(inputs)  # the op says that it has none
    if number.__class__ in (int, bool) and tensor._a.dtype.kind in "iub":
        # The number becomes a float at once: as an integer of the tensor's dtype it might wrap.
        return _promote_all(inputs, dtypes.get_default_dtype())
    inputs = promote(inputs)
    first = inputs[0] if isinstance(inputs[0], Tensor) else inputs[1]
    if first._a.dtype.kind in "fcV":
        return inputs
    return _promote_all(inputs, dtypes.get_default_dtype())


@passing("fVciubnr")
def promote_wide(inputs: tuple) -> tuple:
    """As `promote`, but beside half precision a number stays in float32 (products, quotients)."""
    return _with_wide_number(inputs) or promote(inputs)


@passing("fVcnr")
def promote_float_wide(inputs: tuple) -> tuple:
    """As `promote_float`, with numbers as `promote_wide` has them."""
    return _with_wide_number(inputs) or promote_float(inputs)


@passing("fVciubnr")
def promote_sum(inputs: tuple) -> tuple:
    """As `promote`; on a GPU a number beside half precision stays in float32, as PyTorch has it only there."""
    tensor = inputs[0] if isinstance(inputs[0], Tensor) else inputs[1]
    if isinstance(tensor, Tensor) and tensor._a.__class__ is not np.ndarray:
        return _with_wide_number(inputs) or promote(inputs)
    return promote(inputs)


def _with_wide_number(inputs: tuple) -> tuple | None:
    """Half precision and a number in float32: a Python number, or a 0-d tensor of the host in the second place."""
    x, y = inputs
    if isinstance(x, Tensor):
        if not is_half(x._a):
            return None
        if not isinstance(y, Tensor):
            wide = _wide_number(y)
            return None if wide is None else (x, wide)
        b = y._a
        if b.__class__ is np.ndarray and b.ndim == 0 and x._a.ndim and b.dtype.char in "dfqlihbB":
            if y.requires_grad:  # a cast brings the gradient, of half precision, to y's dtype
                y = cast_to(y, dtypes.float64)
            y = cast_to(y, dtypes.float32)
            return x, y if x._a.__class__ is np.ndarray else y.to(x.device)
        return None
    if isinstance(y, Tensor) and is_half(y._a):
        wide = _wide_number(x)
        return None if wide is None else (wide, y)
    return None


def _wide_number(value: Any) -> float | None:
    """A real number as a kernel that computes in float32 takes it; None for anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    return float(value) if value.__class__ in _WEAK_WITH_FLOAT else None


def rounded(value: Any, d: dtype) -> float:
    """A number as a dtype holds it, as a Python float."""
    with np.errstate(over="ignore"):
        return float(d.np.type(float(value)))


@passing("fcV")
def promote_unary_float(inputs: tuple) -> tuple:
    """Integer input of a floating point function becomes the default float dtype."""
    x = inputs[0]
    if not isinstance(x, Tensor) or x._a.dtype.kind in "fcV":
        return inputs
    return (cast_to(x, dtypes.get_default_dtype()), *inputs[1:])


def promote_many(inputs: tuple) -> tuple:
    """As `promote` for any number of operands (where, addcmul, lerp, cat, ...); None passes."""
    shapes = [t._a.shape for t in inputs if isinstance(t, Tensor)]
    if any(s != shapes[0] for s in shapes):
        broadcast_shapes(*shapes)
    return _promote_all(inputs, None)


def _promote_all(inputs: tuple, target: dtype | None) -> tuple:
    inputs = tuple([_as_operand(v) for v in inputs])
    d = target or result_dtype(*inputs)
    out = []
    for v in inputs:
        if isinstance(v, Tensor):
            out.append(v if v._a.dtype == d.np else cast_to(v, d))
        else:
            out.append(_fit_scalar(v, d))
    return tuple(out)


def _as_operand(value: Any) -> Any:
    if value is None or isinstance(value, (Tensor, bool, int, float, complex)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    return _wants_a_tensor(value)


def _wants_a_tensor(value: Any) -> NoReturn:
    error: Any = TypeError(f"expected a Tensor or a number, not {type(value).__name__}")
    error.obj = value  # the public function that was called says which argument this is
    raise error


def _fit_scalar(value: Any, d: dtype) -> Any:
    """A number that the array library takes as weak: of the result's kind and within its range."""
    if value is None or d.category == BOOL:
        return value
    if d.category == INTEGRAL:
        info = np.iinfo(d.np)
        number = int(value)
        if not -(2**63) <= number < 2**64:
            raise OverflowError("int too big to convert")
        if not info.min <= number <= info.max:  # PyTorch wraps around
            number = int(np.array(number & (2 ** (8 * d.itemsize) - 1), np.uint64).astype(d.np))
        return number
    if d is dtypes.bfloat16:  # NumPy's weak numbers would widen it to float32
        return d.np.type(float(value))
    if d is dtypes.float16:  # a kernel that computes in float32 must see the number that float16 has
        return rounded(value, d)
    return value if d.category == COMPLEX else float(value)
