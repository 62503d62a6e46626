"""`torch.distributed._tensor`: the older path of `torch.distributed.tensor`."""

from .. import tensor as _new

__all__ = [name for name in dir(_new) if not name.startswith("_")]

globals().update({name: getattr(_new, name) for name in __all__})
