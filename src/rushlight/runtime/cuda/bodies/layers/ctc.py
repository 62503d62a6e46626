"""Connectionist temporal classification on the GPU: a block for every sample, then one for every frame."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from .....base.arrays import DeviceArray
from ....door import kernel_for
from ...code.sources import load
from ..fills import row_major
from ..pointwise import cast

ndarray = cupy.ndarray
_SHARED = 48 << 10  # bytes for two lines of states
_WIDEST = 512  # threads of a block


def _wide(a: DeviceArray) -> Any:
    return cast(a, "float32") if a.dtype.itemsize == 2 else a


def _served(log_probs: DeviceArray, targets: DeviceArray, *lengths: DeviceArray) -> bool:
    states, char = 2 * targets.shape[1] + 3, log_probs.dtype.char
    if char not in "fdeE" or not log_probs.size or not all(log_probs.shape):
        return False
    if any(a.dtype != np.int64 for a in (targets, *lengths)):
        return False
    return 2 * states * (8 if char == "d" else 4) <= _SHARED


def _walk(name: str, arrays: tuple, sizes: tuple[int, ...], char: str) -> None:
    """Launch one of the two kernels that go through the frames, one block for a sample."""
    states = 2 * sizes[3] + 1
    threads = min(_WIDEST, -(-states // 32) * 32)
    per = 1 << (-(-states // threads) - 1).bit_length()
    shared = 2 * (states + 2) * (8 if char == "d" else 4)
    launch = load("ctc.cu", name, char, PER=per)
    launch(sizes[1], threads, *arrays, *sizes, shared=shared)


@kernel_for("cuda", "ctc_loss")
def _loss(
    log_probs: DeviceArray, targets: DeviceArray, input_lengths: DeviceArray, target_lengths: DeviceArray, *, blank: int
) -> Any:
    places = (targets, input_lengths, target_lengths)
    if not _served(log_probs, *places):
        return NotImplemented
    x = row_major(_wide(log_probs))
    sizes = (*x.shape, targets.shape[1], blank)
    loss = ndarray((x.shape[1],), x.dtype)
    alpha = ndarray((*x.shape[:2], 2 * targets.shape[1] + 1), x.dtype)
    given = [row_major(a) for a in places]
    _walk("ctc_alpha", (x, *given, loss, alpha), sizes, x.dtype.char)
    if x.dtype == log_probs.dtype:
        return loss, alpha
    name = log_probs.dtype.name
    return cast(loss, name), cast(alpha, name)


@kernel_for("cuda", "ctc_loss_grad")
def _grad(
    gy: DeviceArray, log_probs: DeviceArray, targets: DeviceArray, input_lengths: DeviceArray,
    target_lengths: DeviceArray, nll: DeviceArray, alpha: DeviceArray, *, blank: int,
) -> Any:  # fmt: skip
    places = (targets, input_lengths, target_lengths)
    if not _served(log_probs, *places) or gy.dtype != log_probs.dtype:
        return NotImplemented
    g, x, loss, forward = [row_major(_wide(a)) for a in (gy, log_probs, nll, alpha)]
    char, sizes = x.dtype.char, (*x.shape, targets.shape[1], blank)
    given = [row_major(a) for a in places]
    shares = ndarray(forward.shape, x.dtype)
    chains = ndarray(targets.shape, np.int32)
    _walk("ctc_beta", (x, *given, loss, forward, shares, chains), sizes, char)
    out = ndarray(x.shape, x.dtype)
    arrays = (g, x, *given, loss, shares, chains, out)
    launch = load("ctc.cu", "ctc_grad", char)
    launch(x.shape[0] * x.shape[1], 128, *arrays, *sizes)
    if x.dtype == log_probs.dtype:
        return out
    return cast(out, log_probs.dtype.name)
