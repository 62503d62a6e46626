"""`torch.backends.cudnn`: whether and how convolutions on the GPU use cuDNN."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..base.config import settings
from ..base.errors import only
from ._switch import install, setting


def is_available() -> bool:
    """Whether cuDNN can be used."""
    return version() is not None


def version() -> int | None:
    """The version of cuDNN as a number, or None without one."""
    from ..runtime.cuda import why_not

    if why_not() is not None:
        return None
    from ..runtime.cuda import device

    found = getattr(device, "cudnn_version", None)
    return found() if found else None


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    **kwargs: Any,
) -> Iterator[None]:
    """Set the switches inside a block."""
    only("flags", kwargs, "fp32_precision depthwise_kernel")
    wanted = {"cudnn_enabled": enabled, "cudnn_benchmark": benchmark,
              "cudnn_deterministic": deterministic, "cudnn_allow_tf32": allow_tf32}  # fmt: skip
    before = {name: getattr(settings, name) for name in wanted}
    try:
        for name, value in wanted.items():
            setattr(settings, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(settings, name, value)


install(
    __name__,
    enabled=setting("cudnn_enabled"),
    benchmark=setting("cudnn_benchmark"),
    deterministic=setting("cudnn_deterministic"),
    allow_tf32=setting("cudnn_allow_tf32"),
)
