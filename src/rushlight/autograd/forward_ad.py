"""`torch.autograd.forward_ad`: rushlight has no dual tensors, which programs may ask; `func.jvp` has the products."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._names.refusal import refuser

__all__ = ["UnpackedDualTensor", "dual_level", "make_dual", "unpack_dual"]

_refuse = refuser("autograd.forward_ad", "has no dual tensors", "Use rushlight.func.jvp.")
dual_level = _refuse("dual_level")
make_dual = _refuse("make_dual")


class UnpackedDualTensor(NamedTuple):
    """A tensor and the tangent it carries, None for none."""

    primal: Any
    tangent: Any


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor and its tangent: there is never one."""
    return UnpackedDualTensor(tensor, None)
