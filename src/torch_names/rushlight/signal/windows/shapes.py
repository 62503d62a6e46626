"""Windows of other shapes than sums of cosines."""

from __future__ import annotations

from collections.abc import Iterable
from math import pi, sqrt
from typing import Any, NamedTuple, Protocol

from ...base.dtypes import float32, float64, get_default_dtype
from ...base.formats import strided
from ...core.public import NAMESPACES
from ...core.tensor import Tensor

_TORCH = NAMESPACES["torch"]


class Window(NamedTuple):
    """A window that somebody asked for: how long, of which dtype and where."""

    length: int
    options: dict[str, Any]

    def empty(self) -> Tensor:
        """The window without elements."""
        return _TORCH["empty"]((0,), **self.options)

    def one(self) -> Tensor:
        """The window of one element."""
        return _TORCH["ones"]((1,), **self.options)

    def line(self, start: Any, end: Any) -> Tensor:
        """Places from `start` to `end`, one for each element."""
        return _TORCH["linspace"](start, end, self.length, **self.options)


def asked(name: str, M: int, dtype: Any, layout: Any, device: Any, requires_grad: bool) -> Window:
    """Check what every window checks."""
    dtype = get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not None and layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (float32, float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return Window(M, {"dtype": dtype, "device": device, "requires_grad": requires_grad})


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
    """As `cosine`: a triangle."""
    window = asked("bartlett", M, dtype, layout, device, requires_grad)
    if M < 2:
        return window.one() if M else window.empty()
    return 1 - window.line(-1, -1 + (M - 1) * (2 / (M - 1 if sym else M))).abs()


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


class _Fixed(Protocol):
    def __call__(
        self, M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None, requires_grad: bool = False
    ) -> Tensor: ...  # fmt: skip


def _fixed(name: str, doc: str, weights: list[float], says: str = "general_cosine") -> _Fixed:
    """A sum of cosines whose weights are known, under its name; `says` is who is named where M is refused."""

    def window(
        M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None, requires_grad: bool = False
    ) -> Tensor:  # fmt: skip
        asked(says, M, dtype, layout, device, requires_grad)
        where = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
        return general_cosine(M, a=weights, sym=sym, **where)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = f"As `cosine`: {doc}"
    return window


hamming = _fixed("hamming", "the Hamming window, which ends at 0.08.", [0.54, 1.0 - 0.54])
hann = _fixed("hann", "the Hann window, a raised cosine that ends at 0.", [0.5, 0.5])
blackman = _fixed("blackman", "the Blackman window, of three cosines.", [0.42, 0.5, 0.08], "blackman")
nuttall = _fixed(
    "nuttall", "Nuttall's window of four cosines, with the lowest side lobes.",
    [0.3635819, 0.4891775, 0.1365995, 0.0106411],
)  # fmt: skip
