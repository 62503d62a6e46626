"""`torch._higher_order_ops`: control flow as functions, each under the path PyTorch keeps it at, too."""

from .associative_scan import associative_scan
from .cond import cond
from .map import map
from .scan import scan
from .while_loop import while_loop

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
