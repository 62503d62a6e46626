"""`torch.storage`: the memory below tensors, as bytes and as numbers."""

from .operators.memory.storage import TypedStorage, UntypedStorage
from .operators.memory.storage_types import TYPES

__all__ = ["TypedStorage", "UntypedStorage"]

globals().update(TYPES)  # FloatStorage, LongStorage, ...
