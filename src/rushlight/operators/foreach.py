"""`torch._foreach_*`: one function over lists of tensors, out of place or in place.

What trainers call at every step goes through kernels over the whole list, which a GPU runs in one or two
launches: `_foreach_mul_` by one factor, `_foreach_zero_`, `_foreach_norm` and the clipping of gradients.
The others loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.arrays import ArrayModule
from ..base.dtypes import BOOL
from ..core.columns import bump_all
from ..core.inplace import bump
from ..core.public import public
from ..core.tensor import Tensor, tensor_over
from ..runtime import devices
from ..runtime.door import Kernel, run
from ..runtime.thread import here
from .made_of.guards import unsupported
from .made_of.precision import is_half
from .made_of.promotion import rounded

UNARY = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg
    reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc""".split()


# -- kernels over lists ----------------------------------------------------------------------------


def _multiply(xp: ArrayModule, factor: Any, *arrays: Any) -> tuple:
    """Every array times one number, in place."""
    for a in arrays:
        xp.multiply(a, factor.astype(a.dtype), out=a)
    return ()


def _zero(xp: ArrayModule, *arrays: Any) -> tuple:
    for a in arrays:
        a[...] = 0
    return ()


def _norms(xp: ArrayModule, *arrays: Any, order: float) -> Any:
    """The norm of each array as if it were a vector, as one array; in float32 at least."""
    return xp.stack([xp.asarray(_norm(xp, a, order)) for a in arrays])


def _norm(xp: ArrayModule, a: Any, order: float) -> Any:
    a = a.astype(xp.float32) if a.dtype.itemsize < 4 else a
    if order == 2.0 and a.dtype.kind == "f":
        flat = a.ravel()
        return xp.sqrt(xp.dot(flat, flat))
    size = xp.abs(a)
    if math.isinf(order):
        return size.max() if order > 0 else size.min()
    if order == 0.0:
        return (size != 0).sum().astype(size.dtype)
    return (size**order).sum() ** (1.0 / order)


def _total(xp: ArrayModule, *arrays: Any, order: float) -> Any:
    """The norm of all arrays together."""
    return xp.asarray(_norm(xp, _norms(xp, *arrays, order=order), order))


def _clip(xp: ArrayModule, total: Any, *arrays: Any, limit: float) -> tuple:
    """Every array times what brings the norm `total` down to `limit`, in place."""
    factor = xp.minimum(limit / (total + total.dtype.type(1e-6)), total.dtype.type(1))
    return _multiply(xp, xp.asarray(factor), *arrays)


def _limit_all(xp: ArrayModule, *arrays: Any, limit: float) -> tuple:
    """Every element brought to [-limit, limit], in place; NaN stays."""
    for a in arrays:
        xp.maximum(a, a.dtype.type(-limit), out=a)
        xp.minimum(a, a.dtype.type(limit), out=a)
    return ()


def _all_of(arrays: Sequence[Any], attrs: dict[str, Any]) -> range:
    return range(len(arrays))


def _each_but_first(arrays: Sequence[Any], attrs: dict[str, Any]) -> range:
    return range(1, len(arrays))


MULTIPLY = Kernel("foreach_multiply", _multiply, mutates=_each_but_first)
ZERO = Kernel("foreach_zero", _zero, mutates=_all_of)
NORMS = Kernel("foreach_norms", _norms)
TOTAL = Kernel("foreach_total_norm", _total)
CLIP = Kernel("foreach_clip", _clip, mutates=_each_but_first)
LIMIT = Kernel("foreach_limit", _limit_all, mutates=_all_of)


def _alike(tensors: list[Tensor]) -> bool:
    """Whether a list can go to a kernel at once: of one device, nothing to be recorded."""
    cls = tensors[0]._a.__class__
    for t in tensors:
        a = t._a
        if a.__class__ is not cls or 0 in a.strides:
            return False  # of an expanded array an element would be changed more than once
    return not here.grad or not any(t.requires_grad for t in tensors)


# -- lists -----------------------------------------------------------------------------------------


