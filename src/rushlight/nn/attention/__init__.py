"""Choosing how scaled dot product attention is computed."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from enum import IntEnum

from ...runtime.thread import here

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(IntEnum):
    """The ways in which PyTorch can compute attention, by name.

    Example:
        >>> nn.attention.SDPBackend.MATH.value
        0
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


class _Chosen(threading.local):
    backends: tuple[SDPBackend, ...] = tuple(b for b in SDPBackend if b is not SDPBackend.ERROR)


_chosen = _Chosen()


def _cur_sdpa_kernel_backends() -> list[SDPBackend]:
    """The ways of computing attention that are allowed in this thread."""
    return list(_chosen.backends)


@contextlib.contextmanager
def sdpa_kernel(backends: SDPBackend | Iterable[SDPBackend], set_priority: bool = False) -> Iterator[None]:
    """Allow only these ways of computing attention inside the block.

    `MATH` alone means the products and the softmax one after another; else rushlight chooses its
    kernel itself, and the choice is kept for code that asks for it.

    Args:
        backends: one `SDPBackend` or several.
        set_priority: the order of `backends` matters; not used.

    Raises:
        ValueError: if there are none.

    Example:
        >>> q = torch.zeros(1, 2, 4)
        >>> with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
        ...     y = F.scaled_dot_product_attention(q, q, q)
        >>> y.shape
        torch.Size([1, 2, 4])
    """
    chosen = (backends,) if isinstance(backends, SDPBackend) else tuple(backends)
    if not chosen:
        raise ValueError("sdpa_kernel needs at least one backend")
    for b in chosen:
        if not isinstance(b, SDPBackend):
            raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    before = _chosen.backends, here.attention_by_products
    _chosen.backends = chosen
    here.attention_by_products = set(chosen) == {SDPBackend.MATH}
    try:
        yield
    finally:
        _chosen.backends, here.attention_by_products = before
