"""`torch._higher_order_ops.while_loop`: a function again and again."""

from .._control_flow import while_loop

__all__ = ["while_loop"]