def _listed(name: str, tensors: Any) -> list[Tensor]:
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(
            f"{name}(): argument 'self' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    if not tensors:
        raise RuntimeError("Tensor list must have at least one tensor.")
    return list(tensors)


def _each(tensors: list[Tensor], other: Any) -> Sequence[Any]:
    """One operand for every tensor: of a list, or the same for all."""
    if not isinstance(other, (list, tuple)):
        return [other] * len(tensors)
    if len(other) == len(tensors):
        return other
    if any(isinstance(o, Tensor) for o in other):
        raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(tensors)} and {len(other)}")
    raise RuntimeError("Tensor list must have same number of elements as scalar list.")


def _publish(name: str, apply: Callable[..., Any], in_place: bool) -> Callable[..., Any]:
    """`_foreach_<name>`: `apply(tensor, method)` over the list, for the function or its in-place form."""
    label = f"_foreach_{name}_" if in_place else f"_foreach_{name}"

    def function(self: Any, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        tensors = _listed(label, self)
        found = apply(tensors, name + "_" if in_place else name, *args, **kwargs)
        return self if in_place else tuple(found)

    function.__name__ = function.__qualname__ = label
    function.__doc__ = f"`{name}` of every tensor of a list{', in place' if in_place else ''}."
    return public("torch", name=label)(function)


def _unary(tensors: list[Tensor], method: str) -> list[Tensor]:
    return [getattr(t, method)() for t in tensors]


def _binary(tensors: list[Tensor], method: str, other: Any) -> list[Tensor]:
    return [getattr(t, method)(o) for t, o in zip(tensors, _each(tensors, other))]


def _scaled(tensors: list[Tensor], method: str, other: Any, *, alpha: Any = 1) -> list[Tensor]:
    pairs = zip(tensors, _each(tensors, other))
    if alpha == 1:
        return [getattr(t, method)(o) for t, o in pairs]
    return [getattr(t, method)(o, alpha=alpha) for t, o in pairs]


def _limit(tensors: list[Tensor], method: str, other: Any) -> list[Tensor]:
    """maximum and minimum take numbers here, as clamp does."""
    ways = {"maximum": "clamp_min", "minimum": "clamp_max"}
    plain = method.rstrip("_")
    plain = ways.get(plain, plain)
    for t, o in zip(tensors, _each(tensors, other)):
        if o.__class__ is bool and t.dtype.category == BOOL:
            raise unsupported(f"{plain}_scalar_cpu", t.dtype)
    return _binary(tensors, plain + ("_" if method.endswith("_") else ""), other)


def _two_more(
    tensors: list[Tensor], method: str, tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None
) -> list[Tensor]:
    value = value if scalars is None else scalars
    if isinstance(value, Tensor):
        value = value.tolist() if value.dim() else value.item()
    rows = zip(tensors, _each(tensors, tensor1), _each(tensors, tensor2), _each(tensors, value))
    return [getattr(t, method)(a, b, value=v) for t, a, b, v in rows]


def _lerp(tensors: list[Tensor], method: str, tensors1: Any, weight: Any) -> list[Tensor]:
    rows = zip(tensors, _each(tensors, tensors1), _each(tensors, weight))
    return [getattr(t, method)(a, w) for t, a, w in rows]


def _mul(tensors: list[Tensor], method: str, other: Any) -> Any:
    if method == "mul_" and isinstance(other, Tensor) and other.dim() == 0 and _alike([*tensors, other]):
        if all(t._a.dtype == tensors[0]._a.dtype for t in (*tensors, other)):
            run(MULTIPLY, other._a.__class__, (other._a, *[t._a for t in tensors]), {})
            for t in tensors:
                bump(t)
            return tensors
    if method == "mul_" and not isinstance(other, Tensor):
        other = [_rounded_beside(t, o) for t, o in zip(tensors, _each(tensors, other))]
    return _binary(tensors, method, other)


def _rounded_beside(t: Tensor, factor: Any) -> Any:
    """A factor as half precision on the CPU takes it in this one function: `mul_` does not round it."""
    if factor.__class__ is float and t._a.__class__ is np.ndarray and is_half(t._a):
        return rounded(factor, t.dtype)
    return factor


FORMS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(UNARY, _unary), "add": _scaled, "sub": _scaled, "mul": _mul, "div": _binary,
    "pow": _binary, "clamp_min": _limit, "clamp_max": _limit, "maximum": _limit, "minimum": _limit,
    "addcmul": _two_more, "addcdiv": _two_more, "lerp": _lerp,
}  # fmt: skip
for _name, _apply in FORMS.items():
    _publish(_name, _apply, False)
    _publish(_name, _apply, True)


