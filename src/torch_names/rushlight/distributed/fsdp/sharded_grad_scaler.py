"""`torch.distributed.fsdp.sharded_grad_scaler`: float16 with FullyShardedDataParallel."""

from __future__ import annotations

from typing import Any

from ...amp.grad_scaler import GradScaler

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A `GradScaler` for sharded parameters: an overflow on one process leaves the step out on all.

    `GradScaler` does the same here where gradients are sharded; this is its older name.

    Args:
        device: "cuda" or "cpu".
        init_scale: the first factor.
        backoff_factor, growth_factor: what the factor is multiplied by.
        growth_interval: good steps until it grows.
        enabled: False makes it do nothing.
        process_group: accepted; the gradients know their processes.

    Example:
        >>> from rushlight.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
        >>> ShardedGradScaler("cpu", init_scale=8.0).get_scale()
        8.0
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: Any = None,
    ) -> None:
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)  # fmt: skip
