"""Mistakes of the person at the command line: one sentence, exit code 2, no traceback."""

from __future__ import annotations


class UsageError(Exception):
    """What is wrong, and what to do about it."""
