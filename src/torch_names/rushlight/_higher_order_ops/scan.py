"""`torch._higher_order_ops.scan`: steps with a value that is carried on."""

from .._control_flow import scan

__all__ = ["scan"]
