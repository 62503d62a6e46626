"""Raw arrays on their way to rushlight's functions and back: what a `forward` is written with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.arrays import Array
from ..base.dtypes import float64, from_np
from ..core.tensor import Tensor, tensor_over, wrap
from ._bare import outside, own

SCALARS = (bool, int, float, complex, np.generic)

gpu_types: set[type] = set()  # cupy.ndarray, once one was seen


def is_array(value: object) -> bool:
    """Whether a value is an array DeZero takes: NumPy's or CuPy's."""
    return isinstance(value, np.ndarray) or is_cupy(value)


def is_cupy(value: object) -> bool:
    """Whether a value is a CuPy array; CuPy is not imported for the answer."""
    cls = value.__class__
    if cls in gpu_types:
        return True
    if cls.__module__.partition(".")[0] != "cupy" or not hasattr(value, "strides"):
        return False
    from .. import cuda

    cuda.init()  # rushlight learns what to do with such arrays
    gpu_types.add(cls)
    return True


def tensor(a: Array) -> Tensor:
    """A tensor without history over the same memory, or over a copy where it would have to wait."""
    cls = a.__class__
    if cls is not np.ndarray and cls not in gpu_types:
        is_cupy(a)
    return tensor_over(own(a), cls)


def compute(fn: Callable[..., Any], *xs: Any, **attrs: Any) -> Any:
    """Call a rushlight function on bare arrays, at once; what is no array goes along as it is."""
    return outside(later, fn, *xs, **attrs)


def later(fn: Callable[..., Any], *xs: Any, **attrs: Any) -> Any:
    """The same inside of Variables: in a loop that repeats, the result may have no values yet."""
    cls = xs[0].__class__
    if cls in gpu_types:
        operands = [tensor_over(own(x), cls) if x.__class__ is cls else _on_gpu(x) for x in xs]
    else:
        operands = _operands(xs)
    out = fn(*operands, **attrs)
    return tuple([o._a for o in out]) if isinstance(out, tuple) else out._a


def _operands(xs: tuple) -> list[Any]:
    found = []
    for x in xs:
        cls = x.__class__
        if cls is np.ndarray:
            found.append(tensor_over(own(x), cls))
        elif cls in gpu_types or is_cupy(x):
            return [_on_gpu(a) for a in xs]
        else:
            found.append(wrap(own(x)) if isinstance(x, np.ndarray) else x)
    return found


def _on_gpu(x: Any) -> Any:
    """An operand of the GPU's work: a constant of the host takes part as a number."""
    cls = x.__class__
    if cls in gpu_types:
        return tensor_over(own(x), cls)
    if isinstance(x, np.ndarray):
        return x.item() if x.ndim == 0 else wrap(own(x))
    return wrap(own(x)) if is_cupy(x) else x


def floating(x: Array) -> Any:
    """Integers as float64, NumPy's answer to `sin(1)`; floats stay what they are."""
    return later(Tensor.to, x, float64) if x.dtype.kind in "iub" else x


def common(*xs: Any) -> tuple:
    """Arrays in one dtype: that of the widest float among them, so that float32 stays float32."""
    first = xs[0].dtype
    for x in xs:
        if x is not None and x.dtype != first:
            break
    else:  # the usual case
        return xs
    kinds = {x.dtype for x in xs if x is not None}
    floats = [k for k in kinds if k.kind in "fc"]
    target = np.result_type(*(floats or kinds))
    return tuple([x if x is None or x.dtype == target else later(Tensor.to, x, from_np(target)) for x in xs])


def like(value: Any, other: Any) -> Any:
    """A number as a 0-d array that does not widen `other`: NumPy 2 would make float32 float64."""
    real = not isinstance(value, (complex, np.complexfloating))
    return np.array(value, other.dtype if real and other.dtype.kind == "f" else None)
