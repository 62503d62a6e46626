"""`torch.cuda.amp.grad_scaler`: the scaler under its older name."""

from __future__ import annotations

from ...amp.grad_scaler import GradScaler as _Scaler
from ...amp.grad_scaler import OptState

__all__ = ["GradScaler", "OptState"]


class GradScaler(_Scaler):
    """`torch.amp.GradScaler("cuda", ...)`, under its older name.

    Args:
        init_scale: the first scale.
        growth_factor: what the scale grows by after enough steps without infinities.
        backoff_factor: what it shrinks by after a step with them.
        growth_interval: how many such steps are enough.
        enabled: False lets it do nothing.

    Example:
        >>> torch.cuda.amp.GradScaler(enabled=False).is_enabled()
        False
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__(
            "cuda",
            init_scale=init_scale,
            growth_factor=growth_factor,
            backoff_factor=backoff_factor,
            growth_interval=growth_interval,
            enabled=enabled,
        )
