"""`torch.storage`: the memory below tensors, as bytes and as numbers."""

from .operators.memory.storage import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
