"""`torch.ScriptObject`, which libraries ask about."""

from __future__ import annotations


class ScriptObject:
    """An object of a class that TorchScript compiled: there is none here.

    Example:
        >>> isinstance(torch.ones(1), torch.ScriptObject)
        False
    """

    __module__ = "rushlight"
