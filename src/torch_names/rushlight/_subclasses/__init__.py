"""`torch._subclasses`: tensors without values; rushlight's are those of the device `meta`."""

from __future__ import annotations

from ..base.refusal import absent_classes

__all__ = ["FakeTensor", "FakeTensorMode"]

_absent = absent_classes(
    "_subclasses",
    "has no fake tensors",
    "Use device='meta' for shapes without values.",
    ("FakeTensor", "FakeTensorMode"),
)
FakeTensor, FakeTensorMode = _absent["FakeTensor"], _absent["FakeTensorMode"]
