"""`torch._vmap_internals`: the batching transform under its first name."""

from .func import vmap as _vmap

__all__ = ["vmap"]

vmap = _vmap
