"""`torch._higher_order_ops.associative_scan`: prefixes of an associative function."""

from .._loops import associative_scan

__all__ = ["associative_scan"]
