"""The one error of files that are damaged, truncated or hostile, and the warning of trust."""

from __future__ import annotations

import pickle


class CorruptFileError(RuntimeError, pickle.UnpicklingError):
    """The file cannot be trusted; nothing of it was loaded."""


class UntrustedFileWarning(UserWarning):
    """The file will be read in a way that lets it run code."""
