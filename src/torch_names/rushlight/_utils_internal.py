"""Where files that come with a program are, by PyTorch's inner name: tests of libraries ask for them so."""

from __future__ import annotations

import os

__all__ = ["get_file_path", "get_file_path_2"]

_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def get_file_path(*path_components: str) -> str:
    """A path below the folder in which the package lies."""
    return os.path.join(_HOME, *path_components)


def get_file_path_2(*path_components: str) -> str:
    """The parts joined to one path."""
    return os.path.join(*path_components)
