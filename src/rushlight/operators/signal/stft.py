"""Short-time Fourier transforms and back, and `renorm`: made of ops that have derivatives."""

from __future__ import annotations

from typing import Any

from ...base import dtypes
from ...base.shapes import wrap_dim
from ...core.public import public
from ...core.tensor import Tensor
from ..create.filled import ones, zeros
from ..create.like import full_like
from ..image.padding import pad
from ..made_of.precision import is_half
from ..made_of.spelling import axis_for_dim
from ..pointwise.complex import view_as_real
from .fft import fft, ifft, irfft, rfft


def _window(window: Tensor | None, n_fft: int, length: int, like: Tensor) -> Tensor:
    """The window, with zeros on both sides up to `n_fft`."""
    real = like.real if like.is_complex() else like
    made = ones(length, dtype=real.dtype, device=like.device) if window is None else window
    left = (n_fft - length) // 2
    return pad(made, (left, n_fft - length - left)) if length < n_fft else made


def _check_sizes(name: str, n_fft: int, hop: int, length: int, window: Tensor | None) -> None:
    if hop <= 0:
        raise RuntimeError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and (window.dim() != 1 or window.shape[0] != length):
        raise RuntimeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={length}, but got window with size "
            f"{list(window.shape)}"
        )


@public()
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The Fourier transforms of windows that move along a signal: (*, frequencies, windows).

    Args:
        n_fft: the size of each transform.
        hop_length: how far the window moves; a quarter of `n_fft` if not given.
        win_length: the size of the window; `n_fft` if not given.
        window: what each piece of the signal is multiplied with, such as `hann_window`; ones if
            not given.
        center: fill the signal up at both ends, so that window t is centred at t * hop_length.
        pad_mode: how to fill it up.
        normalized: divide by the square root of `n_fft`.
        onesided: only the frequencies that say everything about a real signal; so by default.
        return_complex: complex numbers; needed for real signals.
        align_to_window: without `center`, the first window and not its transform begins where the signal does.

    Example:
        >>> x = torch.arange(8.0)
        >>> torch.stft(x, 4, window=torch.hann_window(4), return_complex=True).shape
        torch.Size([3, 9])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not is_complex:
            raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further "
                               "require that return_complex=True in a future PyTorch release.")  # fmt: skip
        return_complex = True
    if input.dim() not in (1, 2):
        raise RuntimeError(f"stft: expected a 1D or 2D tensor, but got {input.dim()}D tensor")
    _check_sizes("stft", n_fft, hop, length, window)
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    x = input if input.dim() == 2 else input.unsqueeze(0)
    if align_to_window:
        left = (n_fft - length) // 2
        x = pad(x, (left, n_fft - length - left))
    if center:
        x = pad(x.unsqueeze(1), (n_fft // 2, n_fft // 2), mode=pad_mode).squeeze(1)
    if not 0 < n_fft <= x.shape[-1]:
        raise RuntimeError(f"stft: expected 0 < n_fft < {x.shape[-1]}, but got n_fft={n_fft}")
    frames = x.unfold(-1, n_fft, hop) * _window(window, n_fft, length, x)
    one = (not is_complex) if onesided is None else onesided
    norm = "ortho" if normalized else None
    spectra = (rfft if one else fft)(frames, n_fft, -1, norm).transpose(1, 2)
    out = spectra if input.dim() == 2 else spectra.squeeze(0)
    return out if return_complex else view_as_real(out)


@public()
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose `stft` comes nearest to the given one.

    Args:
        n_fft: the size of each transform.
        hop_length: how far the window moved; a quarter of `n_fft` if not given.
        win_length: the size of the window; `n_fft` if not given.
        window: what the pieces were multiplied with.
        center: the signal was filled up at both ends.
        normalized: the transforms were divided by the square root of `n_fft`.
        onesided: only half of the frequencies are given.
        length: how long the signal is.
        return_complex: return a complex signal.

    Raises:
        RuntimeError: if the windows leave parts of the signal at zero.

    Example:
        >>> x = torch.arange(8.0)
        >>> w = torch.hann_window(4)
        >>> torch.istft(torch.stft(x, 4, window=w, return_complex=True), 4, window=w, length=8).round(decimals=3)
        tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    _check_sizes("istft", n_fft, hop, size, window)
    x = input if input.dim() == 3 else input.unsqueeze(0)
    one = x.shape[1] != n_fft if onesided is None else onesided
    norm = "ortho" if normalized else None
    spectra = x.transpose(1, 2)
    if return_complex:
        frames = ifft(spectra, n_fft, -1, norm)
    else:  # of all frequencies, too, a real signal is made of the first half
        half = spectra if one else spectra[..., : n_fft // 2 + 1]
        frames = irfft(half, n_fft, -1, norm)
    weights = _window(window, n_fft, size, frames)
    total = n_fft + hop * (x.shape[2] - 1)
    signal = _added(frames * weights, total, hop)
    scale = _added((weights * weights).expand(1, x.shape[2], n_fft), total, hop)
    start = n_fft // 2 if center else 0
    end = total - n_fft // 2 if center and length is None else total if length is None else start + length
    signal, scale = signal[:, start:end], scale[:, start:end]
    if float(scale.abs().min()) < 1e-11:
        raise RuntimeError("window overlap add min: 1")
    out = signal / scale
    if length is not None and out.shape[1] < length:
        out = pad(out, (0, length - out.shape[1]))
    return out if input.dim() == 3 else out.squeeze(0)


def _added(frames: Tensor, total: int, hop: int) -> Tensor:
    """Frames, each `hop` later than the one before, added up."""
    batch, count, n = frames.shape
    out = zeros(batch, total, dtype=frames.dtype, device=frames.device)
    for i in range(count):
        out = out + pad(frames[:, i], (i * hop, total - i * hop - n))
    return out


@public(inplace=True)
@axis_for_dim
def renorm(input: Tensor, p: float, dim: int, maxnorm: float, *, out: Any = None) -> Tensor:
    """Slices along a dimension made shorter, where their norm is too large.

    Args:
        p: which norm.
        maxnorm: the largest norm allowed.

    Example:
        >>> torch.tensor([[3.0, 4.0], [0.3, 0.4]]).renorm(2, 0, 1.0)
        tensor([[0.6000, 0.8000],
                [0.3000, 0.4000]])
    """
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if input.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.dim()} dimensions")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    from ...core.public import into

    at = wrap_dim(dim, input.dim())
    others = tuple([d for d in range(input.dim()) if d != at])
    wide = dtypes.float32 if is_half(input._a) else None
    norm = input.norm(p, others, keepdim=True, dtype=wide)
    limit = maxnorm if norm.dtype is dtypes.float64 or maxnorm < dtypes.finfo(dtypes.float32).max else float("inf")
    scale = (full_like(norm, limit) / (norm + 1e-7)).masked_fill((norm > maxnorm).logical_not(), 1.0)  # nan stays
    return into(out, input * scale.to(input.dtype))
