"""What goes wrong between processes, under PyTorch's names."""

from __future__ import annotations

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistQueueEmptyError", "DistStoreError"]


class DistError(RuntimeError):
    """Something between processes failed."""


class DistBackendError(DistError):
    """A collective failed or did not end in time; the message names the ranks."""


class DistNetworkError(DistError):
    """The store could not be reached."""


class DistStoreError(DistError):
    """A value did not come in time."""


class DistQueueEmptyError(DistStoreError):
    """A queue of the store is empty."""
