"""Complex numbers: building them, their parts as views, conjugates and angles."""

from __future__ import annotations

import math
from typing import Any

from ...base import dtypes
from ...base.arrays import Array, ArrayModule
from ...base.shapes import broadcast_shapes
from ...core.op import Op
from ...core.public import into, into_same, public, publish
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ...runtime.point import Point
from ..made_of.guards import title
from ..made_of.pointwise import pair_meta, same_meta
from ..made_of.promotion import promote_unary_float
from ..memory.casting import cast_to
from .arithmetic import flat
from .unary import _real_meta

# -- parts, as views ----------------------------------------------------------------------------

_real = Op(lambda xp, x: x.real, "real", view=True, facts=Facts(vmap="pointwise"))
_real.derivative(x=lambda g: cast_to(g, g.dtype.to_complex()))
_imag = Op(lambda xp, x: x.imag, "imag", view=True, facts=Facts(vmap="pointwise"))
_imag.derivative(x=lambda g: g * 1j)


@public("torch")
def real(input: Tensor) -> Tensor:
    """The real part, as a view; a real tensor is its own.

    Example:
        >>> torch.real(torch.tensor([1 + 2j]))
        tensor([1.])
    """
    return _real(input) if input._a.dtype.kind == "c" else input


@public("torch")
def imag(input: Tensor) -> Tensor:
    """The imaginary part, as a view.

    Raises:
        RuntimeError: for a real tensor.

    Example:
        >>> torch.imag(torch.tensor([1 + 2j]))
        tensor([2.])
    """
    if input._a.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _imag(input)


def _assign_real(self: Tensor, value: Any) -> None:
    real(self).copy_(value if isinstance(value, Tensor) else self.new_tensor(value).real)


def _assign_imag(self: Tensor, value: Any) -> None:
    imag(self).copy_(value if isinstance(value, Tensor) else self.new_tensor(value).real)


publish("Tensor", "real", property(real, _assign_real))
publish("Tensor", "imag", property(imag, _assign_imag))


def _as_real_body(xp: ArrayModule, x: Array) -> Any:
    return x[..., None].view(x.real.dtype)


def _as_complex_body(xp: ArrayModule, x: Array) -> Any:
    return x.view(xp.complex64 if x.dtype == xp.float32 else xp.complex128)[..., 0]


_view_as_real = Op(_as_real_body, "view_as_real", view=True, facts=Facts(vmap="as_it_is"))
_view_as_real.derivative(x=lambda g: _view_as_complex(g.contiguous()))
_view_as_complex: Any = Op(
    _as_complex_body, "view_as_complex", view=True, facts=Facts(vmap="as_it_is", autocast={"cpu": "float32"})
)
_view_as_complex.derivative(x=lambda g: _view_as_real(g))


@public("torch")
def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs in a new last dimension, without a copy.

    Example:
        >>> torch.view_as_real(torch.tensor([1 + 2j]))
        tensor([[1., 2.]])
    """
    if input._a.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return _view_as_real(input)


@public("torch")
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs in the last dimension as complex numbers, without a copy.

    Raises:
        RuntimeError: if the last dimension has not size 2.

    Example:
        >>> torch.view_as_complex(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([1.+2.j, 3.+4.j])
    """
    a = input._a
    if a.dtype.kind != "f":
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {title(input.dtype)}"
        )
    if a.dtype.itemsize == 2:
        raise RuntimeError("view_as_complex: there is no half-precision complex dtype; call .float()")
    if a.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if a.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if a.strides[-1] != a.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if a.size and any(s % (2 * a.itemsize) for s, n in zip(a.strides, a.shape[:-1]) if n > 1):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if input.storage_offset() % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return _view_as_complex(input)


# -- building -----------------------------------------------------------------------------------


