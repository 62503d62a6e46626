"""`torch.autograd.function`: Function, its ctx, and once_differentiable."""

from ..core.function import Function, FunctionCtx, once_differentiable

__all__ = ["Function", "FunctionCtx", "once_differentiable"]
