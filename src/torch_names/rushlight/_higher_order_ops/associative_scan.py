"""`torch._higher_order_ops.associative_scan`: prefixes of an associative function."""

from .._control_flow import associative_scan

__all__ = ["associative_scan"]
