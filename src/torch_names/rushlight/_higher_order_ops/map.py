"""`torch._higher_order_ops.map`: a function of each row."""

from .._control_flow import map

__all__ = ["map"]
