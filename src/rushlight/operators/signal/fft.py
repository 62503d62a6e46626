"""The fast Fourier transforms of namespace fft, with derivatives that are transforms again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod, sqrt
from typing import Any

import numpy as np

from ...base import dtypes
from ...base.arrays import Array, ArrayModule
from ...base.device import get_default_device
from ...base.dtypes import as_dtype, get_default_dtype, title
from ...base.formats import strided
from ...base.shapes import check_size, whole, wrap_dim
from ...core.op import Op
from ...core.public import into, into_same, public, row_major
from ...core.tensor import Tensor, wrap
from ...runtime.facts import Facts
from ..made_of.spelling import axis_for_dim


def _made(values: np.ndarray, dtype: Any, device: Any, requires_grad: bool, out: Any) -> Tensor:
    made = wrap(values.astype(as_dtype(dtype or get_default_dtype()).np))
    if device is not None or out is None:
        made = made.to(get_default_device() if device is None else device)
    made = into(out, made)
    return made.requires_grad_() if requires_grad else made


def _dense(name: str, layout: Any) -> None:
    if layout is not None and layout is not strided:
        raise NotImplementedError(f"{name}: layout={layout}; frequencies are strided")


def _spacing(name: str, d: Any) -> Any:
    if not isinstance(d, (int, float)):
        raise TypeError(f"{name}(): argument 'd' (position 2) must be float, not {type(d).__name__}")
    return d


@public("fft")
def fftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None,
            device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The frequencies of the points of a Fourier transform, the negative ones at the end.

    Args:
        n: how many points.
        d: the distance of samples, in seconds for frequencies in hertz.

    Example:
        >>> torch.fft.fftfreq(4, 0.5)
        tensor([ 0.0000,  0.5000, -1.0000, -0.5000])
    """
    _dense("fftfreq", layout)
    check_size((whole(n, "n"),), 8)
    found = np.fft.fftfreq(n, _spacing("fft_fftfreq", d)) if n else np.empty(0)
    return _made(found, dtype, device, requires_grad, out)


