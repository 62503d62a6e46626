"""Windows that are sums of cosines."""

from __future__ import annotations

from collections.abc import Iterable
from math import pi
from typing import Any

from ...base.formats import strided
from ...core.public import NAMESPACES
from ...core.tensor import Tensor
from .making import asked


def general_cosine(
    M: int,
    *,
    a: Iterable,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A sum of cosines with the weights `a`, whose signs alternate.

    Args:
        M: how many elements.
        a: the weights.
        sym: a symmetric window, for filters; otherwise a periodic one, for spectra.

    Raises:
        ValueError: if there are no weights, or M is negative.

    Example:
        >>> torch.signal.windows.general_cosine(5, a=[0.5, 0.5])
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    window = asked("general_cosine", M, dtype, layout, device, requires_grad)
    if M < 2:
        return window.one() if M else window.empty()
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    k = window.line(0, (M - 1) * (2 * pi / (M - 1 if sym else M)))
    signed = [-w if i % 2 else w for i, w in enumerate(a)]
    weights = NAMESPACES["torch"]["tensor"](signed, **window.options)
    orders = NAMESPACES["torch"]["arange"](len(signed), **window.options)
    return (weights[:, None] * (orders[:, None] * k).cos()).sum(0)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A raised cosine: alpha - (1 - alpha) cos.

    Args:
        M: how many elements.
        alpha: how high it is raised.
        sym: a symmetric window, for filters; otherwise a periodic one, for spectra.

    Example:
        >>> torch.signal.windows.general_hamming(5, alpha=0.75)
        tensor([0.5000, 0.7500, 1.0000, 0.7500, 0.5000])
    """
    where = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **where)


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Hamming window, which ends at 0.08.

    Args:
        M: how many elements.
        sym: a symmetric window, for filters; otherwise a periodic one, for spectra.

    Example:
        >>> torch.signal.windows.hamming(5)
        tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    where = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return general_hamming(M, sym=sym, **where)


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Hann window: a raised cosine that ends at 0.

    Args:
        M: how many elements.
        sym: a symmetric window, for filters; otherwise a periodic one, for spectra.

    Example:
        >>> torch.signal.windows.hann(4, sym=False)
        tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    where = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return general_hamming(M, alpha=0.5, sym=sym, **where)


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Blackman window, of three cosines.

    Args:
        M: how many elements.
        sym: a symmetric window, for filters; otherwise a periodic one, for spectra.

    Example:
        >>> torch.signal.windows.blackman(3).abs().round(decimals=4)
        tensor([0., 1., 0.])
    """
    asked("blackman", M, dtype, layout, device, requires_grad)
    where = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **where)


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Nuttall's window of four cosines, with the lowest side lobes.

    Args:
        M: how many elements.
        sym: a symmetric window, for filters; otherwise a periodic one, for spectra.

    Example:
        >>> torch.signal.windows.nuttall(5, dtype=torch.float64)
        tensor([3.6280e-04, 2.2698e-01, 1.0000e+00, 2.2698e-01, 3.6280e-04],
               dtype=torch.float64)
    """
    where = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    weights = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return general_cosine(M, a=weights, sym=sym, **where)
