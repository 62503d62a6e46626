"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .base.device import device as _device
from .base.dtypes import dtype as _dtype
from .base.formats import layout as _layout
from .base.formats import memory_format as _memory_format
from .base.shapes import Size as _Size
from .core.tensor import Tensor as _Tensor
from .operators.random.generator import Generator as _Generator

def fft(input: _Tensor, n: _b.int | None = None, dim: _b.int = -1, norm: Any = None, *, out: Any = None) -> _Tensor:
    """The Fourier transform along `dim`, cut or zero-padded to `n` points."""
def fft2(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = ..., norm: Any = None, *, out: Any = None) -> _Tensor:
    """`fftn` over the last two dims."""
def fftfreq(n: _b.int, d: _b.float = 1.0, *, out: Any = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False) -> _Tensor:
    """The frequencies of the points of an `n`-point transform of samples `d` apart."""
def fftn(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = None, norm: Any = None, *, out: Any = None) -> _Tensor:
    """The Fourier transform over several dims."""
def fftshift(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """Move the zero frequency to the middle."""
def hfft(input: _Tensor, n: _b.int | None = None, dim: _b.int = -1, norm: Any = None, *, out: Any = None) -> _Tensor:
    """The real spectrum of a signal given by its non-negative half."""
def hfft2(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = ..., norm: Any = None, *, out: Any = None) -> _Tensor:
    """`hfftn` over the last two dims."""
def hfftn(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = None, norm: Any = None, *, out: Any = None) -> _Tensor:
    """The real spectrum over several dims of a signal given by half of its last one."""
def ifft(input: _Tensor, n: _b.int | None = None, dim: _b.int = -1, norm: Any = None, *, out: Any = None) -> _Tensor:
    """The inverse Fourier transform along `dim`."""
def ifft2(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = ..., norm: Any = None, *, out: Any = None) -> _Tensor:
    """`ifftn` over the last two dims."""
def ifftn(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = None, norm: Any = None, *, out: Any = None) -> _Tensor:
    """The inverse transform over several dims."""
def ifftshift(input: _Tensor, dim: _b.int | Sequence[_b.int] | None = None) -> _Tensor:
    """Move the zero frequency back to the front."""
def ihfft(input: _Tensor, n: _b.int | None = None, dim: _b.int = -1, norm: Any = None, *, out: Any = None) -> _Tensor:
    """The inverse of `hfft`."""
def ihfft2(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = ..., norm: Any = None, *, out: Any = None) -> _Tensor:
    """`ihfftn` over the last two dims."""
def ihfftn(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = None, norm: Any = None, *, out: Any = None) -> _Tensor:
    """The inverse of `hfftn`."""
def irfft(input: _Tensor, n: _b.int | None = None, dim: _b.int = -1, norm: Any = None, *, out: Any = None) -> _Tensor:
    """The real signal of a half spectrum; `n` is its length."""
def irfft2(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = ..., norm: Any = None, *, out: Any = None) -> _Tensor:
    """`irfftn` over the last two dims."""
def irfftn(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = None, norm: Any = None, *, out: Any = None) -> _Tensor:
    """The real signal of a half spectrum over several dims."""
def rfft(input: _Tensor, n: _b.int | None = None, dim: _b.int = -1, norm: Any = None, *, out: Any = None) -> _Tensor:
    """The half spectrum of a real signal."""
def rfft2(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = ..., norm: Any = None, *, out: Any = None) -> _Tensor:
    """`rfftn` over the last two dims."""
def rfftfreq(n: _b.int, d: _b.float = 1.0, *, out: Any = None, dtype: _dtype | None = None, layout: _layout | None = None, device: _device | _b.str | _b.int | None = None, requires_grad: _b.bool = False) -> _Tensor:
    """The frequencies of the points of a half spectrum."""
def rfftn(input: _Tensor, s: Any = None, dim: _b.int | Sequence[_b.int] | None = None, norm: Any = None, *, out: Any = None) -> _Tensor:
    """The half spectrum of a real signal over several dims."""