def _pair(name: str, first: Tensor, second: Tensor, words: str) -> None:
    if first._a.dtype.kind != "f" or second._a.dtype.kind != "f":
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got "
            f"{title(first.dtype)} and {title(second.dtype)}"
        )
    if first._a.dtype != second._a.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {title(first.dtype)} but got scalar type "
            f"{title(second.dtype)} for second argument"
        )


def _complex_meta(x: Any, y: Any) -> tuple:
    shape, dtype = pair_meta(x, y)
    return shape, dtypes.from_np(dtype).to_complex().np


def _complex_body(xp: ArrayModule, x: Array, y: Array) -> Any:
    wide = xp.complex128 if x.dtype == xp.float64 else xp.complex64
    out = xp.empty(xp.broadcast(x, y).shape, wide)
    out.real = x
    out.imag = y
    return out


_complex = Op(
    _complex_body,
    "complex",
    point=Point("x y", "cplx(x, y)", out="complex"),
    broadcasts=True,
    moves_only=True,
    meta=_complex_meta,
    facts=Facts(layout="first"),
)
_complex.derivative(x=lambda g: real(g), y=lambda g: imag(g))


@public("torch")
def complex(real: Tensor, imag: Tensor, *, out: Any = None) -> Tensor:  # noqa: A001
    """Complex numbers from their real and imaginary parts.

    Args:
        real: a float tensor.
        imag: another of the same dtype; shapes broadcast.

    Example:
        >>> torch.complex(torch.tensor([1.0]), torch.tensor([2.0]))
        tensor([1.+2.j])
    """
    _pair("complex", real, imag, "second")
    broadcast_shapes(real._a.shape, imag._a.shape)
    if out is not None and out.dtype is not real.dtype.to_complex():
        raise RuntimeError(
            f"Expected object of scalar type {title(real.dtype.to_complex())} but got scalar type "
            f"{title(out.dtype)} for argument 'out'"
        )
    return into(out, _complex(real, imag), real, imag)


@public("torch")
def polar(abs: Tensor, angle: Tensor, *, out: Any = None) -> Tensor:  # noqa: A002
    """Complex numbers from their lengths and angles.

    Args:
        abs: the lengths, a float tensor.
        angle: the angles in radians.

    Example:
        >>> torch.polar(torch.tensor([2.0]), torch.tensor([0.0]))
        tensor([2.+0.j])
    """
    _pair("polar", abs, angle, "second")
    return into_same(out, _complex(abs * angle.cos(), abs * angle.sin()))


# -- conjugates and angles ----------------------------------------------------------------------

_conj = Op(lambda xp, x: xp.conjugate(x), "conj", point=Point("x", fiub="x", c="cconj(x)"), meta=same_meta)
_conj.derivative(x=lambda g: conj(g))


