"""`torch.utils.swap_tensors`: two tensors change places, for everybody who holds them."""

from __future__ import annotations

from typing import Any

from .gradients.tape import AccumulateGrad

_SLOTS = ("_a", "_edge", "_grad", "_ver", "_ext")


def swap_tensors(t1: Any, t2: Any) -> None:
    """Exchange what two tensors are: values, class, gradient, attributes."""
    for t in (t1, t2):
        if (t._edge is not None and not t.is_leaf) or (t._ext is not None and t._ext.base is not None):
            raise RuntimeError("swap_tensors: only leaves that are no views can change places")
    had = [t.requires_grad for t in (t1, t2)]
    one, two = [{name: getattr(t, name) for name in _SLOTS} for t in (t1, t2)]
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    mine, theirs = dict(t1.__dict__), dict(t2.__dict__)
    for t, slots, attributes, wants in ((t1, two, theirs, had[1]), (t2, one, mine, had[0])):
        for name, value in slots.items():
            setattr(t, name, value)
        t.__dict__.clear()
        t.__dict__.update(attributes)
        t._edge = (AccumulateGrad(t), 0) if wants else None  # gradients arrive at the object, not at its old place
