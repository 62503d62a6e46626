"""`torch.backends.cuda`: how matrix products and attention run on the GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..base.config import settings
from ..runtime.thread import here


def is_built() -> bool:
    """Whether this installation can use a GPU when there is one, that is, whether CuPy is here."""
    from importlib.util import find_spec

    return find_spec("cupy") is not None


class _Matmul:
    """The switches of matrix products."""

    __slots__ = ()

    @property
    def allow_tf32(self) -> bool:
        """Whether float32 products may be computed in TF32."""
        return settings.float32_matmul_precision != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        settings.float32_matmul_precision = "high" if value else "highest"

    @property
    def fp32_precision(self) -> str:
        return "tf32" if self.allow_tf32 else "ieee"

    @fp32_precision.setter
    def fp32_precision(self, value: str) -> None:
        if value not in ("ieee", "tf32", "none"):
            raise RuntimeError(f"Unknown precision {value!r}; use 'ieee' or 'tf32'")
        self.allow_tf32 = value == "tf32"


matmul = _Matmul()

# rushlight has one attention kernel per device and picks it by shape; these are remembered so that
# scripts that ask get their own answer back.
_sdp = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def _switch(kind: str, what: str) -> tuple[Callable[[], bool], Callable[[bool], None]]:
    """Whether a kind of attention was allowed, and what allows it."""

    def asked() -> bool:
        return _sdp[kind]

    def allow(enabled: bool) -> None:
        _sdp[kind] = bool(enabled)

    asked.__name__ = asked.__qualname__ = f"{kind}_sdp_enabled"
    allow.__name__ = allow.__qualname__ = f"enable_{kind}_sdp"
    asked.__doc__, allow.__doc__ = f"Whether {what} was allowed.", f"Allow {what}."
    return asked, allow


flash_sdp_enabled, enable_flash_sdp = _switch("flash", "flash attention")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch("mem_efficient", "memory-efficient attention")
math_sdp_enabled, enable_math_sdp = _switch("math", "attention written out in matrix products")
cudnn_sdp_enabled, enable_cudnn_sdp = _switch("cudnn", "cuDNN's attention")


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[Any]:
    """Choose the kinds of attention inside a block."""
    before, by_products = dict(_sdp), here.attention_by_products
    _sdp.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    here.attention_by_products = not (enable_flash or enable_mem_efficient or enable_cudnn)
    try:
        yield {}
    finally:
        _sdp.update(before)
        here.attention_by_products = by_products
