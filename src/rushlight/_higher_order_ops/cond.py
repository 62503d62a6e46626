"""`torch._higher_order_ops.cond`: one of two functions."""

from .._loops import cond

__all__ = ["cond"]
