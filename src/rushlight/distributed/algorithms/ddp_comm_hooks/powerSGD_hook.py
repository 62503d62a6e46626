"""PowerSGD's names, which libraries import beside the usual hooks; rushlight does not compress by low rank."""
# ruff: noqa: N816, N999 - as PyTorch spells them

from __future__ import annotations

from ....base.refusal import absent_classes, refuser

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]

_WHAT = (
    "distributed.algorithms.ddp_comm_hooks.powerSGD_hook",
    "sends gradients whole or with 16 bits",
    "Use default_hooks.bf16_compress_hook.",
)
PowerSGDState = absent_classes(*_WHAT, ("PowerSGDState",))["PowerSGDState"]
_refuse = refuser(*_WHAT)
powerSGD_hook = _refuse("powerSGD_hook")
batched_powerSGD_hook = _refuse("batched_powerSGD_hook")
