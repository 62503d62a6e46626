"""`torch._higher_order_ops.scan`: steps with a value that is carried on."""

from .._loops import scan

__all__ = ["scan"]