@public("fft")
def rfftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """As `fftfreq`: the frequencies of the points that `rfft` returns."""
    _dense("rfftfreq", layout)
    check_size((whole(n, "n") // 2 + 1,), 8)
    found = np.fft.rfftfreq(n, _spacing("fft_rfftfreq", d)) if n else np.full(1, np.nan)
    return _made(found, dtype, device, requires_grad, out)


def _rolled(x: Tensor, dim: Any, back: bool) -> Tensor:
    dims = tuple(range(x._a.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    shifts = [(x._a.shape[d] + (1 if back else 0)) // 2 for d in dims]
    return x.roll(tuple(shifts), dims)


@public("fft")
def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Move frequency zero from the front to the middle.

    Example:
        >>> torch.fft.fftshift(torch.fft.fftfreq(4))
        tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _rolled(input, dim, back=False)


@public("fft")
def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """As `fftshift`, back: frequency zero moves to the front."""
    return _rolled(input, dim, back=True)


Dims = tuple[int, ...]

# Four ops do everything: complex to complex both ways, real to half spectrum, and back. They are not
# scaled; `norm` is a factor applied behind them, so that derivatives need no cases.


def _narrow(xp: ArrayModule, out: Array, like: Array) -> Any:
    """Single precision in gives single precision out, whatever the array library computes in."""
    small = like.dtype.itemsize == (8 if like.dtype.kind == "c" else 4)
    if not small:
        return out
    return out.astype(np.complex64 if out.dtype.kind == "c" else np.float32, copy=False)


def _transformed(xp: ArrayModule, transform: Callable[..., Any], x: Array, dims: Dims, last: int = 0) -> Any:
    """`transform` of x over `dims`; a result lies in memory as PyTorch's: what is not transformed outside, by its steps.

    The last dims of `last` keep their place among those that are transformed.
    """
    steps = x.strides
    outer = sorted((d for d in range(x.ndim) if d not in dims), key=lambda d: -steps[d])
    free = len(dims) - last
    order = (*outer, *sorted(dims[:free], key=lambda d: -steps[d]), *dims[free:])
    back = sorted(range(x.ndim), key=order.__getitem__)
    rows = xp.ascontiguousarray(x.transpose(order))
    return transform(rows, axes=tuple(range(len(outer), x.ndim))).transpose(back)


def _fft_forward(xp: ArrayModule, x: Array, *, dims: Dims) -> Any:
    """The unscaled transform over `dims`."""
    return _narrow(xp, _transformed(xp, xp.fft.fftn, x, dims), x)


def _fft_backward(xp: ArrayModule, x: Array, *, dims: Dims) -> Any:
    """The unscaled inverse transform over `dims`."""
    return _narrow(xp, _transformed(xp, partial(xp.fft.ifftn, norm="forward"), x, dims), x)


def _fft_real(xp: ArrayModule, x: Array, *, dims: Dims) -> Any:
    """The unscaled transform of real x, halved along the last of `dims`."""
    return _narrow(xp, _transformed(xp, xp.fft.rfftn, x, dims, last=1), x)


def _fft_to_real(xp: ArrayModule, x: Array, *, dims: Dims, n: int) -> Any:
    """The unscaled inverse of `fft_real`, of length n along the last of `dims`."""
    if len(dims) > 1:
        x = _transformed(xp, partial(xp.fft.ifftn, norm="forward"), x, dims[:-1])
    inverse = partial(xp.fft.irfftn, s=(n,), norm="forward")
    return _narrow(xp, _transformed(xp, inverse, x, dims[-1:]), x)


def _complex_of(dtype: Any) -> Any:
    return np.dtype(np.complex64 if dtype.itemsize == (8 if dtype.kind == "c" else 4) else np.complex128)


def _real_of(dtype: Any) -> Any:
    return np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)


def _with(shape: Dims, dim: int, n: int) -> Dims:
    return shape[:dim] + (n,) + shape[dim + 1 :]


_forward = Op(_fft_forward, "fft_forward", grad_name="FftC2CBackward0",
              meta=lambda x, *, dims: (x.shape, _complex_of(x.dtype)), facts=Facts(vmap="several", autocast={"cpu": "float32"}))  # fmt: skip
_backward = Op(_fft_backward, "fft_backward", grad_name="FftC2CBackward0",
               meta=lambda x, *, dims: (x.shape, _complex_of(x.dtype)), facts=Facts(vmap="several", autocast={"cpu": "float32"}))  # fmt: skip
_real = Op(
    _fft_real, "fft_real", grad_name="FftR2CBackward0",
    meta=lambda x, *, dims: (
        _with(x.shape, dims[-1], x.shape[dims[-1]] // 2 + 1), _complex_of(x.dtype)), facts=Facts(vmap="several", autocast={"cpu": "float32"}),
)  # fmt: skip
_to_real = Op(
    _fft_to_real, "fft_to_real", grad_name="FftC2RBackward0",
    meta=lambda x, *, dims, n: (_with(x.shape, dims[-1], n), _real_of(x.dtype)), facts=Facts(vmap="several", autocast={"cpu": "float32"}),
)  # fmt: skip

_forward.derivative(x=lambda g, dims: _backward(g, dims=dims))
_backward.derivative(x=lambda g, dims: _forward(g, dims=dims))
# The half spectrum was never doubled, so its gradient is the full inverse with zeros for the rest.
_real.derivative(
    x=lambda g, dims, x_shape: _backward(_resize(g, (dims[-1],), (x_shape[dims[-1]],)), dims=dims).real.clone()
)
_to_real.derivative(x=lambda g, dims, n: _doubled(_real(g, dims=dims), dims[-1], n))


def _doubled(g: Tensor, dim: int, n: int) -> Tensor:
    """Inner frequencies count twice: they stand for their mirror images as well."""
    half = g._a.shape[dim]
    inner = (n - 1) // 2
    if not inner:
        return g
    from ..image.padding import pad_constant

    widths = [(0, 0)] * g._a.ndim
    widths[dim] = (1, half - 1 - inner)
    return g + pad_constant(g.narrow(dim, 1, inner), widths=tuple(widths), value=0)


# -- rules --------------------------------------------------------------------------------------


def _check(x: Tensor, name: str, real: bool = False) -> Tensor:
    kind = x._a.dtype.kind
    if real and kind == "c":
        raise RuntimeError(f"{name} expects a real input tensor, but got {title(x.dtype)}")
    if kind in "iub":
        return x.to(dtypes.get_default_dtype())
    if kind != "c" and x._a.dtype.itemsize == 2:
        raise RuntimeError(
            f"Unsupported dtype {title(x.dtype)}: cast the input with .float() for a transform on this device"
        )
    return x


def _resize(x: Tensor, dims: Dims, sizes: Dims) -> Tensor:
    """`x` cut or filled with zeros to `sizes` along `dims`."""
    widths = [(0, 0)] * x._a.ndim
    for d, n in zip(dims, sizes):
        widths[d] = (0, n - x._a.shape[d])
    if not any(after for _, after in widths):
        return x
    from ..image.padding import pad_constant

    return pad_constant(x, widths=tuple(widths), value=0)


def _factor(norm: str | None, n: int, inverse: bool) -> float:
    """What an unscaled transform of n points is multiplied by under `norm`."""
    if norm in (None, "backward"):
        return 1.0 / n if inverse else 1.0
    if norm == "forward":
        return 1.0 if inverse else 1.0 / n
    if norm == "ortho":
        return 1.0 / sqrt(n)
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def _scaled(x: Tensor, factor: float) -> Tensor:
    return x if factor == 1.0 else x * factor


def _one_dim(x: Tensor, dim: int) -> Dims:
    if x._a.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return (wrap_dim(dim, x._a.ndim),)


def _several(x: Tensor, s: Any, dim: Any) -> tuple[Dims, Dims]:
    """The dims to transform and their sizes, from any mix of `s` and `dim`."""
    shape = x._a.shape
    if dim is not None:
        dim = (dim,) if isinstance(dim, int) else tuple(dim)
        dims = tuple([_one_dim(x, d)[0] for d in dim])
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
    if s is None:
        dims = tuple(range(len(shape))) if dim is None else dims
        return dims, _checked(tuple([shape[d] for d in dims]))
    s = (s,) if isinstance(s, int) else tuple(s)
    if dim is None:
        if len(s) > len(shape):
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {len(shape)} dimensions.")
        dims = tuple(range(len(shape) - len(s), len(shape)))
    elif len(s) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    return dims, _checked(tuple([shape[d] if n == -1 else n for n, d in zip(s, dims)]))


def _checked(sizes: Dims) -> Dims:
    if sizes and sizes[0].__class__ is bool:
        raise TypeError("argument 's' must be tuple of ints, but found element of type bool at pos 0")
    for n in sizes:
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return sizes


# -- transforms ---------------------------------------------------------------------------------


def _c2c(x: Tensor, dims: Dims, sizes: Dims, norm: Any, inverse: bool, name: str) -> Tensor:
    factor = _factor(norm, prod(sizes), inverse)
    x = _resize(_check(x, name), dims, sizes)
    if x._a.dtype.kind != "c":
        x = x.to(x.dtype.to_complex())
    if not dims:
        return x
    return _scaled((_backward if inverse else _forward)(x, dims=dims), factor)


def _r2c(x: Tensor, dims: Dims, sizes: Dims, norm: Any, name: str) -> Tensor:
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    factor = _factor(norm, prod(sizes), False)
    x = _resize(_check(x, name, real=True), dims, sizes)
    return _scaled(_real(x, dims=dims), factor)


def _c2r(x: Tensor, dims: Dims, sizes: Dims, norm: Any, name: str) -> Tensor:
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    factor = _factor(norm, prod(sizes), True)
    x = _check(x, name)
    if x._a.dtype.kind != "c":
        x = x.to(x.dtype.to_complex())
    x = _resize(x, dims, (*sizes[:-1], sizes[-1] // 2 + 1))
    return _scaled(_to_real(x, dims=dims, n=sizes[-1]), factor)


@public("fft")
@axis_for_dim
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: Any = None, *, out: Any = None) -> Tensor:
    """The discrete Fourier transform along a dimension.

    Args:
        n: how many points; the signal is cut or filled up with zeros. Its own size if not
            given.
        norm: "backward" leaves it as it is, "forward" divides by n, "ortho" by the square root
            of n.

    Example:
        >>> torch.fft.fft(torch.tensor([1.0, 2.0, 3.0]))
        tensor([ 6.0000+0.0000j, -1.5000+0.8660j, -1.5000-0.8660j])
    """
    dims = _one_dim(input, dim)
    sizes = _checked((input._a.shape[dims[0]] if n is None else n,))
    return into_same(out, row_major(out, _c2c(input, dims, sizes, norm, False, "fft")))


@public("fft")
@axis_for_dim
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: Any = None, *, out: Any = None) -> Tensor:
    """As `fft`, back: its inverse, which `norm` "backward" divides by n, and "forward" leaves as it is."""
    dims = _one_dim(input, dim)
    sizes = _checked((input._a.shape[dims[0]] if n is None else n,))
    found = _c2c(input, dims, sizes, norm, True, "ifft")
    return into_same(out, row_major(out, found) if input.is_complex() else found)


@public("fft")
@axis_for_dim
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: Any = None, *, out: Any = None) -> Tensor:
    """The Fourier transform of a real signal: the half of it that says everything.

    Args:
        n: how many points of the signal; its own size if not given.
        norm: as for `fft`.

    Example:
        >>> torch.fft.rfft(torch.tensor([1.0, 2.0, 3.0]))
        tensor([ 6.0000+0.0000j, -1.5000+0.8660j])
    """
    dims = _one_dim(input, dim)
    sizes = _checked((input._a.shape[dims[0]] if n is None else n,))
    return into_same(out, row_major(out, _r2c(input, dims, sizes, norm, "rfft")))


@public("fft")
@axis_for_dim
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: Any = None, *, out: Any = None) -> Tensor:
    """The inverse of `rfft`: a real signal.

    Args:
        n: how many points the signal has; 2 * (size - 1) if not given, so say it for an odd
            number.
        norm: as for `ifft`.

    Example:
        >>> torch.fft.irfft(torch.fft.rfft(torch.tensor([1.0, 2.0, 3.0])), n=3)
        tensor([1., 2., 3.])
    """
    dims = _one_dim(input, dim)
    sizes = _checked((2 * (input._a.shape[dims[0]] - 1) if n is None else n,))
    return into(out, row_major(out, _c2r(input, dims, sizes, norm, "irfft")))


@public("fft")
@axis_for_dim
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: Any = None, *, out: Any = None) -> Tensor:
    """The real spectrum of a signal of which one half is given, because the other is its mirrored conjugate.

    Args:
        n: how many points the spectrum has; 2 * (size - 1) if not given.
        norm: as for `fft`.

    Example:
        >>> torch.fft.hfft(torch.tensor([1.0, 1.0]))
        tensor([2., 0.])
    """
    return irfft(input.conj(), n, dim, _FLIPPED.get(norm, norm), out=out)


@public("fft")
@axis_for_dim
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: Any = None, *, out: Any = None) -> Tensor:
    """As `hfft`, back: its inverse."""
    return into_same(out, rfft(input, n, dim, _FLIPPED.get(norm, norm)).conj())


@public("fft")
@axis_for_dim
def fftn(input: Tensor, s: Any = None, dim: Any = None, norm: Any = None, *, out: Any = None) -> Tensor:
    """The Fourier transform over several dimensions.

    Args:
        s: how many points in each; their own sizes if not given.
        dim: the dimensions; all of them if not given.
        norm: as for `fft`.

    Example:
        >>> torch.fft.fftn(torch.ones(2, 2)).real
        tensor([[4., 0.],
                [0., 0.]])
    """
    dims, sizes = _several(input, s, dim)
    return into_same(out, row_major(out, _c2c(input, dims, sizes, norm, False, "fftn")))


@public("fft")
@axis_for_dim
def ifftn(input: Tensor, s: Any = None, dim: Any = None, norm: Any = None, *, out: Any = None) -> Tensor:
    """As `fftn`, back: its inverse."""
    dims, sizes = _several(input, s, dim)
    return into_same(out, row_major(out, _c2c(input, dims, sizes, norm, True, "ifftn")))


@public("fft")
@axis_for_dim
def rfftn(input: Tensor, s: Any = None, dim: Any = None, norm: Any = None, *, out: Any = None) -> Tensor:
    """As `fftn`, of a real signal: of the last dimension only a half is needed."""
    dims, sizes = _several(input, s, dim)
    return into_same(out, row_major(out, _r2c(input, dims, sizes, norm, "rfftn")))


@public("fft")
@axis_for_dim
def irfftn(input: Tensor, s: Any = None, dim: Any = None, norm: Any = None, *, out: Any = None) -> Tensor:
    """The inverse of `rfftn`: a real signal.

    Args:
        s: how many points the signal has in each dimension.
        dim: the dimensions; all of them if not given.
        norm: as for `ifft`.

    Example:
        >>> torch.fft.irfftn(torch.fft.rfftn(torch.ones(2, 2)))
        tensor([[1., 1.],
                [1., 1.]])
    """
    dims, sizes = _several(input, s, dim)
    if s is None or tuple(s)[-1] == -1:
        sizes = _checked((*sizes[:-1], 2 * (input._a.shape[dims[-1]] - 1)))
    return into(out, row_major(out, _c2r(input, dims, sizes, norm, "irfftn")))


_FLIPPED = {None: "forward", "backward": "forward", "forward": "backward"}


@public("fft")
@axis_for_dim
def hfftn(input: Tensor, s: Any = None, dim: Any = None, norm: Any = None, *, out: Any = None) -> Tensor:
    """As `hfft`, over several dimensions: the real spectrum of a signal given by half of its last dimension.

    Args:
        s: how many points the spectrum has in each dimension.
        dim: the dimensions; all of them if not given.
        norm: as for `fft`.

    Example:
        >>> torch.fft.hfftn(torch.ones(2, 2)).shape
        torch.Size([2, 2])
    """
    return irfftn(input.conj(), s, dim, _FLIPPED.get(norm, norm), out=out)


@public("fft")
@axis_for_dim
def ihfftn(input: Tensor, s: Any = None, dim: Any = None, norm: Any = None, *, out: Any = None) -> Tensor:
    """As `hfftn`, back: its inverse."""
    dims, sizes = _several(input, s, dim)
    if not dims:
        raise RuntimeError("ihfftn must transform at least one axis")
    x = _resize(_check(input, "ihfftn", real=True), dims, sizes)
    half = _real(x, dims=dims[-1:]).conj()
    whole = _backward(half, dims=dims[:-1]) if len(dims) > 1 else half
    return into_same(out, row_major(out, _scaled(whole, _factor(norm, prod(sizes), True))))


def _two_dims(name: str, general: Any) -> None:
    def transform(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: Any = None, *, out: Any = None) -> Tensor:
        return general(input, s, dim, norm, out=out)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"As `torch.fft.{name[:-1]}n`, over the last two dimensions unless `dim` names others."
    public("fft", name=name)(transform)


for _name, _general in (
    ("fft2", fftn), ("ifft2", ifftn), ("rfft2", rfftn), ("irfft2", irfftn), ("hfft2", hfftn),
    ("ihfft2", ihfftn),
):  # fmt: skip
    _two_dims(_name, _general)
