"""`torch._higher_order_ops.while_loop`: a function again and again."""

from .._loops import while_loop

__all__ = ["while_loop"]
