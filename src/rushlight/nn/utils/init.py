"""Making a module without initialising its parameters."""

from __future__ import annotations

import inspect
from typing import Any

from ..modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a module with memory for its parameters but no values in it, which is quicker.

    Args:
        module_cls: the class; its `__init__` takes `device`.
        args, kwargs: its arguments.

    Example:
        >>> nn.utils.skip_init(nn.Linear, 5, 1).weight.shape
        torch.Size([1, 5])
    """
    if not inspect.isclass(module_cls) or not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    final = kwargs.pop("device", "cpu")
    return module_cls(*args, **{**kwargs, "device": "meta"}).to_empty(device=final)
