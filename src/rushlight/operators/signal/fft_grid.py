"""What surrounds a Fourier transform: its frequencies, and the shift of zero to the middle."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.dtypes import as_dtype, get_default_dtype
from ...core.public import into, public
from ...core.tensor import Tensor, wrap


def _made(values: np.ndarray, dtype: Any, device: Any, requires_grad: bool, out: Any) -> Tensor:
    made = wrap(values.astype(as_dtype(dtype or get_default_dtype()).np))
    if device is not None:
        made = made.to(device)
    made = into(out, made)
    return made.requires_grad_() if requires_grad else made


def _spacing(name: str, d: Any) -> Any:
    if not isinstance(d, (int, float)):
        raise TypeError(
            f"{name}(): argument 'd' (position 2) must be float, not {type(d).__name__}"
        )
    return d


@public("fft")
def fftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None,
            device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The frequencies of the points of an `n`-point transform of samples `d` apart."""
    return _made(np.fft.fftfreq(n, _spacing("fft_fftfreq", d)), dtype, device, requires_grad, out)


@public("fft")
def rfftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The frequencies of the points of a half spectrum."""
    return _made(np.fft.rfftfreq(n, _spacing("fft_rfftfreq", d)), dtype, device, requires_grad, out)


def _rolled(x: Tensor, dim: Any, back: bool) -> Tensor:
    dims = (
        tuple(range(x._a.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    )
    shifts = [(x._a.shape[d] + (1 if back else 0)) // 2 for d in dims]
    return x.roll(tuple(shifts), dims)


@public("fft")
def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Move the zero frequency to the middle."""
    return _rolled(input, dim, back=False)


@public("fft")
def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Move the zero frequency back to the front."""
    return _rolled(input, dim, back=True)
