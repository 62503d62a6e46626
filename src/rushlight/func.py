"""func: modules as functions of their parameters."""

from .nn.utils.stateless import call_with as functional_call

__all__ = ["functional_call"]
