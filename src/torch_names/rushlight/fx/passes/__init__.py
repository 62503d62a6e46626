"""`torch.fx.passes`: small programs that read a graph."""

from . import shape_prop as shape_prop

__all__ = ["shape_prop"]