@public()
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor is its own.

    Example:
        >>> torch.tensor([1 + 2j]).conj()
        tensor([1.-2.j])
    """
    return _conj(input) if input._a.dtype.kind == "c" else input


@public(inplace=True)
def conj_physical(input: Tensor, *, out: Any = None) -> Tensor:
    """The complex conjugate, always in new memory.

    Example:
        >>> torch.conj_physical(torch.tensor([1 + 2j]))
        tensor([1.-2.j])
    """
    return into_same(out, conj(input))


def _at_once(word: str, what: str, example: str, shown: str) -> None:
    """`resolve_conj` and `is_conj`, or the two of `neg`: here nothing is put off."""

    def resolve(input: Tensor) -> Tensor:
        input._a  # noqa: B018 - what is no tensor fails here
        return input

    def waits(input: Tensor) -> bool:
        return input._a is None

    resolve.__name__ = resolve.__qualname__ = f"resolve_{word}"
    resolve.__doc__ = f"""The tensor with its {what} computed: itself, because that happens at once here.

    Example:
        >>> {example}.resolve_{word}()
        {shown}
    """
    waits.__name__ = waits.__qualname__ = f"is_{word}"
    waits.__doc__ = f"""Whether a {what} is still to be computed; never here, because it is computed at once.

    Example:
        >>> {example.removesuffix(".conj()")}.is_{word}()
        False
    """
    public()(resolve)
    public()(waits)


_at_once("conj", "conjugation", "torch.tensor([1 + 2j]).conj()", "tensor([1.-2.j])")
_at_once("neg", "negation", "torch.tensor([1.0])", "tensor([1.])")


def _angle_body(xp: ArrayModule, x: Array) -> Any:
    if x.dtype.kind == "c":
        return xp.angle(x)
    out = xp.zeros_like(x)
    out[x < 0] = math.pi
    out[xp.isnan(x)] = math.nan
    return out


def _angle_dx(g: Tensor, x: Tensor) -> Tensor:
    if x._a.dtype.kind != "c":
        return flat(g)
    size = x.abs()
    return (g * (x * 1j) / (size * size)).masked_fill(size == 0, 0)


_angle = Op(
    _angle_body,
    "angle",
    point=Point("x", "x if x != x else 3.14159265358979323846 if x < 0 else 0", c="carg(x)", out="real"),
    rule=promote_unary_float,
    meta=_real_meta,
)
_angle.derivative(x=_angle_dx)


@public()
def angle(input: Tensor, *, out: Any = None) -> Tensor:
    """The angle of every number in radians: 0 for positive real ones, pi for negative ones.

    Example:
        >>> torch.tensor([1.0, -1.0]).angle()
        tensor([0.0000, 3.1416])
    """
    found = _angle(input)
    return into(out, found.contiguous() if input._a.dtype.kind == "c" else found)


@public("torch")
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex.

    Example:
        >>> torch.is_complex(torch.tensor([1j]))
        True
    """
    return input._a.dtype.kind == "c"


@public("torch")
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating point one.

    Example:
        >>> torch.is_floating_point(torch.tensor([1.0])), torch.is_floating_point(torch.tensor([1]))
        (True, False)
    """
    return input.is_floating_point()


@public("torch")
def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers.

    Example:
        >>> torch.is_signed(torch.tensor([1], dtype=torch.uint8))
        False
    """
    return input.is_signed()


# -- adjoints -----------------------------------------------------------------------------------


@public("Tensor")
def adjoint(self: Tensor) -> Tensor:
    """The last two dimensions exchanged and complex numbers conjugated.

    Example:
        >>> torch.tensor([[1 + 1j, 2], [3, 4]]).adjoint()
        tensor([[1.-1.j, 3.-0.j],
                [2.-0.j, 4.-0.j]])
    """
    if self._a.ndim == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return conj(self.transpose(-2, -1) if self._a.ndim else self)


@public("torch", name="adjoint")
def _adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged and complex numbers conjugated.

    Raises:
        RuntimeError: for a vector.

    Example:
        >>> torch.adjoint(torch.tensor([[1 + 1j, 2], [3, 4]]))
        tensor([[1.-1.j, 3.-0.j],
                [2.-0.j, 4.-0.j]])
    """
    return adjoint(input)


def _h(self: Tensor) -> Tensor:
    """The transpose of a matrix with complex numbers conjugated.

    Raises:
        RuntimeError: for anything but a matrix.

    Example:
        >>> torch.tensor([[1 + 1j, 2]]).H
        tensor([[1.-1.j],
                [2.-0.j]])
    """
    if self._a.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self._a.ndim}-D tensor.")
    return self.conj() if self._a.ndim == 0 else adjoint(self)


def _mh(self: Tensor) -> Tensor:
    """The last two dimensions exchanged and complex numbers conjugated.

    Raises:
        RuntimeError: for a vector.

    Example:
        >>> torch.zeros(5, 2, 3).mH.shape
        torch.Size([5, 3, 2])
    """
    if self._a.ndim == 1:
        raise RuntimeError("tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return self.conj() if self._a.ndim == 0 else adjoint(self)


publish("Tensor", "H", property(_h))
publish("Tensor", "mH", property(_mh))
