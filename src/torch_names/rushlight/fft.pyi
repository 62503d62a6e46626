"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from .base.device import device as _device
from .base.dtypes import dtype as _dtype
from .base.formats import layout as _layout
from .base.formats import qscheme as _qscheme
from .base.formats import memory_format as _memory_format
from .base.shapes import Size as _Size
from .core.tensor import Tensor as _Tensor
from . import return_types as _results
from .operators.random.generator import Generator as _Generator

def fft(input: _Tensor, n: _b.int | None = None, dim: _b.int = -1, norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The discrete Fourier transform along a dimension."""
def fft2(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = ..., norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `torch.fft.fftn`, over the last two dimensions unless `dim` names others."""
def fftfreq(n: _b.int, d: _b.float = 1.0, *, out: _Tensor | Sequence[_Tensor] | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False) -> _Tensor:
    """The frequencies of the points of a Fourier transform, the negative ones at the end."""
def fftn(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = None, norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Fourier transform over several dimensions."""
def fftshift(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """Move frequency zero from the front to the middle."""
def hfft(input: _Tensor, n: _b.int | None = None, dim: _b.int = -1, norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The real spectrum of a signal of which one half is given, because the other is its mirrored conjugate."""
def hfft2(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = ..., norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `torch.fft.hfftn`, over the last two dimensions unless `dim` names others."""
def hfftn(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = None, norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `hfft`, over several dimensions: the real spectrum of a signal given by half of its last dimension."""
def ifft(input: _Tensor, n: _b.int | None = None, dim: _b.int = -1, norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The inverse of `fft`."""
def ifft2(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = ..., norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `torch.fft.ifftn`, over the last two dimensions unless `dim` names others."""
def ifftn(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = None, norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The inverse of `fftn`."""
def ifftshift(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """The inverse of `fftshift`: move frequency zero to the front."""
def ihfft(input: _Tensor, n: _b.int | None = None, dim: _b.int = -1, norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The inverse of `hfft`."""
def ihfft2(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = ..., norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `torch.fft.ihfftn`, over the last two dimensions unless `dim` names others."""
def ihfftn(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = None, norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The inverse of `hfftn`."""
def irfft(input: _Tensor, n: _b.int | None = None, dim: _b.int = -1, norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The inverse of `rfft`: a real signal."""
def irfft2(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = ..., norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `torch.fft.irfftn`, over the last two dimensions unless `dim` names others."""
def irfftn(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = None, norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The inverse of `rfftn`: a real signal."""
def rfft(input: _Tensor, n: _b.int | None = None, dim: _b.int = -1, norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Fourier transform of a real signal: the half of it that says everything."""
def rfft2(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = ..., norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `torch.fft.rfftn`, over the last two dimensions unless `dim` names others."""
def rfftfreq(n: _b.int, d: _b.float = 1.0, *, out: _Tensor | Sequence[_Tensor] | None = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False) -> _Tensor:
    """The frequencies of the points that `rfft` returns."""
def rfftn(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = None, norm: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Fourier transform of a real signal over several dimensions; of the last one only a half is needed."""
