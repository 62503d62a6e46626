"""Window functions of signal processing: Hann, Hamming, Blackman, Bartlett, Kaiser."""

from __future__ import annotations

from typing import Any

from ...base import dtypes
from ...base.arrays import ArrayModule
from ...base.device import device
from ...base.dtypes import dtype
from ...base.shapes import whole
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.door import Kernel
from ..create.filled import create, float_dtype


def _window(
    xp: ArrayModule, *, size: tuple, period: int, weights: tuple, kind: str, dtype: dtype, device: device
) -> Any:
    """`size` points of a window that repeats after `period`, computed in double precision."""
    if period == 0:  # a window of one point
        return xp.ones(size, dtype.np)
    x = xp.arange(size[0]) / period  # 0 at the start, 1 at the end of the period
    if kind == "cosine":
        values = sum(w * (-1.0) ** k * xp.cos(2 * xp.pi * k * x) for k, w in enumerate(weights))
    elif kind == "bartlett":
        values = 1.0 - xp.abs(2.0 * x - 1.0)
    else:
        (beta,) = weights
        inside = xp.clip(1.0 - (2.0 * x - 1.0) ** 2, 0.0, None)
        values = xp.i0(beta * xp.sqrt(inside)) / xp.i0(xp.asarray(float(beta)))
    return values.astype(dtype.np)


WINDOW = Kernel("window_function", _window, meta=lambda *, size, dtype, **_: (size, dtype.np))


def _make(
    name: str, length: int, periodic: bool, kind: str, weights: tuple, dtype: Any, out: Any = None, **options: Any
) -> Tensor:
    if periodic.__class__ is not bool:
        raise TypeError(f"{name}() received an invalid combination of arguments")
    if whole(length, "window_length") < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    d = float_dtype(dtype)
    if d.category != dtypes.FLOATING:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {d}")
    period = length if periodic else length - 1
    return create(WINDOW, options.pop("device", None), options.pop("requires_grad", False), out,
                  size=(length,), period=0 if length <= 1 else period, weights=weights, kind=kind,
                  dtype=d, **options)  # fmt: skip


def _define(name: str, kind: str, weights: tuple, what: str, example: str) -> None:
    """A window that has no parameters of its own."""

    def window(window_length: int, periodic: bool = True, *, dtype: Any = None, **options: Any) -> Tensor:
        return _make(name, window_length, periodic, kind, weights, dtype, **options)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = f"""{what}

    Args:
        window_length: how many points.
        periodic: one that can be repeated; otherwise symmetric.
        options: `device`, `layout`, `requires_grad`, `pin_memory`.

    Example:
        >>> torch.{example}
    """
    public("torch")(window)


_define(
    "hann_window", "cosine", (0.5, 0.5), "A window that rises and falls like a raised cosine, zero at its ends.",
    "hann_window(4)\n        tensor([0.0000, 0.5000, 1.0000, 0.5000])",
)  # fmt: skip
_define(
    "blackman_window", "cosine", (0.42, 0.5, 0.08), "A window of two cosines, flatter at its ends than `hann_window`.",
    "blackman_window(4)[1:]\n        tensor([0.3400, 1.0000, 0.3400])",
)  # fmt: skip
_define(
    "bartlett_window", "bartlett", (), "A window in the form of a triangle, zero at its ends.",
    "bartlett_window(4)\n        tensor([0.0000, 0.5000, 1.0000, 0.5000])",
)  # fmt: skip


@public("torch")
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    **options: Any,
) -> Tensor:
    """A window like a raised cosine that does not reach zero.

    Args:
        window_length: how many points.
        periodic: one that can be repeated; otherwise symmetric.
        alpha: the middle of the cosine.
        beta: its height.
        options: `device`, `layout`, `requires_grad`, `pin_memory`.

    Example:
        >>> torch.hamming_window(4)
        tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    weights = (alpha, beta)
    return _make("hamming_window", window_length, periodic, "cosine", weights, dtype, **options)


@public("torch")
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, **options: Any
) -> Tensor:
    """A window made with a Bessel function, whose width can be chosen.

    Args:
        window_length: how many points.
        periodic: one that can be repeated; otherwise symmetric.
        beta: the larger, the narrower.
        options: `device`, `layout`, `requires_grad`, `pin_memory`.

    Example:
        >>> torch.kaiser_window(4)[1:]
        tensor([0.2157, 1.0000, 0.2157])
    """
    return _make("kaiser_window", window_length, periodic, "kaiser", (beta,), dtype, **options)
