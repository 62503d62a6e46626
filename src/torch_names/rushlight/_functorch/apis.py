"""`torch._functorch.apis`: the transforms of functions."""

from ..func import grad, grad_and_value, vmap

__all__ = ["grad", "grad_and_value", "vmap"]
