"""`torch.autograd.function`: Function, its ctx, and once_differentiable."""

from ..core.gradients.function import Function, FunctionCtx, once_differentiable

__all__ = ["Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "once_differentiable"]

FunctionMeta = type(Function)


class InplaceFunction(Function):
    """A Function with a switch that older programs set; `Function` does all it does.

    Args:
        inplace: kept as an attribute.

    Example:
        >>> class Double(torch.autograd.function.InplaceFunction):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         return g * 2
        >>> Double.apply(torch.ones(2))
        tensor([2., 2.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
