"""`torch.distributed.autograd`: gradients through calls in other processes, which rushlight does not have."""

from __future__ import annotations

from ..base.refusal import absent_classes, refuser

__all__ = ["DistAutogradContext", "backward", "context", "get_gradients", "is_available"]

_WHAT = (
    "distributed.autograd",
    "calls no functions in other processes",
    "Send tensors with rushlight.distributed.send and recv.",
)
_refuse = refuser(*_WHAT)
_absent = absent_classes(*_WHAT, ("DistAutogradContext", "context"))
DistAutogradContext, context = _absent["DistAutogradContext"], _absent["context"]
backward = _refuse("backward")
get_gradients = _refuse("get_gradients")


def is_available() -> bool:
    """Whether there are such gradients: no."""
    return False
