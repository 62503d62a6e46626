"""The one error of files that are damaged, truncated or hostile."""

from __future__ import annotations

import pickle


class CorruptFileError(RuntimeError, pickle.UnpicklingError):
    """The file cannot be trusted; nothing of it was loaded."""
