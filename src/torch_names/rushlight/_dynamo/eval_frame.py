"""`torch._dynamo.eval_frame`: the class of compiled modules."""

from ..nn.modules.optimized import OptimizedModule

__all__ = ["OptimizedModule"]
