"""`torch.fx.experimental.proxy_tensor`: operators are never traced into fx graphs here, which programs ask."""

from __future__ import annotations

from ...base.refusal import refuser

__all__ = ["get_proxy_mode", "make_fx"]

make_fx = refuser(
    "fx.experimental.proxy_tensor",
    "does not trace single operators into fx graphs",
    "Use rushlight.fx.symbolic_trace, or rushlight.compile.",
)("make_fx")


def get_proxy_mode() -> None:
    """The mode that traces operators: there is never one."""
