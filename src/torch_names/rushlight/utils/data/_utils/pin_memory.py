"""`torch.utils.data._utils.pin_memory`: batches in memory that a GPU can read."""

from ....data.pinning import pin as pin_memory

__all__ = ["pin_memory"]
