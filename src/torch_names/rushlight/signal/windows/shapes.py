"""Windows of other shapes than sums of cosines."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

from ...base.formats import strided
from ...core.public import NAMESPACES
from ...core.tensor import Tensor
from .making import asked


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-|distance from the centre| / tau).

    Args:
        M: how many elements.
        center: where it is highest; the middle if not given. For periodic windows only.
        tau: how slowly it falls.
        sym: a symmetric window, for filters; otherwise a periodic one, for spectra.

    Raises:
        ValueError: if tau is not positive, or a symmetric window is given a centre.

    Example:
        >>> torch.signal.windows.exponential(3)
        tensor([0.3679, 1.0000, 0.3679])
    """
    window = asked("exponential", M, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return window.empty()
    if center is None:
        center = (M - 1 if sym or M == 1 else M) / 2.0
    scale = 1 / tau
    return (-window.line(-center * scale, (-center + (M - 1)) * scale).abs()).exp()


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Half a period of a sine.

    Args:
        M: how many elements.
        sym: a symmetric window, for filters; otherwise a periodic one, for spectra.

    Example:
        >>> torch.signal.windows.cosine(3)
        tensor([0.5000, 1.0000, 0.5000])
    """
    window = asked("cosine", M, dtype, layout, device, requires_grad)
    if M == 0:
        return window.empty()
    step = pi / (M if sym or M == 1 else M + 1)
    return window.line(0.5 * step, (0.5 + (M - 1)) * step).sin()


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The bell of a normal distribution.

    Args:
        M: how many elements.
        std: its standard deviation, in elements.
        sym: a symmetric window, for filters; otherwise a periodic one, for spectra.

    Raises:
        ValueError: if std is not positive.

    Example:
        >>> torch.signal.windows.gaussian(3)
        tensor([0.6065, 1.0000, 0.6065])
    """
    window = asked("gaussian", M, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return window.empty()
    start, scale = -(M - 1 if sym or M == 1 else M) / 2.0, 1 / (std * sqrt(2))
    k = window.line(start * scale, (start + (M - 1)) * scale)
    return (-(k**2)).exp()


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The Kaiser window, made of the Bessel function i0.

    Args:
        M: how many elements.
        beta: how narrow it is.
        sym: a symmetric window, for filters; otherwise a periodic one, for spectra.

    Raises:
        ValueError: if beta is negative.

    Example:
        >>> torch.signal.windows.kaiser(3, beta=1.0)
        tensor([0.7899, 1.0000, 0.7899])
    """
    window = asked("kaiser", M, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return window.one() if M else window.empty()
    # In the dtype of the window: a rounded end beyond beta would give the root of a negative number.
    b = NAMESPACES["torch"]["tensor"](beta, dtype=window.options["dtype"], device=device)
    step = 2.0 * b / (M - 1 if sym else M)
    k = window.line(-b, NAMESPACES["torch"]["minimum"](b, -b + (M - 1) * step))
    return (b * b - k**2).sqrt().i0() / b.i0()


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle.

    Args:
        M: how many elements.
        sym: a symmetric window, for filters; otherwise a periodic one, for spectra.

    Example:
        >>> torch.signal.windows.bartlett(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    window = asked("bartlett", M, dtype, layout, device, requires_grad)
    if M < 2:
        return window.one() if M else window.empty()
    return 1 - window.line(-1, -1 + (M - 1) * (2 / (M - 1 if sym else M))).abs()
