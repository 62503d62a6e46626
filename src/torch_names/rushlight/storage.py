"""`torch.storage`: the memory below tensors, as bytes and as numbers."""

from .operators.memory.storage import TypedStorage, UntypedStorage
from .operators.memory.storage_types import TYPES

__all__ = ["StorageBase", "TypedStorage", "UntypedStorage"]

StorageBase = UntypedStorage  # what every memory of bytes is, for programs that ask

globals().update(TYPES)  # FloatStorage, LongStorage, ...
