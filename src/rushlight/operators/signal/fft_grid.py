"""What surrounds a Fourier transform: its frequencies, and the shift of zero to the middle."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.device import get_default_device
from ...base.dtypes import as_dtype, get_default_dtype
from ...base.shapes import check_size, whole
from ...core.public import into, public
from ...core.tensor import Tensor, wrap


def _made(values: np.ndarray, dtype: Any, device: Any, requires_grad: bool, out: Any) -> Tensor:
    made = wrap(values.astype(as_dtype(dtype or get_default_dtype()).np))
    if device is not None or out is None:
        made = made.to(get_default_device() if device is None else device)
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
    """The frequencies of the points of a Fourier transform, the negative ones at the end.

    Args:
        n: how many points.
        d: the distance of samples, in seconds for frequencies in hertz.

    Example:
        >>> torch.fft.fftfreq(4, 0.5)
        tensor([ 0.0000,  0.5000, -1.0000, -0.5000])
    """
    check_size((whole(n, "n"),), 8)
    found = np.fft.fftfreq(n, _spacing("fft_fftfreq", d)) if n else np.empty(0)
    return _made(found, dtype, device, requires_grad, out)


@public("fft")
def rfftfreq(n: int, d: float = 1.0, *, out: Any = None, dtype: Any = None, layout: Any = None,
             device: Any = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The frequencies of the points that `rfft` returns.

    Args:
        n: how many points the signal has.
        d: the distance of samples.

    Example:
        >>> torch.fft.rfftfreq(4, 0.5)
        tensor([0.0000, 0.5000, 1.0000])
    """
    check_size((whole(n, "n") // 2 + 1,), 8)
    found = np.fft.rfftfreq(n, _spacing("fft_rfftfreq", d)) if n else np.full(1, np.nan)
    return _made(found, dtype, device, requires_grad, out)


def _rolled(x: Tensor, dim: Any, back: bool) -> Tensor:
    dims = (
        tuple(range(x._a.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    )
    shifts = [(x._a.shape[d] + (1 if back else 0)) // 2 for d in dims]
    return x.roll(tuple(shifts), dims)


@public("fft")
def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Move frequency zero from the front to the middle.

    Args:
        dim: one dimension or several; all of them if not given.

    Example:
        >>> torch.fft.fftshift(torch.fft.fftfreq(4))
        tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _rolled(input, dim, back=False)


@public("fft")
def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of `fftshift`: move frequency zero to the front.

    Args:
        dim: one dimension or several; all of them if not given.

    Example:
        >>> torch.fft.ifftshift(torch.tensor([-2, -1, 0, 1]))
        tensor([ 0,  1, -2, -1])
    """
    return _rolled(input, dim, back=True)
