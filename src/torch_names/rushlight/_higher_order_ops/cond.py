"""`torch._higher_order_ops.cond`: one of two functions."""

from .._control_flow import cond

__all__ = ["cond"]
