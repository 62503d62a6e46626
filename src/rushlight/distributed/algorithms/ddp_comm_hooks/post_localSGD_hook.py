"""Post-local SGD's names, which libraries import beside the usual hooks; gradients are averaged over all ranks here."""
# ruff: noqa: N816, N999 - as PyTorch spells them

from __future__ import annotations

from ....base.refusal import absent_classes, refuser

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]

_WHAT = (
    "distributed.algorithms.ddp_comm_hooks.post_localSGD_hook",
    "averages gradients over all ranks in every step",
    "Use no_sync() for steps without an exchange.",
)
PostLocalSGDState = absent_classes(*_WHAT, ("PostLocalSGDState",))["PostLocalSGDState"]
post_localSGD_hook = refuser(*_WHAT)("post_localSGD_hook")