@public("torch")
def _foreach_zero_(self: Any) -> Any:
    """Every tensor of a list becomes zero."""
    tensors = _listed("_foreach_zero_", self)
    if not _alike(tensors):
        for t in tensors:
            t.zero_()
        return self
    run(ZERO, tensors[0]._a.__class__, [t._a for t in tensors], {})
    for t in tensors:
        bump(t)
    return self


@public("torch")
def _foreach_copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Every tensor of a list takes the values of its partner."""
    tensors = _listed("_foreach_copy_", self)
    for t, s in zip(tensors, _each(tensors, src)):
        t.copy_(s, non_blocking)
    return self


@public("torch")
def _foreach_clone(self: Any, *, memory_format: Any = None) -> tuple[Tensor, ...]:
    """A copy of every tensor of a list."""
    how = {} if memory_format is None else {"memory_format": memory_format}
    return tuple([t.clone(**how) for t in _listed("_foreach_clone", self)])


@public("torch")
def _foreach_max(self: Any) -> tuple[Tensor, ...]:
    """The largest element of every tensor of a list."""
    return tuple([t.max() for t in _listed("_foreach_max", self)])


@public("torch")
def _foreach_mm(self: Any, mat2: Any) -> tuple[Tensor, ...]:
    """Products of matrices, pair by pair."""
    tensors = _listed("_foreach_mm", self)
    return tuple([t.mm(m) for t, m in zip(tensors, _each(tensors, mat2))])


@public("torch")
def _foreach_norm(self: Any, ord: float = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The norm of every tensor of a list as if it were a vector."""
    from .reduce.vector_norm import vector_norm

    tensors = _listed("_foreach_norm", self)
    if dtype is not None or not one_kind(tensors):
        return tuple([vector_norm(t, ord, dtype=dtype) for t in tensors])
    cls = tensors[0]._a.__class__
    found = run(NORMS, cls, [t._a for t in tensors], {"order": float(ord)})
    return tensor_over(found, cls).to(tensors[0].dtype).unbind()


def one_kind(tensors: list[Tensor]) -> bool:
    """Whether a list is of one device and one floating dtype, with nothing empty, nothing recorded."""
    kind = tensors[0]._a.dtype
    if not tensors[0].dtype.is_floating_point or not _alike(tensors):
        return False
    for t in tensors:
        a = t._a
        if (a.dtype is not kind and a.dtype != kind) or not a.size:
            return False
    return True


def total_norm(tensors: list[Tensor], order: float) -> Tensor:
    """The norm of a list of one kind, as if it were one vector."""
    cls = tensors[0]._a.__class__
    total = run(TOTAL, cls, [t._a for t in tensors], {"order": float(order)})
    return tensor_over(total, cls).to(tensors[0].dtype)


def clip(tensors: list[Tensor], total: Tensor, limit: float) -> None:
    """Bring a list of one kind, whose norm is `total`, down to `limit`, in place."""
    arrays = (total._a, *[t._a for t in tensors])
    run(CLIP, total._a.__class__, arrays, {"limit": float(limit)})
    bump_all(tensors)


def limit(tensors: list[Tensor], most: float) -> bool:
    """Bring every element of a list of one kind to [-most, most], in place; False where a device does not take lists."""
    cls = tensors[0]._a.__class__
    if LIMIT.name not in devices.overrides(devices.backend_of_type(cls).type):
        return False
    run(LIMIT, cls, [t._a for t in tensors], {"limit": most})
    bump_all(tensors)
    return True


@public("torch")
def _foreach_powsum(self: Any, ord: float = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    """The sum of the powers of the sizes of each tensor's elements."""
    found = []
    for t in _listed("_foreach_powsum", self):
        size = t.abs() if dtype is None else t.abs().to(dtype)
        found.append((size**ord).sum())
    return tuple(found)
